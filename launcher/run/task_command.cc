#include "launcher/run/task_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/stat.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/typed_words.h"
#include "sim/tracer/child_process.h"

namespace drydock::launcher {
namespace {

/// Imports stand at the beginning of a script; more is not read.
constexpr std::size_t kMaxHeadBytes = std::size_t{1} << 18U;
constexpr std::string_view kMachineCode = "\177ELF";

bool IsAsGiven(const std::string& word) {
  return word == "python" || word == "python3" || word == "pytest";
}

tl::unexpected<Error> FailScript(const std::string& script, const std::string& reason,
                                 std::string hint = "") {
  return FailCommand(FailureCode::kNoScript, "script '" + script + "': " + reason, std::move(hint));
}

/// The first bytes of a script that every worker can open.
Result<std::string> HeadOf(const std::string& script) {
  struct stat facts = {};
  if (::stat(script.c_str(), &facts) != 0) {
    return FailScript(script, std::error_code(errno, std::generic_category()).message(),
                      HintForScript(script));
  }
  if (S_ISDIR(facts.st_mode)) {
    return FailScript(script, "is a folder");
  }
  if (!S_ISREG(facts.st_mode)) {
    return FailScript(script, "is not a file: only one rank could read it",
                      "save the script to a file");
  }
  const Descriptor file(::open(script.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return FailScript(script, std::error_code(errno, std::generic_category()).message());
  }
  std::string head(kMaxHeadBytes, '\0');
  const ssize_t count = ::read(file.get(), head.data(), head.size());
  if (count < 0) {
    return FailScript(script, std::error_code(errno, std::generic_category()).message());
  }
  head.resize(static_cast<std::size_t>(count));
  return head;
}

Result<std::string> FindInterpreter(const MsrunOptions& options, const std::string& path) {
  const auto names = options.python.empty() ? std::vector<std::string>{"python", "python3"}
                                            : std::vector<std::string>{options.python};
  for (const std::string& name : names) {
    if (std::string found = sim::FindExecutable(name, path); !found.empty()) {
      return found;
    }
  }
  return FailCommand(FailureCode::kNoInterpreter,
                     options.python.empty() ? "neither 'python' nor 'python3' is in PATH"
                                            : "there is no interpreter '" + options.python + "'",
                     "install Python 3, or name one with --python");
}

/// argv of a command whose first word is `name`.
std::vector<std::string> Argv(const std::string& name, const std::vector<std::string>& rest) {
  std::vector<std::string> words = {name};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

/// Kind of the first script among the arguments of `python` or `pytest`.
ScriptKind KindOfArguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument.ends_with(".py")) {
      const auto head = HeadOf(argument);
      return head ? ScriptKindOf(*head) : ScriptKind::kUnknown;
    }
  }
  return ScriptKind::kUnknown;
}

Result<TaskCommand> AsGiven(const MsrunOptions& options, const std::string& path) {
  std::string program = sim::FindExecutable(options.script, path);
  if (program.empty() && options.script == "python") {
    program = sim::FindExecutable("python3", path);
  }
  if (program.empty()) {
    return FailCommand(FailureCode::kNoInterpreter, "there is no '" + options.script + "' in PATH",
                       "install it, or set PATH");
  }
  return TaskCommand{.program = std::move(program),
                     .arguments = Argv(options.script, options.script_args),
                     .kind = KindOfArguments(options.script_args)};
}

/// True for a file that says itself how it is run.
bool RunsByItself(const std::string& script, std::string_view head) {
  return !script.ends_with(".py") && ::access(script.c_str(), X_OK) == 0 &&
         (head.starts_with(kMachineCode) || head.starts_with("#!"));
}

}  // namespace

Result<TaskCommand> TaskCommandOf(const MsrunOptions& options, const Environment& environment) {
  const std::string& script = options.script;
  const std::string path = Variable(environment, "PATH").value_or("/usr/bin:/bin");
  if (IsAsGiven(script)) {
    return AsGiven(options, path);
  }
  const bool exists = ::access(script.c_str(), F_OK) == 0;
  if (!exists && script.find('/') == std::string::npos) {
    if (std::string program = sim::FindExecutable(script, path); !program.empty()) {
      return TaskCommand{.program = std::move(program),
                         .arguments = Argv(script, options.script_args)};
    }
  }
  DRYDOCK_TRY(const std::string head, HeadOf(script));
  if (RunsByItself(script, head)) {
    const std::string program = script.find('/') == std::string::npos ? "./" + script : script;
    return TaskCommand{.program = program, .arguments = Argv(script, options.script_args)};
  }
  DRYDOCK_TRY(std::string interpreter, FindInterpreter(options, path));
  const std::string name = options.python.empty() ? "python" : options.python;
  return TaskCommand{.program = std::move(interpreter),
                     .arguments = Argv(name, Argv(script, options.script_args)),
                     .kind = ScriptKindOf(head)};
}

}  // namespace drydock::launcher
