// The only source that knows the version, which is CMake's (project(drydock VERSION ...)).
#include "launcher/command.h"

namespace drydock::launcher {

std::string_view Version() {
  return DRYDOCK_VERSION;
}

}  // namespace drydock::launcher
