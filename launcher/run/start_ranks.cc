#include "launcher/run/start_ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
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
  if (worker.rank && !options.quiet) {
    const std::string rank = std::to_string(*worker.rank);
    context.out << "Start worker process with rank id:" + rank + ", log file:" + worker.log_path +
                       ". Environment variable [RANK_ID=" + rank + "] is exported.\n";
  }
}

/// /dev/null for ranks that are left alone on a terminal; else they share our standard input.
int OpenInput(const MsrunOptions& options) {
  const bool shared = options.join || ::isatty(STDIN_FILENO) == 0;
  return shared ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

SpawnRequest RequestFor(const MsrunOptions& options, const CheckedJob& job, int input) {
  return {.program = job.command.program,
          .arguments = job.command.arguments,
          .input = input,
          .dies_with_us = options.join,
          .file_limit = job.child_file_limit};
}

/// Starts one worker by a request for all.
Result<pid_t> StartWorker(const MsrunOptions& options, const Context& context,
                          const WorkerSetting& setting, const WorkerSpec& worker,
                          SpawnRequest& request) {
  const Descriptor log(
      ::open(worker.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (log.get() < 0) {
    return FailCommand("LOG_DIR", worker.log_path + ": " +
                                      std::error_code(errno, std::generic_category()).message());
  }
  request.environment =
      Assignments(WorkerEnvironment(context.environment, options, setting, worker));
  request.output = log.get();
  request.cpus = worker.cpus;
  return Spawn(request);
}

}  // namespace

Status StartRanks(const MsrunOptions& options, const Context& context, const CheckedJob& job,
                  const WorkerSetting& setting,
                  const std::function<void(std::size_t, pid_t)>& started) {
  const Descriptor input(OpenInput(options));
  SpawnRequest request = RequestFor(options, job, input.get());
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    Announce(options, context, job.command, job.workers[i]);
    DRYDOCK_TRY(const pid_t pid, StartWorker(options, context, setting, job.workers[i], request));
    started(i, pid);
  }
  context.out.flush();
  return {};
}

Result<pid_t> StartRankAgain(const MsrunOptions& options, const Context& context,
                             const CheckedJob& job, const WorkerSetting& setting,
                             const WorkerSpec& worker) {
  const Descriptor input(OpenInput(options));
  SpawnRequest request = RequestFor(options, job, input.get());
  return StartWorker(options, context, setting, worker, request);
}

}  // namespace drydock::launcher
