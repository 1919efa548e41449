#include "launcher/run/network.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

/// An address with its port, of either family.
struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

/// "10.0.0.1", "fe80::1%eth0"
std::string TextOf(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text = {};
  const socklen_t length =
      address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
}

SocketAddress AddressOf(const std::string& ip, std::int64_t port) {
  addrinfo wanted = {};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  SocketAddress address;
  if (::getaddrinfo(ip.c_str(), std::to_string(port).c_str(), &wanted, &found) == 0) {
    std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
    address.length = found->ai_addrlen;
    ::freeaddrinfo(found);
  }
  return address;
}

/// A socket bound like a listener's; negative if that is not possible.
int BoundSocket(const std::string& ip, std::int64_t port) {
  const SocketAddress address = AddressOf(ip, port);
  const int fd = ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  if (fd >= 0 && (::bind(fd, address.get(), address.length) != 0 || ::listen(fd, 1) != 0)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

/// Local address of a socket.
SocketAddress NameOf(int fd) {
  SocketAddress own;
  own.length = sizeof(own.bytes);
  if (::getsockname(fd, own.get(), &own.length) != 0) {
    own.length = 0;
  }
  return own;
}

/// Addresses of one family; empty with a reason of getaddrinfo in `failure`.
std::vector<std::string> Lookup(const std::string& name, int family, int& failure) {
  addrinfo wanted = {};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> addresses;
  failure = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (failure != 0) {
    return addresses;
  }
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const std::string text = TextOf(entry->ai_addr);
    if (std::ranges::find(addresses, text) == addresses.end()) {
      addresses.push_back(text);
    }
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace

Result<std::vector<std::string>> ResolveHost(const std::string& name) {
  const bool bracketed = name.size() > 2 && name.front() == '[' && name.back() == ']';
  const std::string bare = bracketed ? name.substr(1, name.size() - 2) : name;
  int failure = 0;
  std::vector<std::string> addresses = Lookup(bare, AF_INET, failure);
  if (addresses.empty()) {
    int ipv6_failure = 0;
    addresses = Lookup(bare, AF_INET6, ipv6_failure);
    failure = IsIpv6(bare) ? ipv6_failure : failure;
  }
  if (addresses.empty()) {
    return FailCommand(FailureCode::kResolve, "'" + name + "': " + ::gai_strerror(failure),
                       "check --master_addr, or give an address");
  }
  return addresses;
}

bool IsIpv6(const std::string& ip) {
  return ip.find(':') != std::string::npos;
}

bool IsOfOneMachine(const std::string& ip) {
  const SocketAddress address = AddressOf(ip, 0);
  if (address.bytes.ss_family == AF_INET) {
    sockaddr_in four = {};
    std::memcpy(&four, &address.bytes, sizeof(four));
    const in_addr_t host = ntohl(four.sin_addr.s_addr);
    return host != INADDR_ANY && host != INADDR_BROADCAST && !IN_MULTICAST(host);
  }
  sockaddr_in6 six = {};
  std::memcpy(&six, &address.bytes, sizeof(six));
  return address.length > 0 && !IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) &&
         !IN6_IS_ADDR_MULTICAST(&six.sin6_addr);
}

std::string HostAndPort(const std::string& ip, std::int64_t port) {
  return (IsIpv6(ip) ? "[" + ip + "]:" : ip + ":") + std::to_string(port);
}

std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return addresses;
  }
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr &&
        (entry->ifa_addr->sa_family == AF_INET || entry->ifa_addr->sa_family == AF_INET6)) {
      addresses.push_back(TextOf(entry->ifa_addr));
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

bool IsLoopback(const std::string& ip) {
  return ip.starts_with("127.") || ip == "::1";
}

std::string SourceAddressTo(const std::string& ip) {
  // Any port: connecting a UDP socket sends nothing.
  const SocketAddress target = AddressOf(ip, 9);
  const Descriptor fd(::socket(target.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0 || ::connect(fd.get(), target.get(), target.length) != 0) {
    return "";
  }
  const SocketAddress own = NameOf(fd.get());
  return own.length == 0 ? "" : TextOf(own.get());
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

bool PortIsFree(const std::string& ip, std::int64_t port) {
  const Descriptor fd(BoundSocket(ip, port));
  return fd.get() >= 0;
}

std::int64_t AnyFreePort(const std::string& ip) {
  const Descriptor fd(BoundSocket(ip, 0));
  std::array<char, NI_MAXSERV> port = {};
  const SocketAddress own = fd.get() < 0 ? SocketAddress() : NameOf(fd.get());
  if (own.length == 0 || ::getnameinfo(own.get(), own.length, nullptr, 0, port.data(), port.size(),
                                       NI_NUMERICSERV) != 0) {
    return 0;
  }
  return ReadIntWord(port.data()).value_or(0);
}

}  // namespace drydock::launcher
