#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_outline.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::ordered_json;
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

/// What may be cut; null if that is not known.
Json CutsJson(const OpOutline& outline) {
  if (!outline.known) {
    return nullptr;
  }
  return {{"inputs", outline.inputs},
          {"strategy", outline.entries.empty() ? outline.inputs : outline.entries},
          {"outputs", outline.outputs}};
}

/// The communication that follows a cut.
Json CommunicationJson(const OpOutline& outline) {
  Json all = Json::array();
  for (const strategies::OutlineCommunication& one : outline.communication) {
    all.push_back({{"collective", one.collective}, {"reduce", one.reduce}, {"axis", one.axis}});
  }
  return all;
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

Json RowJson(const OpEntry& entry) {
  const OpOutline outline = OutlineOf(entry);
  return {{"name", entry.name},
          {"family", entry.family},
          {"signature", entry.signature},
          {"aliases", AliasesOf(entry)},
          {"sharding", entry.shard != nullptr},
          {"may_be_cut", CutsJson(outline)},
          {"communication", CommunicationJson(outline)},
          {"gradient", GradientText(entry)},
          {"reference", entry.evaluate != nullptr},
          {"layout", entry.accepts_layout}};
}

/// One operator per line.
std::string JsonTable() {
  std::string text = "{\"operators\":[";
  for (const OpEntry* entry : strategies::AllOps()) {
    text += text.ends_with('[') ? "\n" : ",\n";
    text += RowJson(*entry).dump();
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
      return FailCommand(FailureCode::kUsage, "unrecognized argument: " + flags.rest().front());
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
