#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fleet/dry_run.h"

/// What each stream of each class of ranks does when, small enough for a page. The members of each
/// struct are described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct LaneReport {
  std::string ranks = {};
  std::int64_t stage = 0;
  std::string stream = {};
  std::vector<double> start_seconds = {};
  std::vector<double> end_seconds = {};
  std::vector<std::string> phase = {};
  std::vector<std::int64_t> micro_batch = {};
  std::vector<std::int64_t> kernels = {};

  static constexpr std::string_view kTypeName = "Lane";
  static constexpr std::string_view kMeaning =
      "One stream of one class of ranks over time; level 3. Kernels of one part of the step and "
      "one "
      "micro batch without a visible gap between them are one stretch.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("ranks", &LaneReport::ranks, "The ranks.");
    field("stage", &LaneReport::stage, "Their pipeline stage.");
    field("stream", &LaneReport::stream, "`computation`, or the number of a stream of transfers.");
    field("start_seconds", &LaneReport::start_seconds, "When each stretch begins.");
    field("end_seconds", &LaneReport::end_seconds, "When it ends.");
    field("phase", &LaneReport::phase, "Its part of the step.",
          {"forward", "backward", "optimizer"});
    field("micro_batch", &LaneReport::micro_batch, "Its micro batch; -1: none.");
    field("kernels", &LaneReport::kernels, "Kernels of the stretch.");
  }
};

/// Nothing below simulation level 3.
[[nodiscard]] std::vector<LaneReport> BuildLanes(const sim::DryRunResult& result);

}  // namespace drydock::reports
