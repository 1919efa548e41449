#include "launcher/command_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iostream>
#include <new>

#include "launcher/terminal.h"
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

/// True if the reader of stdout went away (`msrun ... | head`): that is no failure.
bool ReaderLeft() {
  pollfd answer = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&answer, 1, 0) == 1 && (answer.revents & POLLERR) != 0;
}

/// From here on memory that cannot be had ends the program with a line on stderr and status 3: the
/// allocator in use aborts instead of throwing.
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

}  // namespace

int Report(const Error& error, const Context& context, std::ostream& err) {
  err << Coloured(ErrorText(error, context.program), context.environment);
  return StatusOf(error);
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
  if (const Status ready = command.BeforeRun(flags, context); !ready) {
    return ReportOnce(ready.error(), words, context, err);
  }
  for (const std::string& doubt : flags.DoubtfulVariables(context.environment)) {
    context.log.Warning(doubt);
  }
  const Result<ExitCode> code = command.Run(flags, context);
  return code ? NumberOf(*code) : ReportOnce(code.error(), words, context, err);
}

int StatusOfRun(const std::function<int()>& run, std::ostream& err) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    err << kOutOfMemory;
    return NumberOf(ExitCode::kPreflight);
  } catch (const std::exception& failure) {
    err << "drydock: error[INTERNAL]: internal error: " << failure.what() << "\n";
  } catch (...) {
    err << "drydock: error[INTERNAL]: internal error\n";
  }
  return NumberOf(ExitCode::kInternal);
}

int RunMain(std::span<const std::string> words, ProgramRun run) {
  EndWhenOutOfMemory();
  return StatusOfRun(
      [&] {
        Log log("msrun", LogLevel::kWarning);
        StopGuard stop;
        const int status = run(
            words, {.environment = ReadEnvironment(), .out = std::cout, .log = log, .stop = stop},
            std::cerr);
        if (status == 0 && !std::cout && !ReaderLeft()) {
          std::cerr << "drydock: error[STDOUT]: the answer could not be written to stdout\n";
          return NumberOf(ExitCode::kPreflight);
        }
        return status;
      },
      std::cerr);
}
}  // namespace drydock::launcher
