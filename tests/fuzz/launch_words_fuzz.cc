// Hosts and node lists: any text is refused or gives hosts that have names and slots.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "launcher/mpirun_hosts.h"
#include "launcher/outer_job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace launcher = drydock::launcher;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& hosts :
       {launcher::ParseHostList(text), launcher::ParseHostfile(text, "hosts")}) {
    if (!hosts) {
      continue;
    }
    for (const launcher::HostSlots& host : *hosts) {
      if (host.name.empty() || host.slots < 1) {
        std::abort();
      }
    }
  }
  const launcher::Environment task = {{"SLURM_STEP_ID", "0"},
                                      {"SLURM_PROCID", "1"},
                                      {"SLURM_STEP_NUM_TASKS", "2"},
                                      {"SLURM_NODEID", "1"},
                                      {"SLURM_STEP_TASKS_PER_NODE", text},
                                      {"SLURM_STEP_NODELIST", text}};
  if (const auto job = launcher::FindOuterJob(task); job && *job && (*job)->size != 2) {
    std::abort();
  }
  return 0;
}
