#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"

namespace drydock::reports {

/// A line of the user's script.
struct PlaceReport {
  std::string file = {};
  std::int64_t line = 0;
  std::string text = {};
  friend bool operator==(const PlaceReport&, const PlaceReport&) = default;

  static constexpr std::string_view kTypeName = "Place";
  static constexpr std::string_view kMeaning = "A line of the script or graph file.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("file", &PlaceReport::file, "File as the script's traceback names it.");
    field("line", &PlaceReport::line, "Line number from 1; 0 if unknown.");
    field("text", &PlaceReport::text, "The line itself without surrounding blanks; may be empty.");
  }
};

/// The place as reports show it, nothing for nothing.
[[nodiscard]] std::optional<PlaceReport> ToPlaceReport(const std::optional<SourcePlace>& place);

/// The user's line that applies `node`.
[[nodiscard]] std::optional<PlaceReport> PlaceReportOf(const strategies::Graph& graph,
                                                       const strategies::Node& node);

/// "net.py:45" with the folder left out; empty for nothing.
[[nodiscard]] std::string ShortPlaceText(const std::optional<PlaceReport>& place);

}  // namespace drydock::reports
