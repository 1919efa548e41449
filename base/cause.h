#pragma once

#include <cstdint>
#include <variant>

namespace drydock {

/// Stable codes of failures that commands report; docs/errors.md has a paragraph on each, the table
/// in launcher/exit_code.cc their names and exit statuses.
enum class FailureCode : std::uint8_t {
  kUsage,
  kPortRange,
  kLogDir,
  kReportWrite,
  kNoReports,
  kNoSqlite,
  kNoScript,
  kCalibrate,
  kWorkspaces,
  kHardware,
  kNoInterpreter,
  kNoMpi,
  kNoTracer,
  kPortInUse,
  kResolve,
  kLoopbackMaster,
  kIpv6Unsupported,
  kNofile,
  kOutOfMemory,
  kNproc,
  kMasterUnreachable,
  kEtcdUnreachable,
  kEtcdRefused,
  kBuildTimeout,
  kExitBeforeJoin,
  kHostFailed,
  kHostsDiffer,
  kStartFailed,
  kSchedulerDied,
  kRankFailed,
  kRankSignalled,
  kRankLost,
  kExtraWorker,
  kDuplicateWorker,
  kRecoveryState,
  kRecoveryWrite,
  kTlsMaterial,
  kTlsMismatch,
  kTlsPeer,
  kStopped,
  kNothingTraced,
  kStrategy,
  kScript,
  kVerify,
  kMemoryLimit,
  kUnsupported,
  kInternal,
};

/// A signal that ends what runs: SIGINT, SIGTERM, SIGHUP, SIGQUIT; SIGKILL of the launcher itself.
struct StopSignal {
  int number = 0;
  friend bool operator==(const StopSignal&, const StopSignal&) = default;
};

/// A failure in running a user's script.
enum class ScriptCause : std::uint8_t {
  kOther,          ///< What the script does.
  kNothingTraced,  ///< It came to its end without a network.
  kNoInterpreter,  ///< No Python to run it.
  kUnreadable,     ///< No such file, a folder, no permission.
};

/// Why a member of a cluster gave up.
enum class MemberCause : std::uint8_t {
  kUnreachable,    ///< It never reached the scheduler.
  kBuildTimeout,   ///< Others did not come in time, or no scheduler answered.
  kOtherNumber,    ///< Another --worker_num than the scheduler's.
  kRefused,        ///< The scheduler takes no such member.
  kSchedulerGone,  ///< The scheduler ended before the job.
  kNodeLost,       ///< Another member fell silent.
  kProtocol,       ///< An answer that is none.
};

/// What the other side of a connection had against it.
enum class PeerCause : std::uint8_t {
  kNobodyListens,  ///< The machine is up and refuses the connection.
  kUnknownToken,   ///< HTTP status 401: who we are has to be said again.
};

/// What is wrong with a JSON document, where kinds of documents have remedies of their own.
enum class DocumentCause : std::uint8_t {
  kFields,  ///< One is missing or not known.
};

/// What is wrong with a strategy, where there is another way to read it.
enum class StrategyCause : std::uint8_t {
  kEntries,  ///< Not one entry per tensor.
};

/// Why something failed, for code that decides on more than Error::code. What is only printed
/// stands in Error::reason.
using Cause = std::variant<std::monostate, FailureCode, StopSignal, ScriptCause, MemberCause,
                           PeerCause, DocumentCause, StrategyCause>;

}  // namespace drydock
