#include "reports/tables_csv.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

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

std::string TensorsCsv(const RunReport& run, const sim::DryRunResult& result) {
  std::string text;
  AddRow(text, {"run", "class", "ranks", "name", "part", "producer", "operator", "scope", "bytes",
                "tensor", "address", "first_kernel", "last_kernel", "file", "line"});
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const sim::ClassMemory& item = result.classes[c];
    const std::string ranks = strategies::RankSetText(item.ranks);
    for (const TensorReport& row : StepLister(item, result.job.programs[item.program]).Tensors()) {
      AddRow(text, {run.id, std::to_string(c), ranks, row.name, row.part, row.producer,
                    row.operator_name, row.scope, std::to_string(row.bytes), row.tensor,
                    std::to_string(row.address), std::to_string(row.first_kernel),
                    std::to_string(row.last_kernel), FileText(row.place), LineText(row.place)});
    }
  }
  return text;
}

std::string CollectivesCsv(const RunReport& run, const CommunicationReport& communication) {
  std::string text;
  AddRow(text, {"run", "class", "ranks", "index", "kind", "name", "group_size", "exchange",
                "tensor", "payload_bytes", "sent_bytes", "inter_node_bytes", "phase", "reason",
                "why", "operator", "file", "line"});
  std::vector<std::string> classes;
  for (const CollectiveReport& row : communication.collectives) {
    const std::string ranks = row.ranks.value_or("all");
    auto at = std::ranges::find(classes, ranks);
    at = at == classes.end() ? classes.insert(at, ranks) : at;
    AddRow(text, {run.id, std::to_string(at - classes.begin()), ranks, std::to_string(row.index),
                  row.kind, row.name, std::to_string(row.group_size), row.exchange, row.tensor,
                  std::to_string(row.payload_bytes), std::to_string(row.sent_bytes),
                  std::to_string(row.inter_node_bytes), row.phase, row.reason, row.why,
                  row.operator_name, FileText(row.place), LineText(row.place)});
  }
  return text;
}

}  // namespace drydock::reports
