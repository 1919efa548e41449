#include "launcher/exit_code.h"

#include <algorithm>
#include <array>

#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

struct CodeFacts {
  std::string_view code = {};
  ExitCode exit = ExitCode::kInternal;
  std::string_view hint = {};  ///< What helps if whoever fails knows nothing better.
};

/// Codes of failures that commands report themselves.
constexpr auto kCodes = std::to_array<CodeFacts>({
    {"USAGE", ExitCode::kUsage, "--help lists the flags and their values"},
    {"PORT_RANGE", ExitCode::kUsage, "choose a free port of that range"},
    {"LOG_DIR", ExitCode::kPreflight, "choose another folder with --log_dir"},
    {"REPORT_WRITE", ExitCode::kPreflight},
    {"NO_REPORTS", ExitCode::kPreflight},
    {"NO_SQLITE", ExitCode::kPreflight},
    {"NO_SCRIPT", ExitCode::kPreflight, "give the path of a script"},
    {"CALIBRATE", ExitCode::kPreflight, "docs/timing.md says what files are taken"},
    {"WORKSPACES", ExitCode::kPreflight, "make one with drydock calibrate"},
    {"HARDWARE", ExitCode::kPreflight, "docs/timing.md describes hardware profiles"},
    {"NO_INTERPRETER", ExitCode::kPreflight},
    {"NO_MPI", ExitCode::kPreflight},
    {"NO_TRACER", ExitCode::kPreflight},
    {"PORT_IN_USE", ExitCode::kPreflight},
    {"RESOLVE", ExitCode::kPreflight},
    {"LOOPBACK_MASTER", ExitCode::kPreflight},
    {"IPV6_UNSUPPORTED", ExitCode::kUsage},
    {"NOFILE", ExitCode::kPreflight},
    {"OUT_OF_MEMORY", ExitCode::kPreflight},
    {"NPROC", ExitCode::kPreflight},
    {"MASTER_UNREACHABLE", ExitCode::kNotFormed},
    {"ETCD_UNREACHABLE", ExitCode::kNotFormed},
    {"ETCD_REFUSED", ExitCode::kNotFormed},
    {"BUILD_TIMEOUT", ExitCode::kNotFormed},
    {"EXIT_BEFORE_JOIN", ExitCode::kNotFormed},
    {"HOST_FAILED", ExitCode::kNotFormed, "look at what msrun says on that host"},
    {"HOSTS_DIFFER", ExitCode::kPreflight, "give all hosts the same files and flags"},
    {"START_FAILED", ExitCode::kRankFailed},
    {"SCHEDULER_DIED", ExitCode::kRankFailed},
    {"RANK_FAILED", ExitCode::kRankFailed},
    {"RANK_SIGNALLED", ExitCode::kRankFailed},
    {"RANK_LOST", ExitCode::kRankFailed},
    {"EXTRA_WORKER", ExitCode::kRankFailed},
    {"DUPLICATE_WORKER", ExitCode::kRankFailed},
    {"RECOVERY_STATE", ExitCode::kPreflight},
    {"RECOVERY_WRITE", ExitCode::kPreflight},
    {"TLS_MATERIAL", ExitCode::kPreflight},
    {"TLS_MISMATCH", ExitCode::kNotFormed},
    {"TLS_PEER", ExitCode::kNotFormed},
    {"STOPPED", ExitCode::kRankFailed},  // the status is that of the signal, see StatusOf
    {"NOTHING_TRACED", ExitCode::kRejected},
    {"STRATEGY", ExitCode::kRejected},
    {"SCRIPT", ExitCode::kRejected},
    {"VERIFY", ExitCode::kRejected, "'drydock explain VERIFY' tells what may have caused it"},
    {"MEMORY_LIMIT", ExitCode::kLimitExceeded},
    {"UNSUPPORTED", ExitCode::kUnsupported},
    {"INTERNAL", ExitCode::kInternal},
});

const CodeFacts* FindCode(std::string_view code) {
  const auto* it = std::ranges::find(kCodes, code, &CodeFacts::code);
  return it == kCodes.end() ? nullptr : it;
}

}  // namespace

std::string PrintableText(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string printable;
  printable.reserve(text.size());
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if ((code >= 0x20 && code != 0x7f) || character == '\n' || character == '\t') {
      printable += character;
    } else {
      printable += "\\x";
      printable += kDigits[code / 16];
      printable += kDigits[code % 16];
    }
  }
  return printable;
}

std::string OneLine(std::string_view text, std::size_t most_bytes) {
  std::string line;
  for (const char character : PrintableText(text.substr(0, most_bytes))) {
    if (character == '\n' || character == '\t') {
      line += character == '\n' ? "\\n" : " ";
    } else {
      line += character;
    }
  }
  return text.size() > most_bytes ? line + " ..." : line;
}

tl::unexpected<Error> FailCommand(std::string_view code, std::string message, std::string hint) {
  const CodeFacts* const facts = FindCode(code);
  DRYDOCK_CHECK(facts != nullptr);
  if (hint.empty()) {
    hint = facts->hint;
  }
  return FailInput(std::string(code), std::move(message), std::move(hint));
}

tl::unexpected<Error> FailUsage(std::string message, std::string hint) {
  return FailCommand("USAGE", std::move(message), std::move(hint));
}

std::string CodeOf(const Error& error) {
  if (FindCode(error.reason) != nullptr) {
    return error.reason;
  }
  if (sim::StopSignalOf(error)) {
    return "STOPPED";
  }
  if (error.reason == "script:nothing-traced") {
    return "NOTHING_TRACED";
  }
  if (error.reason == "script:no-interpreter") {
    return "NO_INTERPRETER";
  }
  if (error.reason == "script:unreadable") {
    return "NO_SCRIPT";
  }
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return error.reason.starts_with("script:") ? "SCRIPT" : "STRATEGY";
    case ErrorCode::kTimeout:  // the script took longer than it was given
      return "SCRIPT";
    case ErrorCode::kUnsupported:
      return "UNSUPPORTED";
    case ErrorCode::kIo:
      return "REPORT_WRITE";
    case ErrorCode::kProtocol:
    case ErrorCode::kInternal:
      return "INTERNAL";
  }
  return "INTERNAL";
}

ExitCode ExitCodeOf(const Error& error) {
  return FindCode(CodeOf(error))->exit;
}

int StatusOf(const Error& error) {
  const std::optional<int> signal = sim::StopSignalOf(error);
  return signal ? 128 + *signal : static_cast<int>(ExitCodeOf(error));
}

std::string ErrorText(const Error& error, std::string_view program) {
  if (error.place) {
    return PrintableText(FormatError(error)) + "\n";
  }
  std::string text = std::string(program) + ": error[" + CodeOf(error) + "]: " + error.message;
  for (const std::string& note : error.notes) {
    text += "; " + note;
  }
  if (!error.hint.empty()) {
    text += "; hint: " + error.hint;
  }
  return PrintableText(text) + "\n";
}

}  // namespace drydock::launcher
