#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "launcher/commands.h"
#include "strategies/graph/json_reader.h"
#include "strategies/rules/op_entry.h"
#include "strategies/rules/op_outline.h"

namespace drydock::launcher {
namespace {

using strategies::AppendJsonText;
using strategies::GradientSupport;
using strategies::OpEntry;
using strategies::OpOutline;

constexpr std::array<std::string_view, 7> kTitles = {
    "operator", "family", "may be cut", "communication", "gradient", "reference", "signature"};
using Row = std::array<std::string, kTitles.size()>;

std::string_view GradientText(const OpEntry& entry) {
  switch (GradientSupportOf(entry)) {
    case GradientSupport::kYes:
      return "yes";
    case GradientSupport::kNotNeeded:
      return "none needed";
    case GradientSupport::kNo:
    case GradientSupport::kMissing:
      break;
  }
  return "no";
}

Row RowOf(const OpEntry& entry) {
  const OpOutline outline = OutlineOf(entry);
  return {std::string(entry.name),
          std::string(entry.family),
          CutsText(outline),
          CommunicationText(outline),
          std::string(GradientText(entry)),
          entry.evaluate != nullptr ? "yes" : "no",
          std::string(entry.signature)};
}

/// Columns are as wide as their widest text, but no wider than this, so that one long row does not
/// push all others off the screen.
constexpr std::size_t kWidestColumn = 40;

std::string TextTable() {
  std::vector<Row> rows = {{}};
  std::ranges::copy(kTitles, rows.front().begin());
  for (const OpEntry* entry : strategies::AllOps()) {
    rows.push_back(RowOf(*entry));
  }
  std::array<std::size_t, kTitles.size()> widths = {};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], std::min(row[c].size(), kWidestColumn));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::size_t used = std::min(row[c].size(), widths[c]);
      text += row[c] + (c + 1 < row.size() ? std::string(widths[c] - used + 2, ' ') : "\n");
    }
  }
  return text;
}

template <typename Items, typename Append>
void AppendJsonList(std::string& text, const Items& items, Append append) {
  text += "[";
  for (const auto& item : items) {
    text += text.ends_with('[') ? "" : ",";
    append(item);
  }
  text += "]";
}

void AppendJsonTensors(std::string& text, std::string_view name,
                       const std::vector<std::vector<std::string>>& tensors) {
  AppendJsonText(text, name);
  text += ":";
  AppendJsonList(text, tensors, [&](const std::vector<std::string>& dims) {
    AppendJsonList(text, dims, [&](const std::string& dim) { AppendJsonText(text, dim); });
  });
}

/// What may be cut, null if that is not known, and the communication that follows.
void AppendJsonOutline(std::string& text, const OpOutline& outline) {
  text += ",\"may_be_cut\":";
  if (outline.known) {
    text += "{";
    AppendJsonTensors(text, "inputs", outline.inputs);
    text += ",";
    AppendJsonTensors(text, "strategy", outline.entries.empty() ? outline.inputs : outline.entries);
    text += ",";
    AppendJsonTensors(text, "outputs", outline.outputs);
    text += "}";
  } else {
    text += "null";
  }
  text += ",\"communication\":";
  AppendJsonList(text, outline.communication, [&](const strategies::OutlineCommunication& one) {
    text += "{\"collective\":";
    AppendJsonText(text, one.collective);
    text += ",\"reduce\":";
    AppendJsonText(text, one.reduce);
    text += ",\"axis\":";
    AppendJsonText(text, one.axis);
    text += "}";
  });
}

std::vector<std::string_view> AliasesOf(const OpEntry& entry) {
  std::vector<std::string_view> names;
  std::string_view aliases = entry.aliases;
  while (!aliases.empty()) {
    const std::size_t comma = aliases.find(',');
    names.push_back(aliases.substr(0, comma));
    aliases = comma == std::string_view::npos ? std::string_view() : aliases.substr(comma + 1);
  }
  return names;
}

void AppendJsonRow(std::string& text, const OpEntry& entry) {
  text += "{\"name\":";
  AppendJsonText(text, entry.name);
  text += ",\"family\":";
  AppendJsonText(text, entry.family);
  text += ",\"signature\":";
  AppendJsonText(text, entry.signature);
  text += ",\"aliases\":";
  AppendJsonList(text, AliasesOf(entry),
                 [&](std::string_view alias) { AppendJsonText(text, alias); });
  text += ",\"sharding\":";
  text += entry.shard != nullptr ? "true" : "false";
  AppendJsonOutline(text, OutlineOf(entry));
  text += ",\"gradient\":";
  AppendJsonText(text, GradientText(entry));
  text += ",\"reference\":";
  text += entry.evaluate != nullptr ? "true" : "false";
  text += ",\"layout\":";
  text += entry.accepts_layout ? "true" : "false";
  text += "}";
}

std::string JsonTable() {
  std::string text = "{\"operators\":[";
  for (const OpEntry* entry : strategies::AllOps()) {
    text += text.ends_with('[') ? "\n" : ",\n";
    AppendJsonRow(text, *entry);
  }
  return text + "]}\n";
}

/// `drydock list_operators`: the operator table.
class ListOperatorsCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "list_operators"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "print the operators that are handled";
  }
  void AddFlags(FlagSet& flags) override { flags.AddSwitch({"json", "", "print JSON"}, &json_); }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (!flags.rest().empty()) {
      return FailCommand("USAGE", "unrecognized argument: " + flags.rest().front());
    }
    context.out << OperatorsText(json_);
    return ExitCode::kOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::string OperatorsText(bool json) {
  return json ? JsonTable() : TextTable();
}

std::unique_ptr<Command> MakeListOperatorsCommand() {
  return std::make_unique<ListOperatorsCommand>();
}

}  // namespace drydock::launcher
