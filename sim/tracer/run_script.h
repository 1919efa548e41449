#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/tracer/trace_result.h"

namespace drydock::sim {

/// Runs of a script whose network is the same for all ranks so far; beyond, the remaining ranks are
/// assumed alike, which the summary counts as a limit.
inline constexpr std::size_t kMaxEqualTraces = 8;
/// Runs of a script whose network depends on the rank, at most; more are unsupported.
/// Source: docs/compatibility.md.
inline constexpr std::size_t kMaxTraces = 64;
/// Largest graph document that a script may leave, bytes.
inline constexpr std::int64_t kMaxDocumentBytes = std::int64_t{512} << 20U;

/// A user's script and the job it is dry-run for.
struct ScriptJob {
  std::string script = {};  ///< As the user gave it.
  bool is_module = false;   ///< It is the name of a module: `python -m NAME`.
  std::vector<std::string> arguments = {};
  std::string python = {};  ///< Interpreter; empty: `python`, else `python3` on the PATH.
  std::int64_t world_size = 1;
  std::int64_t rank = 0;                ///< The rank the first run plays.
  bool single_rank = false;             ///< Only that rank is of interest: no further runs.
  std::int64_t simulation_level = 1;    ///< For MS_SIMULATION_LEVEL.
  std::int64_t timeout_s = 0;           ///< Per run; 0: no limit.
  std::size_t max_traces = kMaxTraces;  ///< If the network depends on the rank.
  std::string compat = {};  ///< MindSpore release to emulate ("2.7"); empty: the default.
  std::vector<std::string> environment = {};  ///< "NAME=value" of the caller, all of it.
  bool quiet = false;                         ///< What the script prints is thrown away.
  bool shard_optimizer = false;               ///< As if the script set enable_parallel_optimizer.
  bool recompute_layers = false;   ///< As if the script called recompute() on each of its layers.
  std::string progress_file = {};  ///< Where the line that runs is told; empty: nowhere.
  std::string trace_library = {};  ///< libdrydock_trace.so
  std::string python_folder = {};  ///< Holds the package that stands in for `mindspore`.
};

/// A graph document recorded by the script.
struct TracedProgram {
  std::string document = {};             ///< Schema drydock.graph/1.
  bool training = false;                 ///< Has gradients.
  std::vector<TracedLayer> layers = {};  ///< That could recompute.
};

/// Ranks on which the script computes the same, in the same order.
struct TracedRanks {
  std::vector<std::size_t> programs = {};  ///< Indices, in the order of the script.
  std::size_t described = 0;               ///< Of them, the first training step, else the first.
  std::int64_t rank = 0;                   ///< The rank that was played.
  strategies::RankSet ranks = {};
};

struct TraceOutcome {
  std::vector<TracedProgram> programs = {};  ///< Distinct.
  /// Distinct in their programs; they partition the ranks. That of ScriptJob::rank first.
  std::vector<TracedRanks> classes = {};
  std::vector<ScriptRun> runs = {};    ///< In the order of the runs.
  std::vector<std::string> asks = {};  ///< "net.py:12": lines where the path depends on the rank.
  std::string installed_release =
      {};  ///< Of a MindSpore in that interpreter; empty if there is none.
  /// Cells that `recompute_layers` has made recompute, else those that could: "the 96 Blocks in
  /// 'layers'"; empty: none.
  std::string layers = {};
  std::vector<TraceWarning> warnings = {};
};

/// Why a script has no outcome.
struct TraceFailure {
  /// @param known  what the script had set (SettingsOf); empty if that is unknown
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a failure of which no more is known
  TraceFailure(Error why, std::string known = {})
      : error(std::move(why)), settings(std::move(known)) {}
  Error error;
  std::string settings;
};

/// A word like `pytest`: a module that the interpreter may have, as there is no such file.
[[nodiscard]] bool MayBeModule(const std::string& script);

/// Runs the script once per class of ranks and collects what it computes.
///
/// Child processes in groups of their own; nothing of them and no file stays behind.
/// @error kInvalidArgument  the script raised, exited, recorded nothing, cannot be read, or there
/// is
///                          no interpreter (ScriptCause); a stop signal came (see StopSignalOf)
/// @error kTimeout          the time limit
/// @error kUnsupported      an operator, a function, or more than kMaxTraces ways to go
[[nodiscard]] tl::expected<TraceOutcome, TraceFailure> TraceScript(const ScriptJob& job);

/// Failure because a stop signal came.
[[nodiscard]] Error StoppedBySignal(int number, std::string message);

/// The signal (SIGINT, SIGTERM, SIGHUP) that came, if that is what the error says.
[[nodiscard]] std::optional<int> StopSignalOf(const Error& error);

}  // namespace drydock::sim
