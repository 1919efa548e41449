#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reports/place.h"

/// report.html: one file that shows one run, or two side by side, without network or server.
///
/// The page (reports/web/) is written in JavaScript and committed as one bundled file; here the
/// reports of a run are put into it, packed.
namespace drydock::reports {

/// Lines of a script around a place that a diagnostic names.
struct SourceExcerpt {
  std::string file = {};
  std::int64_t first_line = 1;
  std::vector<std::string> lines = {};

  static constexpr std::string_view kTypeName = "SourceExcerpt";
  static constexpr std::string_view kMeaning = "Lines of a script.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("file", &SourceExcerpt::file, "File as in `place`.");
    field("first_line", &SourceExcerpt::first_line, "Number of the first of `lines`.");
    field("lines", &SourceExcerpt::lines, "The lines.");
  }
};

/// What a page shows of one run.
struct PageRun {
  std::string name = {};                  ///< How the page calls it, where it shows two.
  std::vector<std::string> reports = {};  ///< JSON texts; each names its schema.
  std::vector<SourceExcerpt> excerpts = {};
};

/// @error kInvalidArgument  a report is not a JSON object with a field `schema`
[[nodiscard]] Result<std::string> PageHtml(const std::vector<PageRun>& runs);

/// Places of which the page shows lines around: those of the error and of diagnostics in a summary.
/// Text that is not a summary has none.
[[nodiscard]] std::vector<PlaceReport> PlacesToShow(std::string_view summary_json);

/// The page without data (reports/web/report_page.html).
[[nodiscard]] std::string_view PageTemplate();

}  // namespace drydock::reports
