#include "tests/reports/dry_run_sample.h"

#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

using sim::BufferKind;
using sim::kMiB;

sim::ClassMemory SampleClass(std::int64_t first, std::int64_t last, std::int64_t actual_peak_bytes,
                             std::int64_t limit_bytes) {
  sim::MemoryProfile profile = {.used_peak_bytes = 2 * kMiB,
                                .actual_peak_bytes = actual_peak_bytes,
                                .reserved_bytes = 2048 * kMiB,
                                .persistent_bytes = kMiB,
                                .at_kernel = 2};
  profile.breakdown_bytes[static_cast<std::size_t>(BufferKind::kParameter)] = kMiB;
  profile.breakdown_bytes[static_cast<std::size_t>(BufferKind::kActivation)] = kMiB - 512;
  profile.breakdown_bytes[static_cast<std::size_t>(BufferKind::kCommunication)] = 512;
  const SourcePlace place = {.file = "/home/user/job/net.py", .line = 45, .text = "  out = a\n"};
  return {.ranks = {.ranges = {{.first = first, .last = last}}},
          .rank_count = last - first + 1,
          .memory = profile,
          .peak_op = "Default/network-WithLossCell/_backbone-Net/MatMul-op0",
          .peak_place = place,
          .largest = {{.name = "w",
                       .kind = BufferKind::kParameter,
                       .bytes = kMiB,
                       .type_text = "float32 (8, 16)",
                       .place = place},
                      {.name = "result of matmul",
                       .op = "MatMul",
                       .bytes = 1024,
                       .type_text = "float32 (8, 16)"}},
          .head_room_bytes = limit_bytes - actual_peak_bytes};
}

}  // namespace

sim::DryRunResult SampleDryRun() {
  const sim::DeviceMemory device = {.total_bytes = 64 * sim::kGiB, .ms_used_bytes = 58 * sim::kGiB};
  sim::DryRunResult result = {
      .job = strategies::JobOf(QuickStartProgram()),
      .device = device,
      .agreement = {.groups_checked = 6, .collectives_checked = 28},
      .fleet = {
          .registered_ranks = 8, .messages = 32, .message_bytes = 999, .specialised_ranks = 8}};
  result.classes = {SampleClass(0, 3, 3 * kMiB, device.ms_used_bytes),
                    SampleClass(4, 7, 4 * kMiB, device.ms_used_bytes)};
  return result;
}

}  // namespace drydock::reports
