#include <algorithm>

#include "launcher/commands.h"
#include "strategies/graph/json_reader.h"
#include "strategies/rules/op_entry.h"

namespace drydock::launcher {
namespace {

using strategies::AppendJsonText;
using strategies::OpEntry;

std::string_view YesNo(bool flag) {
  return flag ? "yes" : "-";
}

void AppendRow(std::string& text, const OpEntry& entry, std::size_t name_width) {
  std::string line(entry.name);
  line.resize(name_width + 2, ' ');
  line += entry.family;
  line.resize(std::max(line.size() + 1, name_width + 22), ' ');
  line += YesNo(entry.shard != nullptr);
  line.resize(name_width + 28, ' ');
  line += YesNo(entry.gradient != nullptr);
  line.resize(name_width + 37, ' ');
  line += YesNo(entry.evaluate != nullptr);
  line.resize(name_width + 47, ' ');
  text += line + std::string(entry.signature) + "\n";
}

void AppendJsonRow(std::string& text, const OpEntry& entry) {
  text += "{\"name\":";
  AppendJsonText(text, entry.name);
  text += ",\"family\":";
  AppendJsonText(text, entry.family);
  text += ",\"signature\":";
  AppendJsonText(text, entry.signature);
  text += ",\"aliases\":[";
  std::string_view aliases = entry.aliases;
  while (!aliases.empty()) {
    const std::size_t comma = aliases.find(',');
    AppendJsonText(text, aliases.substr(0, comma));
    aliases = comma == std::string_view::npos ? std::string_view() : aliases.substr(comma + 1);
    text += aliases.empty() ? "" : ",";
  }
  text += "],\"sharding\":";
  text += entry.shard != nullptr ? "true" : "false";
  text += ",\"gradient\":";
  text += entry.gradient != nullptr ? "true" : "false";
  text += ",\"reference\":";
  text += entry.evaluate != nullptr ? "true" : "false";
  text += ",\"layout\":";
  text += entry.accepts_layout ? "true" : "false";
  text += "}";
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
    context.out << (json_ ? JsonTable() : TextTable());
    return ExitCode::kOk;
  }

 private:
  static std::string TextTable() {
    std::size_t width = 8;
    for (const OpEntry* entry : strategies::AllOps()) {
      width = std::max(width, entry->name.size());
    }
    std::string text = "operator";
    text.resize(width + 2, ' ');
    text += "family              shard gradient reference signature\n";
    for (const OpEntry* entry : strategies::AllOps()) {
      AppendRow(text, *entry, width);
    }
    return text;
  }

  static std::string JsonTable() {
    std::string text = "{\"operators\":[";
    for (const OpEntry* entry : strategies::AllOps()) {
      text += text.ends_with('[') ? "\n" : ",\n";
      AppendJsonRow(text, *entry);
    }
    return text + "]}\n";
  }

  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeListOperatorsCommand() {
  return std::make_unique<ListOperatorsCommand>();
}

}  // namespace drydock::launcher
