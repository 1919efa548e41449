#include "launcher/program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/text.h"
#include "launcher/exit_code.h"
#include "launcher/terminal.h"
#include "launcher/typed_words.h"
#include "reports/error_document.h"
#include "reports/field_table.h"

/// Of the allocator, where it is linked: it asks no handler of ours before it aborts.
extern "C" void mi_register_error(void (*report)(int error, void* argument), void* argument)
    __attribute__((weak));

namespace drydock::launcher {
namespace {

constexpr std::string_view kOutOfMemory =
    "drydock: error[OUT_OF_MEMORY]: this machine has no memory left; hint: use fewer ranks or a "
    "smaller graph\n";

/// Nothing may be allocated any more.
[[noreturn]] void SayOutOfMemory() {
  const auto written = ::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
  ::_exit(written < 0 ? static_cast<int>(ExitCode::kInternal)
                      : static_cast<int>(ExitCode::kPreflight));
}

constexpr std::string_view kSelf = "drydock";

int NumberOf(ExitCode code) {
  return static_cast<int>(code);
}

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

std::string HelpText(const Command& command, const FlagSet& flags, const std::string& program,
                     bool rare) {
  std::string text =
      "usage: " + program + " " + command.Usage() + "\n" + std::string(command.Summary()) + "\n";
  const std::string original = flags.HelpLines(FlagOrigin::kMsrun, rare);
  if (!original.empty()) {
    text += "flags of msrun:\n" + original + "flags of drydock:\n";
  }
  return text + flags.HelpLines(FlagOrigin::kDrydock, rare);
}

/// The word "error" in red, where that is wanted.
std::string Coloured(std::string text, const Environment& environment) {
  const std::size_t at = text.find("error");
  if (at != std::string::npos && WantsColour(STDERR_FILENO, environment)) {
    text.insert(at + std::string_view("error").size(), "\x1b[0m");
    text.insert(at, "\x1b[1;31m");
  }
  return text;
}

int Report(const Error& error, const Context& context, std::ostream& err) {
  err << Coloured(ErrorText(error, context.program), context.environment);
  return StatusOf(error);
}

/// Whether the words in front of the script ask for JSON; asked where the flags could not be read.
bool AsksForJson(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "--json" || word == "--json=True") {
      return true;
    }
    if (word.ends_with(".py") || word.ends_with(".json")) {
      return false;
    }
  }
  return false;
}

/// The error, also as JSON where that is asked for and nothing else was printed.
int ReportOnce(const Error& error, std::span<const std::string> words, const Context& context,
               std::ostream& err) {
  const int status = Report(error, context, err);
  const bool before_summary = status == NumberOf(ExitCode::kUsage) ||
                              status == NumberOf(ExitCode::kPreflight) ||
                              status == NumberOf(ExitCode::kInternal);
  if (before_summary && AsksForJson(words)) {
    context.out << reports::JsonText(reports::ErrorDocument{.status = status,
                                                            .code = CodeOf(error),
                                                            .message = error.message,
                                                            .hint = error.hint,
                                                            .notes = error.notes});
  }
  return status;
}

int RunCommand(Command& command, std::span<const std::string> words, const Context& context,
               std::ostream& err) {
  FlagSet flags;
  bool help = false;
  bool all_flags = false;
  bool version = false;
  command.AddFlags(flags);
  // DRYDOCK_VERSION is many an image's own variable.
  flags.AddSwitch({.name = "version", .help = "print the version", .has_variable = false},
                  &version);
  flags.AddSwitch({.name = "help",
                   .help = "print this text; --all_flags prints the rarer ones, too",
                   .has_variable = false},
                  &help);
  flags.AddSwitch(
      {.name = "all_flags", .help = "print all flags", .rare = true, .has_variable = false},
      &all_flags);
  std::string config;
  flags.AddText({.name = "config",
                 .value = "FILE",
                 .help = "flags from a section [" + std::string(command.Name()) +
                         "] in TOML (drydock.toml, if it is there)",
                 .rare = true},
                &config);
  const auto translated = command.Translate(words, flags);
  const auto parsed = translated ? flags.Parse(*translated, {.environment = &context.environment,
                                                             .command = std::string(command.Name()),
                                                             .config_file = "drydock.toml"})
                                 : Result<void>(tl::unexpected(translated.error()));
  if (!parsed) {
    err << "usage: " << context.program << " " << command.Usage() << "\n";
    return ReportOnce(parsed.error(), words, context, err);
  }
  if (help || all_flags || version) {
    context.out << (help || all_flags ? HelpText(command, flags, context.program, all_flags)
                                      : "drydock " + std::string(Version()) + "\n");
    return NumberOf(ExitCode::kOk);
  }
  for (const std::string& doubt : flags.DoubtfulVariables(context.environment)) {
    context.log.Warning(doubt);
  }
  const Result<ExitCode> code = command.Run(flags, context);
  return code ? NumberOf(*code) : ReportOnce(code.error(), words, context, err);
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
      FailCommand("USAGE", "'" + name + "' is not a command", std::move(hint)).value();
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

void EndWhenOutOfMemory() {
  std::set_new_handler(SayOutOfMemory);
  if (mi_register_error != nullptr) {
    mi_register_error(
        [](int error, void* /*argument*/) {
          if (error == ENOMEM) {
            SayOutOfMemory();
          }
        },
        nullptr);
  }
}

int RunProgram(std::span<const std::string> words, Context context, std::ostream& err) {
  try {
    const int status = RunByName(words, context, err);
    context.out.flush();
    return status;
  } catch (const std::bad_alloc&) {
    err << kOutOfMemory;
    return NumberOf(ExitCode::kPreflight);
  } catch (const std::exception& failure) {
    err << "drydock: error[INTERNAL]: internal error: " << failure.what() << "\n";
    return NumberOf(ExitCode::kInternal);
  }
}

}  // namespace drydock::launcher
