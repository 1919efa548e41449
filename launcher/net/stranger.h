#pragma once

#include <string>
#include <string_view>

namespace drydock::launcher {

/// What somebody speaks whose first bytes are no frame: "an HTTP request"; "TLS_MISMATCH: ..." with
/// what to do for a worker with TLS at a port without. Empty if it cannot be told.
/// Source: docs/robustness.md
[[nodiscard]] std::string StrangerAtPlainPort(std::string_view first_bytes);

/// The same at a port with TLS, of first bytes that are no handshake.
[[nodiscard]] std::string StrangerAtTlsPort(std::string_view first_bytes);

}  // namespace drydock::launcher
