#include "launcher/environment.h"

#include <unistd.h>

namespace drydock::launcher {

Environment ReadEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(std::string(text.substr(0, equals)),
                          std::string(text.substr(equals + 1)));
    }
  }
  return environment;
}

std::optional<std::string> Variable(const Environment& environment, std::string_view name) {
  const auto it = environment.find(name);
  return it == environment.end() || it->second.empty() ? std::nullopt
                                                       : std::optional<std::string>(it->second);
}

}  // namespace drydock::launcher
