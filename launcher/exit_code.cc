#include "launcher/exit_code.h"

#include <algorithm>
#include <array>

#include "base/overloaded.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

struct CodeFacts {
  FailureCode code = FailureCode::kInternal;
  std::string_view name = {};
  ExitCode exit = ExitCode::kInternal;
  std::string_view hint = {};  ///< What helps if whoever fails knows nothing better.
};

/// Codes of failures that commands report themselves.
constexpr auto kCodes = std::to_array<CodeFacts>({
    {FailureCode::kUsage, "USAGE", ExitCode::kUsage, "--help lists the flags and their values"},
    {FailureCode::kPortRange, "PORT_RANGE", ExitCode::kUsage, "choose a free port of that range"},
    {FailureCode::kLogDir, "LOG_DIR", ExitCode::kPreflight, "choose another folder with --log_dir"},
    {FailureCode::kReportWrite, "REPORT_WRITE", ExitCode::kPreflight},
    {FailureCode::kNoReports, "NO_REPORTS", ExitCode::kPreflight},
    {FailureCode::kNoSqlite, "NO_SQLITE", ExitCode::kPreflight},
    {FailureCode::kNoScript, "NO_SCRIPT", ExitCode::kPreflight, "give the path of a script"},
    {FailureCode::kCalibrate, "CALIBRATE", ExitCode::kPreflight,
     "docs/timing.md says what files are taken"},
    {FailureCode::kWorkspaces, "WORKSPACES", ExitCode::kPreflight,
     "make one with drydock calibrate"},
    {FailureCode::kHardware, "HARDWARE", ExitCode::kPreflight,
     "docs/timing.md describes hardware profiles"},
    {FailureCode::kNoInterpreter, "NO_INTERPRETER", ExitCode::kPreflight},
    {FailureCode::kNoMpi, "NO_MPI", ExitCode::kPreflight},
    {FailureCode::kNoTracer, "NO_TRACER", ExitCode::kPreflight},
    {FailureCode::kPortInUse, "PORT_IN_USE", ExitCode::kPreflight},
    {FailureCode::kResolve, "RESOLVE", ExitCode::kPreflight},
    {FailureCode::kLoopbackMaster, "LOOPBACK_MASTER", ExitCode::kPreflight},
    {FailureCode::kIpv6Unsupported, "IPV6_UNSUPPORTED", ExitCode::kUsage},
    {FailureCode::kNofile, "NOFILE", ExitCode::kPreflight},
    {FailureCode::kOutOfMemory, "OUT_OF_MEMORY", ExitCode::kPreflight},
    {FailureCode::kNproc, "NPROC", ExitCode::kPreflight},
    {FailureCode::kMasterUnreachable, "MASTER_UNREACHABLE", ExitCode::kNotFormed},
    {FailureCode::kEtcdUnreachable, "ETCD_UNREACHABLE", ExitCode::kNotFormed},
    {FailureCode::kEtcdRefused, "ETCD_REFUSED", ExitCode::kNotFormed},
    {FailureCode::kBuildTimeout, "BUILD_TIMEOUT", ExitCode::kNotFormed},
    {FailureCode::kExitBeforeJoin, "EXIT_BEFORE_JOIN", ExitCode::kNotFormed},
    {FailureCode::kHostFailed, "HOST_FAILED", ExitCode::kNotFormed,
     "look at what msrun says on that host"},
    {FailureCode::kHostsDiffer, "HOSTS_DIFFER", ExitCode::kPreflight,
     "give all hosts the same files and flags"},
    {FailureCode::kStartFailed, "START_FAILED", ExitCode::kRankFailed},
    {FailureCode::kSchedulerDied, "SCHEDULER_DIED", ExitCode::kRankFailed},
    {FailureCode::kRankFailed, "RANK_FAILED", ExitCode::kRankFailed},
    {FailureCode::kRankSignalled, "RANK_SIGNALLED", ExitCode::kRankFailed},
    {FailureCode::kRankLost, "RANK_LOST", ExitCode::kRankFailed},
    {FailureCode::kExtraWorker, "EXTRA_WORKER", ExitCode::kRankFailed},
    {FailureCode::kDuplicateWorker, "DUPLICATE_WORKER", ExitCode::kRankFailed},
    {FailureCode::kRecoveryState, "RECOVERY_STATE", ExitCode::kPreflight},
    {FailureCode::kRecoveryWrite, "RECOVERY_WRITE", ExitCode::kPreflight},
    {FailureCode::kTlsMaterial, "TLS_MATERIAL", ExitCode::kPreflight},
    {FailureCode::kTlsMismatch, "TLS_MISMATCH", ExitCode::kNotFormed},
    {FailureCode::kTlsPeer, "TLS_PEER", ExitCode::kNotFormed},
    {FailureCode::kStopped, "STOPPED",
     ExitCode::kRankFailed},  // the status is that of the signal, see StatusOf
    {FailureCode::kNothingTraced, "NOTHING_TRACED", ExitCode::kRejected},
    {FailureCode::kStrategy, "STRATEGY", ExitCode::kRejected},
    {FailureCode::kScript, "SCRIPT", ExitCode::kRejected},
    {FailureCode::kVerify, "VERIFY", ExitCode::kRejected,
     "'drydock explain VERIFY' tells what may have caused it"},
    {FailureCode::kMemoryLimit, "MEMORY_LIMIT", ExitCode::kLimitExceeded},
    {FailureCode::kUnsupported, "UNSUPPORTED", ExitCode::kUnsupported},
    {FailureCode::kInternal, "INTERNAL", ExitCode::kInternal},
});

