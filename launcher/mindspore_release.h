#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/environment.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::launcher {

/// Release of the MindSpore that a Python program would import, "2.7.1": what the files of the
/// installed package say, in the order of Python's own search (PYTHONPATH, then the environment the
/// program belongs to, then the user's packages). Nothing is run and nothing is imported.
///
/// Nothing if there is none, or two of them at one place, or `program` is a script that chooses an
/// interpreter (pyenv).
/// @param program  path of the interpreter as it is called, or of a command beside it (pytest)
[[nodiscard]] std::optional<std::string> InstalledMindSpore(const std::string& program,
                                                            const Environment& environment);

/// The same for the first of `programs` that has one, then for `python` and `python3` in PATH.
[[nodiscard]] std::optional<std::string> FindMindSpore(std::vector<std::string> programs,
                                                       const Environment& environment);

/// True if an `import mindspore` of that interpreter would find nothing: no installed package, and
/// no module in `script_folder`. False where that cannot be told.
[[nodiscard]] bool LacksMindSpore(const std::string& program, const std::string& script_folder,
                                  const Environment& environment);

/// How the scheduler of a job answers about metadata: by a release that was named, and where none
/// was, as its workers turn out to understand, beginning with what the installed one would.
/// Example: ("", "2.10.0") gives kLearnSinceAdd.
/// @error USAGE  `named` is no release
[[nodiscard]] Result<sim::MetadataAnswerRule> MetadataAnswersFor(
    const std::string& named, const std::optional<std::string>& installed);

}  // namespace drydock::launcher
