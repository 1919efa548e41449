#pragma once

#include "launcher/environment.h"

namespace drydock::launcher {

/// True if something can be drawn on the descriptor: it is a terminal that is not dumb.
[[nodiscard]] bool IsTerminal(int descriptor, const Environment& environment);

/// Whether colours are wanted there: on a terminal unless NO_COLOR is set, elsewhere only with
/// FORCE_COLOR or CLICOLOR_FORCE. Source: no-color.org, force-color.org
[[nodiscard]] bool WantsColour(int descriptor, const Environment& environment);

}  // namespace drydock::launcher
