#include "reports/place.h"

#include <cstddef>

namespace drydock::reports {

std::optional<PlaceReport> ToPlaceReport(const std::optional<SourcePlace>& place) {
  if (!place) {
    return std::nullopt;
  }
  constexpr std::string_view kBlanks = " \t\r\n";
  std::string_view text = place->text;
  const std::size_t begin = text.find_first_not_of(kBlanks);
  text = begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  return PlaceReport{.file = place->file, .line = place->line, .text = std::string(text)};
}

std::optional<PlaceReport> PlaceReportOf(const strategies::Graph& graph,
                                         const strategies::Node& node) {
  return ToPlaceReport(strategies::PlaceOf(graph, node));
}

std::string ShortPlaceText(const std::optional<PlaceReport>& place) {
  if (!place) {
    return {};
  }
  const std::size_t slash = place->file.rfind('/');
  std::string text = slash == std::string::npos ? place->file : place->file.substr(slash + 1);
  if (place->line > 0) {
    text += ":" + std::to_string(place->line);
  }
  return text;
}

}  // namespace drydock::reports
