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

std::string RankSetText(const std::vector<std::int64_t>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    const std::int64_t step = i + 1 < ascending.size() ? ascending[i + 1] - ascending[i] : 0;
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] - ascending[last] == step) {
      ++last;
    }
    if (last == i + 1 && step != 1) {
      last = i;  // Two numbers far apart are clearer one by one.
    }
    text += (text.empty() ? "" : ",") + std::to_string(ascending[i]);
    if (last > i) {
      text += "-" + std::to_string(ascending[last]);
      text += step > 1 ? ":" + std::to_string(step) : std::string();
    }
    i = last + 1;
  }
  return text;
}

}  // namespace drydock::reports
