#include "launcher/terminal.h"

#include <unistd.h>

#include <string_view>

namespace drydock::launcher {
namespace {

/// Set to anything but nothing or 0.
bool IsSet(const Environment& environment, std::string_view name) {
  const auto value = Variable(environment, std::string(name));
  return value && !value->empty() && *value != "0";
}

}  // namespace

bool IsTerminal(int descriptor, const Environment& environment) {
  return ::isatty(descriptor) != 0 && Variable(environment, "TERM") != "dumb";
}

bool WantsColour(int descriptor, const Environment& environment) {
  if (const auto no = Variable(environment, "NO_COLOR"); no && !no->empty()) {
    return false;
  }
  return IsSet(environment, "FORCE_COLOR") || IsSet(environment, "CLICOLOR_FORCE") ||
         IsTerminal(descriptor, environment);
}

}  // namespace drydock::launcher
