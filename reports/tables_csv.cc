#include "reports/tables_csv.h"

#include <initializer_list>
#include <string_view>

#include "reports/tensor_list.h"

namespace drydock::reports {
namespace {

/// Adds one line; a value with commas, quotes or line breaks is quoted, quotes inside are doubled.
void AddRow(std::string& text, std::initializer_list<std::string_view> values) {
  bool first = true;
  for (const std::string_view value : values) {
    text += first ? "" : ",";
    first = false;
    if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
      text += value;
      continue;
    }
    text += '"';
    for (const char c : value) {
      text += c;
      if (c == '"') {
        text += c;
      }
    }
    text += '"';
  }
  text += "\r\n";
}

std::string FileText(const std::optional<PlaceReport>& place) {
  return place ? place->file : std::string();
}

std::string LineText(const std::optional<PlaceReport>& place) {
  return place ? std::to_string(place->line) : std::string();
}

}  // namespace

std::string KernelsCsv(const RunReport& run, const sim::DryRunResult& result) {
  std::string text;
  AddRow(text, {"run", "class", "ranks", "kernel", "name", "operator", "phase", "stream",
                "micro_batch", "at_launch_bytes", "after_bytes", "file", "line"});
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const sim::ClassMemory& item = result.classes[c];
    const std::string ranks = strategies::RankSetText(item.ranks);
    const StepLister step(item, result.job.programs[item.program]);
    for (std::size_t kernel = 0; kernel < step.KernelCount(); ++kernel) {
      const KernelFacts row = step.Kernel(kernel);
      AddRow(text, {run.id, std::to_string(c), ranks, std::to_string(kernel), row.name, row.kernel,
                    row.phase, std::to_string(row.stream), std::to_string(row.micro),
                    std::to_string(row.at_launch_bytes), std::to_string(row.after_bytes),
                    FileText(row.place), LineText(row.place)});
    }
  }
  return text;
}

}  // namespace drydock::reports
