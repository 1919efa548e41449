#pragma once

#include <string>
#include <string_view>

#include "reports/summary_report.h"

/// Diagnostics of a run for programs that show them beside the code.
namespace drydock::reports {

/// SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0): the error, a verdict that is not ok, and
/// the diagnostics of a summary as results of one run.
///
/// @param root  folder that paths are told relative to, with a final slash; files elsewhere keep
///              their whole path
[[nodiscard]] std::string SarifText(const SummaryReport& summary, std::string_view root);

/// The same as lines that GitHub Actions shows at the lines of a change:
/// "::error file=net.py,line=12,title=STRATEGY::what is wrong".
[[nodiscard]] std::string GithubAnnotations(const SummaryReport& summary, std::string_view root);

/// One script of `drydock check`.
struct CheckedScript {
  std::string script = {};
  std::string verdict = {};  ///< As SummaryReport::verdict, or "refused".
  std::string text = {};     ///< The verdict in a sentence.
  std::string place = {};    ///< "net.py:12"; may be empty.
  std::string hint = {};
  bool failed = false;
};

/// JUnit's XML: one test case per script. A script that is rejected is a failure, one that could
/// not be checked an error.
[[nodiscard]] std::string JunitText(const std::vector<CheckedScript>& scripts);

}  // namespace drydock::reports
