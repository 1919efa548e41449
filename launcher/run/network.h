#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

/// IPv4 addresses of a host name or literal, in the resolver's order, each once.
/// @error RESOLVE          unknown name
/// @error IPV6_UNSUPPORTED an IPv6 literal, or a name that only has such addresses
[[nodiscard]] Result<std::vector<std::string>> ResolveHost(const std::string& name);

/// IPv4 addresses of this machine's interfaces.
[[nodiscard]] std::vector<std::string> OwnAddresses();

/// True for 127.0.0.0/8.
[[nodiscard]] bool IsLoopback(const std::string& ip);

/// Source address of packets to `ip`; empty if there is no route. Nothing is sent.
[[nodiscard]] std::string SourceAddressTo(const std::string& ip);

/// Name of this machine.
[[nodiscard]] std::string HostName();

/// True if a listener could take the port at `ip` now.
[[nodiscard]] bool PortIsFree(const std::string& ip, std::int64_t port);

/// A port at `ip` that is free now, chosen by the system; 0 if there is none.
[[nodiscard]] std::int64_t AnyFreePort(const std::string& ip);

}  // namespace drydock::launcher
