#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/environment.h"

/// Which lines of a sweep a process answers, and what is known from earlier ones. Pure.
namespace drydock::launcher {

/// Part `index` (from 0) of `count`: lines whose number leaves that rest.
struct SweepPart {
  std::int64_t index = 0;
  std::int64_t count = 1;
  friend bool operator==(const SweepPart&, const SweepPart&) = default;
};

/// The part of this process: from "--part=0/4", or the array job it is in (Slurm array, Open MPI,
/// PMI, Kubernetes Indexed Job with --parts), else everything.
/// @param given  value of --part; empty: not given
/// @param parts  value of --parts; 0: not given
/// @error USAGE  not of that form, or an index without a count
[[nodiscard]] Result<SweepPart> PartOf(const std::string& given, std::int64_t parts,
                                       const Environment& environment);

/// Fingerprint of a line, so that an answer to another line is not taken for its own.
[[nodiscard]] std::string LineFingerprint(std::string_view line);

/// An answer as it is written: {"line": 3, "request": "<fingerprint>", "answer": {...}} or "error".
struct SweepAnswer {
  std::int64_t line = 0;
  std::string request = {};
  std::string text = {};  ///< The whole line of JSON, without its end.
  bool error = false;
};

/// Answers in the text of a part file; a last line that was cut off is left out.
[[nodiscard]] std::vector<SweepAnswer> ReadAnswers(std::string_view text);

/// An answer's line. @param json  the answer, one line of JSON; or the error's text
[[nodiscard]] std::string AnswerLine(std::int64_t line, std::string_view request,
                                     std::string_view json, bool error);

}  // namespace drydock::launcher
