#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What was tried because a job does not fit. The members of the struct are described by its
/// `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct FitTrialReport {
  std::string change = {};
  bool fits = false;
  std::int64_t peak_bytes = 0;
  std::optional<double> step_seconds = {};
  std::string problem = {};

  static constexpr std::string_view kTypeName = "FitTrial";
  static constexpr std::string_view kMeaning =
      "The job once more with a change: run, compiled for all ranks and accounted.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("change", &FitTrialReport::change, "What is to be changed, in words of the script.");
    field("fits", &FitTrialReport::fits, "Whether all ranks fit then.");
    field("peak_bytes", &FitTrialReport::peak_bytes,
          "Peak with fragments of the heaviest class; 0 if there is a problem.");
    field("step_seconds", &FitTrialReport::step_seconds, "At level 3: how long a step takes then.");
    field("problem", &FitTrialReport::problem,
          "Why the changed job is rejected; empty if it is legal.");
  }
};

}  // namespace drydock::reports
