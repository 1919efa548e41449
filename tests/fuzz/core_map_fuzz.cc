// --bind_core: any word is refused or gives ranges of processors that can be dealt out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "launcher/msrun_options.h"
#include "launcher/run/core_binding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace launcher = drydock::launcher;
  const std::string word(reinterpret_cast<const char*>(data), size);
  launcher::FlagSet flags;
  launcher::MsrunOptions options;
  launcher::AddMsrunFlags(flags, options);
  if (!flags.Parse(std::vector<std::string>{"--bind_core", word, "net.py"})) {
    return 0;
  }
  std::vector<launcher::WorkerSpec> workers(2);
  workers[1].local_index = 1;
  std::vector<std::string> warnings;
  const std::vector<int> cpus = {0, 1, 2, 3};
  if (launcher::BindWorkers(options.bind_core, cpus, {}, "", workers, warnings)) {
    for (const int cpu : workers[0].cpus) {
      if (cpu < 0 || cpu > 3) {
        std::abort();
      }
    }
  }
  return 0;
}
