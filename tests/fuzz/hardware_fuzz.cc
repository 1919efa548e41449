// Hardware profiles from anywhere: reading ends with an error or with numbers that are usable.
// Run: hardware_fuzz tests/fuzz/corpus/hardware

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/timing/collective_time.h"
#include "sim/timing/hardware_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = drydock::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = sim::ParseHardwareProfile(text, "fuzz.json");
  if (!profile) {
    DRYDOCK_CHECK(!drydock::FormatError(profile.error()).empty());
    return 0;
  }
  const auto cost =
      sim::CollectiveTime(*profile, {.bytes = 1e6, .span = sim::SpanOf(*profile, 16, 1)});
  DRYDOCK_CHECK(std::isfinite(cost.seconds) && cost.seconds >= 0);
  (void)sim::WithDevicesPerNode(*profile, 4);
  return 0;
}
