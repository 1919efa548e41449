// recovery.dat: any text is refused or gives a state that survives being stored and loaded, and
// that a scheduler accepts or refuses without harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/cluster/scheduler_core.h"
#include "sim/cluster/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto snapshot = drydock::sim::DecodeSnapshot(text);
  if (!snapshot) {
    return 0;
  }
  const auto again = drydock::sim::DecodeSnapshot(drydock::sim::EncodeSnapshot(*snapshot));
  if (!again || *again != *snapshot) {
    std::abort();
  }
  drydock::sim::SchedulerOptions options;
  options.worker_num = 2;
  options.recovery = true;
  const auto scheduler = drydock::sim::SchedulerCore::Create(options, {}, *snapshot);
  if (scheduler && scheduler->membership().present() > 2) {
    std::abort();
  }
  return 0;
}
