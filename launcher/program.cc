#include "launcher/program.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/command_line.h"
#include "launcher/typed_words.h"

namespace drydock::launcher {
namespace {

constexpr std::string_view kSelf = "drydock";

std::string BaseName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string CommandList() {
  std::string text = "usage: drydock <command> [flags] ...\n\ncommands:\n";
  for (const auto& command : MakeCommands()) {
    std::string line = "  " + std::string(command->Name());
    line.resize(18, ' ');
    text += line + std::string(command->Summary()) + "\n";
  }
  return text +
         "\n'drydock <command> --help' lists the flags of a command. 'msrun' is 'drydock msrun'.\n";
}

int ReportUnknown(const std::string& name, std::span<const std::string> names, Context context,
                  std::ostream& err) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string nearest = NearestWord(name, candidates);
  std::string hint = HintForCommand(name);
  if (hint.empty()) {
    hint =
        nearest.empty() ? "'drydock --help' lists the commands" : "did you mean '" + nearest + "'?";
  }
  const Error error =
      FailCommand(FailureCode::kUsage, "'" + name + "' is not a command", std::move(hint)).value();
  context.program = kSelf;
  return Report(error, context, err);
}

int RunByName(std::span<const std::string> words, Context context, std::ostream& err) {
  const bool is_msrun = !words.empty() && BaseName(words.front()) == "msrun";
  std::span<const std::string> rest = words.subspan(words.empty() ? 0 : 1);
  std::string name = "msrun";
  if (!is_msrun) {
    if (rest.empty() || rest.front() == "--help" || rest.front() == "-h") {
      (rest.empty() ? err : context.out) << CommandList();
      return NumberOf(rest.empty() ? ExitCode::kUsage : ExitCode::kOk);
    }
    name = rest.front() == "--version" ? "version" : rest.front();
    rest = rest.subspan(1);
  }
  std::vector<std::string> names;
  for (const auto& command : MakeCommands()) {
    if (command->Name() == name) {
      context.program = is_msrun ? "msrun" : std::string(kSelf) + " " + name;
      return RunCommand(*command, rest, context, err);
    }
    names.emplace_back(command->Name());
  }
  return ReportUnknown(name, names, context, err);
}

}  // namespace

int RunProgram(std::span<const std::string> words, Context context, std::ostream& err) {
  return StatusOfRun(
      [&] {
        const int status = RunByName(words, context, err);
        context.out.flush();
        return status;
      },
      err);
}

}  // namespace drydock::launcher
