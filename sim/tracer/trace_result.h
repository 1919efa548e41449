#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::sim {

/// A program that the script recorded.
struct TracedProgramFile {
  std::string file = {};  ///< Name in the result folder.
  std::int64_t nodes = 0;
  bool training = false;  ///< Has gradients.
};

/// Ranks `first` to `last`, both included.
struct RankSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

/// What one run of the script left in result.json.
struct TraceResult {
  std::vector<TracedProgramFile> programs = {};
  std::int64_t exit_code = 0;  ///< Of the script, if it called sys.exit.
  std::string release = {};    ///< Of an installed MindSpore, empty if there is none.
  std::vector<std::string> warnings = {};
  std::vector<RankSpan> covered = {};          ///< Ranks that would have taken the same path.
  std::vector<std::string> guard_places = {};  ///< "net.py:12": where the path depends on the rank.
};

/// Reads result.json of the driver (sim/tracer/python/drydock_run.py).
/// @error kInvalidArgument  the script raised an exception or exited before a network was recorded;
/// has
///                          place, notes with the user's frames, and a reason "script:..."
/// @error kUnsupported      the script needs something that is not there
/// @error kInternal         the text is not what the driver writes, or the driver failed
[[nodiscard]] Result<TraceResult> ReadTraceResult(std::string_view text);

}  // namespace drydock::sim
