#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"
#include "launcher/net/tls_session.h"
#include "launcher/run/job_spec.h"
#include "launcher/run/task_command.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::launcher {

/// A lock on a log folder for one launcher of this machine; gone with it.
class FolderLock {
 public:
  /// Waits up to 10 s for a launcher whose own starter is gone: it is about to end.
  /// @error LOG_DIR  another launcher holds it
  [[nodiscard]] static Result<std::unique_ptr<FolderLock>> Take(const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  FolderLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  Descriptor fd_;
};

/// A job that passed every check that is possible before a process is started.
struct CheckedJob {
  TaskCommand command = {};
  HostFacts host = {};
  JoinRule join = {};
  sim::MetadataAnswerRule metadata_answers = {};  ///< Of the scheduler, if it is ours.
  std::optional<TlsFiles> tls = {};  ///< Of the scheduler and the agents; nothing: plain TCP.
  std::string secret = {};           ///< Of the job; empty: none.
  bool joins_later = false;          ///< A dry run of many hosts: registers by Cluster::Join.
  std::string note = {};             ///< What the launchers of all nodes are to know of this one.
  std::vector<WorkerSpec> workers = {};
  std::unique_ptr<FolderLock> lock = {};
  long child_file_limit = -1;  ///< Soft limit of open files we were started with.
};

/// Resolves the master's name and finds out whether this machine is the master.
/// @error RESOLVE, USAGE, LOOPBACK_MASTER, IPV6_UNSUPPORTED, MASTER_UNREACHABLE
[[nodiscard]] Result<HostFacts> FindHost(const MsrunOptions& options, const Context& context,
                                         bool workers_register);

/// Raises our soft limit of open files to `needed`, if it is lower; gives the one before.
/// @error NOFILE  the hard limit is lower
[[nodiscard]] Result<long> RaiseFileLimit(std::int64_t needed);

/// Checks script, interpreter, log folder and files, master's name, limits and processors, in this
/// order; starts nothing. Source: docs/robustness.md G2
/// @error USAGE, NO_SCRIPT, NO_INTERPRETER, LOG_DIR, RESOLVE, LOOPBACK_MASTER, IPV6_UNSUPPORTED,
///        NOFILE, NPROC, TLS_MATERIAL
[[nodiscard]] Result<CheckedJob> CheckJob(const MsrunOptions& options, const Context& context);

}  // namespace drydock::launcher
