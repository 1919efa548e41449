#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

/// Addresses of a host name or literal, each once: its IPv4 ones in the resolver's order, or its
/// IPv6 ones if it has no other. Brackets around IPv6 may be given and are dropped.
/// @error RESOLVE  unknown name
[[nodiscard]] Result<std::vector<std::string>> ResolveHost(const std::string& name);

/// True for an IPv6 literal.
[[nodiscard]] bool IsIpv6(const std::string& ip);

/// True for an address that one machine can have: not 0.0.0.0, ::, a multicast or broadcast one.
[[nodiscard]] bool IsOfOneMachine(const std::string& ip);

/// "10.0.0.1:8118", "[::1]:8118"
[[nodiscard]] std::string HostAndPort(const std::string& ip, std::int64_t port);

/// Addresses of this machine's interfaces.
[[nodiscard]] std::vector<std::string> OwnAddresses();

/// True for 127.0.0.0/8 and ::1.
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
