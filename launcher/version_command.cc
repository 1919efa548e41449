#include "launcher/commands.h"
#include "strategies/document/json_reader.h"

namespace drydock::launcher {
namespace {

/// `drydock version`: what this program is and which formats it speaks.
class VersionCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "version"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "print the version and the formats it speaks";
  }
  void AddFlags(FlagSet& flags) override { flags.AddSwitch({"json", "", "print JSON"}, &json_); }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (!flags.rest().empty()) {
      return FailCommand(FailureCode::kUsage, "unrecognized argument: " + flags.rest().front());
    }
    if (!json_) {
      context.out << "drydock " << Version() << "\n";
      return ExitCode::kOk;
    }
    std::string text = "{\"drydock\":";
    strategies::AppendJsonText(text, Version());
    text += ",\"graph_schema\":\"drydock.graph/1\",\"mindspore_releases\":[\"2.0\",\"2.10\"]}\n";
    context.out << text;
    return ExitCode::kOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() {
  return std::make_unique<VersionCommand>();
}

}  // namespace drydock::launcher
