// Completion of command lines in bash, zsh and fish.
//
// The shells know nothing of our flags: their scripts (`drydock completion SHELL` prints them) hand
// the words of the line to `drydock complete`, which answers from the table that the command itself
// is read by. So a completion is never older than the program, and an `msrun` of MindSpore on the
// same machine is not asked for something that it does not know.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/commands.h"

namespace drydock::launcher {
namespace {

constexpr std::string_view kBash =
    R"(# bash completion of drydock and msrun: source this file, or install it as a file of bash-completion
_drydock() {
  local line current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(command drydock complete "${COMP_WORDS[0]##*/}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -o default -F _drydock drydock msrun
)";

constexpr std::string_view kZsh = R"(#compdef drydock msrun
# zsh completion of drydock and msrun: put this file as _drydock into a folder of $fpath
_drydock() {
  local line
  local -a candidates
  for line in "${(@f)$(command drydock complete "${words[1]:t}" "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#candidates} )); then
    _describe -o 'drydock' candidates
  else
    _files
  fi
}
if [[ $funcstack[1] = _drydock ]]; then
  _drydock "$@"
else
  compdef _drydock drydock msrun
fi
)";

constexpr std::string_view kFish =
    R"(# fish completion of drydock and msrun: put this file into a folder of $fish_complete_path
function __drydock_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set before[1] (string replace -r '.*/' '' -- $before[1])
    command drydock complete $before "$current" 2>/dev/null
end
complete -c drydock -a '(__drydock_complete)'
complete -c msrun -a '(__drydock_complete)'
)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kShells = {
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

bool IsFlag(std::string_view word) {
  return word.starts_with("--");
}

std::vector<FlagSpec> SpecsOf(Command& command) {
  FlagSet flags;
  command.AddFlags(flags);
  std::vector<FlagSpec> specs = flags.SpecsOf(FlagOrigin::kMsrun);
  for (FlagSpec& spec : flags.SpecsOf(FlagOrigin::kDrydock)) {
    specs.push_back(std::move(spec));
  }
  specs.push_back({.name = "help", .help = "print a help text"});
  return specs;
}

/// Does the word behind `word` belong to it?
bool TakesNext(const std::vector<FlagSpec>& specs, std::string_view word) {
  if (word.find('=') != std::string_view::npos) {
    return false;
  }
  std::string name(word.substr(2));
  std::replace(name.begin(), name.end(), '-', '_');
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const FlagSpec& spec) { return spec.name == name; });
  return found != specs.end() && !found->value.empty();
}

/// Flags of `command` that begin as the last of `words` does; none where that is a value or belongs
/// to the script.
std::string FlagCandidates(Command& command, std::span<const std::string> words) {
  const std::vector<FlagSpec> specs = SpecsOf(command);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!IsFlag(words[i])) {
      return "";
    }
    if (TakesNext(specs, words[i]) && ++i + 1 >= words.size()) {
      return "";
    }
  }
  std::string text;
  const std::string_view begin = words.back();
  for (const FlagSpec& spec : specs) {
    const std::string flag = "--" + spec.name;
    if (begin.starts_with("-") && flag.starts_with(begin)) {
      text += flag + "\t" + spec.help + "\n";
    }
  }
  return text;
}

/// @param words  program as it was called, the words behind it, and last the one at the cursor,
/// which may be empty
/// @return  one line for each candidate: the word, a tab, what it means
std::string Candidates(std::span<const std::string> words) {
  if (words.size() < 2) {
    return "";
  }
  const bool is_msrun = words.front() == "msrun";
  words = words.subspan(1);
  std::string text;
  for (const std::unique_ptr<Command>& command : MakeCommands()) {
    if (is_msrun ? command->Name() == "msrun"
                 : words.size() > 1 && command->Name() == words.front()) {
      return FlagCandidates(*command, is_msrun ? words : words.subspan(1));
    }
    if (!is_msrun && words.size() == 1 && command->Name().starts_with(words.front())) {
      text += std::string(command->Name()) + "\t" + std::string(command->Summary()) + "\n";
    }
  }
  return text;
}

/// `drydock completion SHELL`.
class CompletionCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "completion"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "print the script that completes flags in a shell: bash, zsh, fish";
  }
  [[nodiscard]] std::string Usage() const override { return "bash|zsh|fish"; }
  void AddFlags(FlagSet& /*flags*/) override {}
  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 1) {
      return FailCommand(FailureCode::kUsage, "one shell is expected",
                         "'drydock completion bash', zsh or fish");
    }
    for (const auto& [shell, script] : kShells) {
      if (flags.rest().front() == shell) {
        context.out << script;
        return ExitCode::kOk;
      }
    }
    return FailCommand(FailureCode::kUsage,
                       "no completion for the shell '" + flags.rest().front() + "'",
                       "there is one for bash, zsh and fish");
  }
};

/// `drydock complete PROGRAM WORD...`: what those scripts ask.
class CompleteCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "complete"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "what may stand at the end of a command line (asked by the completion of a shell)";
  }
  [[nodiscard]] std::string Usage() const override { return "PROGRAM WORD..."; }
  void AddFlags(FlagSet& /*flags*/) override {}
  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    context.out << Candidates(flags.rest());
    return ExitCode::kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() {
  return std::make_unique<CompletionCommand>();
}

std::unique_ptr<Command> MakeCompleteCommand() {
  return std::make_unique<CompleteCommand>();
}

}  // namespace drydock::launcher