const CodeFacts& FactsOf(FailureCode code) {
  const auto* const facts = std::ranges::find(kCodes, code, &CodeFacts::code);
  DRYDOCK_CHECK(facts != kCodes.end());
  return *facts;
}

/// Where nothing but the kind of failure is known.
FailureCode CodeOfKind(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return FailureCode::kStrategy;
    case ErrorCode::kTimeout:  // the script took longer than it was given
      return FailureCode::kScript;
    case ErrorCode::kUnsupported:
      return FailureCode::kUnsupported;
    case ErrorCode::kIo:
      return FailureCode::kReportWrite;
    case ErrorCode::kProtocol:
    case ErrorCode::kInternal:
      break;
  }
  return FailureCode::kInternal;
}

FailureCode CodeOfScript(ScriptCause cause, ErrorCode code) {
  switch (cause) {
    case ScriptCause::kNothingTraced:
      return FailureCode::kNothingTraced;
    case ScriptCause::kNoInterpreter:
      return FailureCode::kNoInterpreter;
    case ScriptCause::kUnreadable:
      return FailureCode::kNoScript;
    case ScriptCause::kOther:
      break;
  }
  return code == ErrorCode::kInvalidArgument ? FailureCode::kScript : CodeOfKind(code);
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

Error WithCode(Error error, FailureCode code) {
  error.cause = code;
  error.reason = FactsOf(code).name;
  return error;
}

tl::unexpected<Error> FailCommand(FailureCode code, std::string message, std::string hint) {
  if (hint.empty()) {
    hint = FactsOf(code).hint;
  }
  return tl::unexpected(WithCode(Error{.code = ErrorCode::kInvalidArgument,
                                       .message = std::move(message),
                                       .hint = std::move(hint)},
                                 code));
}

tl::unexpected<Error> FailUsage(std::string message, std::string hint) {
  return FailCommand(FailureCode::kUsage, std::move(message), std::move(hint));
}

std::optional<FailureCode> CodeNamed(std::string_view name) {
  const auto* const facts = std::ranges::find(kCodes, name, &CodeFacts::name);
  return facts == kCodes.end() ? std::nullopt : std::optional(facts->code);
}

FailureCode FailureCodeOf(const Error& error) {
  return std::visit(Overloaded{[](FailureCode code) { return code; },
                               [](StopSignal) { return FailureCode::kStopped; },
                               [&](ScriptCause cause) { return CodeOfScript(cause, error.code); },
                               [&](auto) { return CodeOfKind(error.code); }},
                    error.cause);
}

std::string CodeOf(const Error& error) {
  return std::string(FactsOf(FailureCodeOf(error)).name);
}

ExitCode ExitCodeOf(const Error& error) {
  return FactsOf(FailureCodeOf(error)).exit;
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
