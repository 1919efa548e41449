#pragma once

#include <cstdint>
#include <string>

namespace drydock::launcher {

/// ", held by process 4711 (python train.py)" for a TCP port somebody listens at, as far as /proc
/// tells; empty otherwise.
[[nodiscard]] std::string PortHolderText(std::uint16_t port);

}  // namespace drydock::launcher
