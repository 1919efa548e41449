#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/program/rank_set.h"

namespace drydock::sim {

/// What recompute() of one layer would change in a program: operators of its scope run again, but
/// those that make what the layer returns.
struct TracedLayer {
  std::string scope = {};               ///< "Default/network/layers/0-Block".
  std::vector<std::string> apart = {};  ///< Scopes below that say themselves what they do.
  struct Kept {
    std::size_t node = 0;  ///< In the graph document.
    bool slice = false;    ///< What is kept is cut over the ranks of the operator.
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::vector<Kept> kept = {};
  friend bool operator==(const TracedLayer&, const TracedLayer&) = default;
};

/// A program that the script recorded.
struct TracedProgramFile {
  std::string file = {};  ///< Name in the result folder.
  std::int64_t nodes = 0;
  bool training = false;                 ///< Has gradients.
  std::vector<TracedLayer> layers = {};  ///< That could recompute.
};

/// A run of the script as one rank, and the ranks that behave like it.
struct ScriptRun {
  std::int64_t rank = 0;           ///< The rank it played.
  strategies::RankSet ranks = {};  ///< That take the same path.
  std::size_t network = 0;         ///< Which of the distinct networks it recorded.
  friend bool operator==(const ScriptRun&, const ScriptRun&) = default;
};

/// Something a user should know about the recording of a script.
struct TraceWarning {
  enum class Kind : std::uint8_t {
    kNote,     ///< Nothing follows from it.
    kLimit,    ///< Something is left out: an error under --strict.
    kFailure,  ///< The script failed behind its network.
    kNoInit,   ///< A parallel mode without init().
  };
  std::string text = {};
  Kind kind = Kind::kNote;
  friend bool operator==(const TraceWarning&, const TraceWarning&) = default;
};

/// What one run of the script left in result.json.
struct TraceResult {
  std::vector<TracedProgramFile> programs = {};
  std::int64_t exit_code = 0;  ///< Of the script, if it called sys.exit.
  std::string release = {};    ///< Of an installed MindSpore, empty if there is none.
  std::string layers = {};     ///< See TraceOutcome.
  std::vector<TraceWarning> warnings = {};
  strategies::RankSet covered = {};            ///< Ranks that would have taken the same path.
  std::vector<std::string> guard_places = {};  ///< "net.py:12": where the path depends on the rank.
};

/// Failure in running a script, with a machine-readable reason "script:code".
[[nodiscard]] tl::unexpected<Error> FailScript(ScriptCause cause, std::string reason,
                                               std::string message, std::string hint = {});

/// Reads result.json of the driver (sim/tracer/python/drydock_run.py).
/// @error kInvalidArgument  the script raised an exception or exited before a network was recorded;
///                          has a place and notes with the user's frames; what scripts do wrong by
///                          themselves has a ScriptCause
/// @error kUnsupported      the script needs something that is not there
/// @error kInternal         the text is not what the driver writes, or the driver failed
[[nodiscard]] Result<TraceResult> ReadTraceResult(std::string_view text);

/// Where a script was when it was ended, as the driver wrote it into stopped.json.
struct StoppedScript {
  std::optional<SourcePlace> place = {};  ///< The line of the script that ran.
  bool read_zeros = false;                ///< It had looked at values that were computed.
};

/// Reads stopped.json; nothing is known of a text that the driver did not write.
[[nodiscard]] StoppedScript ReadStopped(std::string_view text);

/// The `job` section (strategies/document/json_codec.h, ReadJobText) of what the script had set
/// when it ended, also of a result that reports an error; empty if it is unknown.
[[nodiscard]] std::string SettingsOf(std::string_view text);

/// "net.py:12, net.py:20 and 3 more": a list of places, shortened.
[[nodiscard]] std::string PlacesText(const std::vector<std::string>& places);

}  // namespace drydock::sim
