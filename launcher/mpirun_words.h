#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/flags.h"

namespace drydock::launcher {

/// mpirun's command line in the spelling that a FlagSet reads: `-n 4 -mca a b -x A=1 -bind-to none`
/// becomes
/// `--np=4 --mca=a=b --x=A=1 --bind_to=none`. Words from the program on stay as they are.
/// @param flags  tells which flags have a value
/// @error USAGE  a flag without its values
[[nodiscard]] Result<std::vector<std::string>> TranslateMpirunWords(
    std::span<const std::string> words, const FlagSet& flags);

}  // namespace drydock::launcher
