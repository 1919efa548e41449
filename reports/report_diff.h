#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace drydock::reports {

/// Texts of a report folder; empty where a run did not write the file.
struct ReportTexts {
  std::string folder = {};  ///< As given, for messages.
  std::string memory = {};
  std::string communication = {};
  std::string timeline = {};
};

/// One figure of two runs.
struct DiffLine {
  std::string name = {};
  double before = 0;
  double after = 0;
  bool headline = false;  ///< Shown even if it is equal; decides about regressions.
  friend bool operator==(const DiffLine&, const DiffLine&) = default;
};

/// What changed between two dry runs. Figures that only one of them has count as 0 in the other.
struct ReportDiff {
  std::string before_folder = {};
  std::string after_folder = {};
  std::vector<DiffLine> memory = {};  ///< Bytes: peaks by stage; parts and scopes at the peak.
  std::vector<DiffLine> communication = {};  ///< Bytes sent by a rank, by kind, phase and scope.
  std::vector<DiffLine> time = {};           ///< Seconds: the step, scopes. Only of level 3.
};

/// @error kInvalidArgument  a report is not JSON of its schema; which one
[[nodiscard]] Result<ReportDiff> DiffReports(const ReportTexts& before, const ReportTexts& after);

/// True if a headline figure is more than `tolerance` (0.01 = 1 %) larger than before.
[[nodiscard]] bool IsRegression(const ReportDiff& diff, double tolerance);

/// For people: headlines, and of the rest what changed most, `most` lines of each section.
[[nodiscard]] std::string DiffText(const ReportDiff& diff, std::size_t most);

/// For programs: schema drydock.diff/1, every figure that changed.
[[nodiscard]] std::string DiffJson(const ReportDiff& diff);

}  // namespace drydock::reports
