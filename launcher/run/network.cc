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

namespace drydock::launcher {
namespace {

std::string TextOf(const sockaddr* address) {
  std::array<char, INET_ADDRSTRLEN> text = {};
  sockaddr_in ipv4 = {};
  std::memcpy(&ipv4, address, sizeof(ipv4));
  ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
  return text.data();
}

sockaddr_in SocketAddress(const std::string& ip, std::int64_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  return address;
}

/// A socket bound like a listener's; negative if that is not possible.
int BoundSocket(const std::string& ip, std::int64_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  const sockaddr_in address = SocketAddress(ip, port);
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  if (fd >= 0 && (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
                  ::listen(fd, 1) != 0)) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

Result<std::vector<std::string>> ResolveHost(const std::string& name) {
  in6_addr ipv6 = {};
  const std::string bare =
      name.size() > 2 && name.front() == '[' ? name.substr(1, name.size() - 2) : name;
  if (::inet_pton(AF_INET6, bare.substr(0, bare.find('%')).c_str(), &ipv6) == 1) {
    return FailCommand("IPV6_UNSUPPORTED", "'" + name + "' is an IPv6 address",
                       "msrun's workers meet over IPv4 only: give an IPv4 address or a name");
  }
  addrinfo wanted = {};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found); failure != 0) {
    wanted.ai_family = AF_INET6;
    if (::getaddrinfo(name.c_str(), nullptr, &wanted, &found) == 0) {
      ::freeaddrinfo(found);
      return FailCommand("IPV6_UNSUPPORTED", "'" + name + "' has IPv6 addresses only",
                         "msrun's workers meet over IPv4 only: give an IPv4 address");
    }
    return FailCommand("RESOLVE", "'" + name + "': " + ::gai_strerror(failure),
                       "check --master_addr, or give an address");
  }
  std::vector<std::string> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const std::string text = TextOf(entry->ai_addr);
    if (std::ranges::find(addresses, text) == addresses.end()) {
      addresses.push_back(text);
    }
  }
  ::freeaddrinfo(found);
  return addresses;
}

std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return addresses;
  }
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET) {
      addresses.push_back(TextOf(entry->ifa_addr));
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

bool IsLoopback(const std::string& ip) {
  return ip.starts_with("127.");
}

std::string SourceAddressTo(const std::string& ip) {
  const Descriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in target =
      SocketAddress(ip, 9);  // any port: connecting a UDP socket sends nothing
  sockaddr_in own = {};
  socklen_t length = sizeof(own);
  if (fd.get() < 0 ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return "";
  }
  return TextOf(reinterpret_cast<const sockaddr*>(&own));
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
  sockaddr_in own = {};
  socklen_t length = sizeof(own);
  if (fd.get() < 0 || ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return 0;
  }
  return ntohs(own.sin_port);
}

}  // namespace drydock::launcher
