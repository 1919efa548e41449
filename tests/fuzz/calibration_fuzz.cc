// Files of real runs from anywhere: reading ends with an error or with what can be written and read
// again. Run: calibration_fuzz tests/fuzz/corpus/calibration

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/calibration/kernel_trace.h"
#include "sim/calibration/memory_block.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = drydock::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto table = sim::WorkspacesOfBlocks(text, "fuzz.csv")) {
    const std::string written = sim::WorkspaceTableText(*table);
    const auto again = sim::ParseWorkspaceTable(written, "again.json");
    DRYDOCK_CHECK(again && again->entries == table->entries);
  }
  (void)sim::ParseWorkspaceTable(text, "fuzz.json");
  sim::HardwareProfile profile{.vector_flops = 1, .memory_bytes_per_second = 1e11};
  profile.peak_flops.fill(1e12);
  profile.levels = {{.name = "node", .devices = 8, .bytes_per_second = 1e11},
                    {.name = "rail", .devices = 0, .bytes_per_second = 1e10}};
  if (const auto fit = sim::FitTrace(text, "fuzz.json", profile)) {
    for (const sim::LevelFit& level : fit->collectives.levels) {
      DRYDOCK_CHECK(level.efficiency > 0 && level.efficiency <= 1);
      DRYDOCK_CHECK(level.latency_seconds >= 0 && level.latency_seconds <= 0.1);
    }
    for (const sim::EfficiencyCurve& curve : fit->efficiency) {
      for (const auto& point : curve.points) {
        DRYDOCK_CHECK(point.efficiency > 0 && point.efficiency <= 1 && point.size > 0);
      }
    }
  }
  return 0;
}
