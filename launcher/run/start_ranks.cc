#include "launcher/run/start_ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/log_file.h"
#include "launcher/run/spawn.h"

namespace drydock::launcher {
namespace {

/// What people type to get the same: "taskset -c 0-3 python net.py".
std::string CommandText(const TaskCommand& command, const WorkerSpec& worker) {
  std::string text = worker.bound_ranges.empty() ? "" : "taskset -c " + worker.bound_ranges + " ";
  for (const std::string& word : command.arguments) {
    text += (&word == command.arguments.data() ? "" : " ") + word;
  }
  return text;
}

void Announce(const MsrunOptions& options, const Context& context, const TaskCommand& command,
              const WorkerSpec& worker) {
  if (!worker.bound_ranges.empty()) {
    context.log.Warning("worker " + std::to_string(worker.local_index) +
                        " is bound: " + CommandText(command, worker));
  }
  if (worker.rank && !options.quiet && options.log_layout == LogLayout::kMsrun) {
    const std::string rank = std::to_string(*worker.rank);
    context.out << "Start worker process with rank id:" + rank + ", log file:" + worker.log_path +
                       ". Environment variable [RANK_ID=" + rank + "] is exported.\n";
  }
}

/// /dev/null for ranks that are left alone on a terminal; else they share our standard input. Under
/// mpirun's habits it is rank 0's alone.
bool SharesInput(const MsrunOptions& options, const WorkerSpec& worker) {
  return FollowsMpirun(options) ? worker.rank == 0 : options.join || ::isatty(STDIN_FILENO) == 0;
}

int OpenNothing() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

SpawnRequest RequestFor(const MsrunOptions& options, const CheckedJob& job) {
  return {.program = job.command.program,
          .arguments = job.command.arguments,
          .dies_with_us = options.join,
          .file_limit = job.child_file_limit};
}

/// Starts one worker by a request for all.
Result<pid_t> StartWorker(const MsrunOptions& options, const Context& context,
                          const WorkerSetting& setting, const WorkerSpec& worker,
                          SpawnRequest& request) {
  DRYDOCK_TRY(const auto log, OpenLog(worker.log_path, options.log_layout == LogLayout::kPaddle));
  DRYDOCK_TRY(const auto error_log, OpenLog(worker.error_log_path));
  request.environment =
      Assignments(WorkerEnvironment(context.environment, options, setting, worker));
  request.output = log ? log->get() : -1;
  request.error = error_log ? error_log->get() : -1;
  request.cpus = worker.cpus;
  return Spawn(request);
}

/// Once some ranks ran it is no refusal any more. @param doing  "started"
Error NotStarted(const WorkerSpec& worker, std::string_view doing, const Error& error,
                 std::int64_t running, std::int64_t all) {
  const std::string who = worker.rank ? "rank " + std::to_string(*worker.rank)
                                      : "worker " + std::to_string(worker.local_index);
  std::string text = who + " could not be " + std::string(doing) + ": " + error.message;
  if (running > 0) {
    text += "; " + std::to_string(running) + " of " + std::to_string(all) +
            " ranks of this node were running and were ended";
  }
  return FailCommand(FailureCode::kStartFailed, std::move(text), error.hint).value();
}

}  // namespace

Status StartRanks(const MsrunOptions& options, const Context& context, const CheckedJob& job,
                  const WorkerSetting& setting,
                  const std::function<void(std::size_t, pid_t)>& started) {
  const Descriptor nothing(OpenNothing());
  SpawnRequest request = RequestFor(options, job);
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    Announce(options, context, job.command, job.workers[i]);
    request.input = SharesInput(options, job.workers[i]) ? -1 : nothing.get();
    const auto pid = StartWorker(options, context, setting, job.workers[i], request);
    if (!pid) {
      return tl::unexpected(i == 0 ? pid.error()
                                   : NotStarted(job.workers[i], "started", pid.error(),
                                                static_cast<std::int64_t>(i),
                                                std::ssize(job.workers)));
    }
    started(i, *pid);
  }
  context.out.flush();
  return {};
}

Result<pid_t> StartRankAgain(const MsrunOptions& options, const Context& context,
                             const CheckedJob& job, const WorkerSetting& setting,
                             const WorkerSpec& worker) {
  const Descriptor nothing(OpenNothing());
  SpawnRequest request = RequestFor(options, job);
  request.input = SharesInput(options, worker) ? -1 : nothing.get();
  const auto pid = StartWorker(options, context, setting, worker, request);
  return pid ? pid
             : Result<pid_t>(
                   tl::unexpected(NotStarted(worker, "started again", pid.error(), 0, 0)));
}

}  // namespace drydock::launcher
