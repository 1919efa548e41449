#pragma once

#include <span>
#include <string>

#include "launcher/command.h"

namespace drydock::launcher {

/// Hands a command line over to the Open MPI or PRRTE that is installed; does not return if that
/// works.
/// @param why  what we cannot do ourselves, for messages
/// @error NO_MPI  there is none, it is another MPI, or it is older than 3
[[nodiscard]] Error BecomeOpenMpi(std::span<const std::string> words, const Context& context,
                                  const std::string& why);

}  // namespace drydock::launcher
