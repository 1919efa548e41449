// One request per connection, so nothing is kept between two but the TLS material. The server's
// certificate must be of the configured authority and of the name or address that was asked for.
#include "launcher/elastic/etcd_access.h"

#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/flags.h"
#include "launcher/net/event_loop.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMostMaterialBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;
constexpr timeval kPatience = {.tv_sec = 2, .tv_usec = 0};
constexpr std::chrono::seconds kWholePatience{5};

std::string SystemText(int number) {
  return number == EAGAIN || number == EINPROGRESS
             ? "no answer in time"
             : std::error_code(number, std::generic_category()).message();
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// A connection; the reason in `why` if there is none.
int Connect(const std::string& host, const std::string& port, std::string& why) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
      failure != 0) {
    why = ::gai_strerror(failure);
    return -1;
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    if (fd >= 0 && ::connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      return fd;
    }
    why = SystemText(errno);
    if (fd >= 0) {
      ::close(fd);
    }
  }
  return -1;
}

tl::unexpected<Error> FailServer(std::string_view server) {
  return FailCommand(
      FailureCode::kUsage,
      "argument --elastic_server: '" + OneLine(server, 120) + "' is not one address with a port",
      "write --elastic_server=127.0.0.1:2379, or https://127.0.0.1:2379");
}

std::string VariableOr(const Environment& environment, const char* name) {
  return Variable(environment, name).value_or("");
}

/// User and password, as etcdctl takes them: "name:password" or both apart.
Status TakeUser(const Environment& environment, EtcdAccess& access) {
  access.user = VariableOr(environment, "ETCDCTL_USER");
  access.password = VariableOr(environment, "ETCDCTL_PASSWORD");
  if (const std::size_t colon = access.user.find(':'); colon != std::string::npos) {
    access.password = access.user.substr(colon + 1);
    access.user.resize(colon);
  }
  if (access.user.empty() != access.password.empty()) {
    return FailCommand(FailureCode::kUsage, "of ETCDCTL_USER and ETCDCTL_PASSWORD only one is set",
                       "set ETCDCTL_USER=name:password");
  }
  return {};
}

/// What OpenSSL found wrong, in its own words.
std::string TlsText() {
  const unsigned long number = ERR_get_error();
  ERR_clear_error();
  const char* const text = number == 0 ? nullptr : ERR_reason_error_string(number);
  return text == nullptr ? "TLS failed" : text;
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// A connection, plain or TLS; what fails is in `why`.
class Connection {
 public:
  Connection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}

  /// The handshake; the server must be `host`.
  bool Open(const std::string& host, std::string& why) {
    if (!ssl_) {
      return true;
    }
    const bool named =
        IsIpLiteral(host)
            ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str()) == 1
            : SSL_set1_host(ssl_.get(), host.c_str()) == 1 &&
                  SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1;
    if (!named || SSL_set_fd(ssl_.get(), fd_) != 1 || SSL_connect(ssl_.get()) != 1) {
      const long verdict = SSL_get_verify_result(ssl_.get());
      why = verdict == X509_V_OK
                ? TlsText()
                : std::string("its certificate: ") + X509_verify_cert_error_string(verdict);
      return false;
    }
    return true;
  }
  [[nodiscard]] ssize_t Send(std::string_view bytes) const {
    return ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// 0 at the end, which TLS may have announced or not: an answer tells its length itself.
  [[nodiscard]] ssize_t Receive(std::vector<char>& block) const {
    if (!ssl_) {
      return ::recv(fd_, block.data(), block.size(), 0);
    }
    errno = 0;
    const int count = SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()));
    return count > 0 || errno != 0 ? count : 0;
  }

 private:
  int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

std::string Talk(const Connection& connection, std::string_view request, std::string& why) {
  while (!request.empty()) {
    const ssize_t sent = connection.Send(request);
    if (sent <= 0) {
      why = SystemText(errno);
      return {};
    }
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  const auto end = std::chrono::steady_clock::now() + kWholePatience;
  std::string answer;
  std::vector<char> block(std::size_t{1} << 14U);
  while (true) {
    const ssize_t count = connection.Receive(block);
    if (count == 0) {
      return answer;
    }
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0 || std::chrono::steady_clock::now() > end) {
      why = count < 0 ? SystemText(errno) : "no end of its answer";
      return {};
    }
    answer.append(block.data(), static_cast<std::size_t>(count));
    if (answer.size() > kMostAnswerBytes) {
      why = "its answer is too long";
      return {};
    }
  }
}

tl::unexpected<Error> FailMaterial(const char* variable, const std::string& file) {
  return FailCommand(FailureCode::kTlsMaterial,
                     std::string(variable) + "=" + file + ": " + TlsText(),
                     "give a readable file in PEM form");
}

}  // namespace

Result<EtcdAccess> EtcdAccessOf(std::string_view server, const Environment& environment) {
  EtcdAccess access{.ca_file = VariableOr(environment, "ETCDCTL_CACERT"),
                    .cert_file = VariableOr(environment, "ETCDCTL_CERT"),
                    .key_file = VariableOr(environment, "ETCDCTL_KEY")};
  std::string_view place = server;
  const std::size_t scheme = place.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view name = place.substr(0, scheme);
    if (name != "http" && name != "https") {
      return FailServer(server);
    }
    access.tls = name == "https";
    place.remove_prefix(scheme + 3);
  } else {
    access.tls = !access.ca_file.empty() || !access.cert_file.empty();
  }
  if (place.ends_with('/')) {
    place.remove_suffix(1);
  }
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || place.find_first_of(",/ ") != std::string_view::npos) {
    return FailServer(server);
  }
  access.host = place.substr(0, colon);
  if (access.host.starts_with('[') && access.host.ends_with(']')) {
    access.host = access.host.substr(1, access.host.size() - 2);
  }
  access.port = place.substr(colon + 1);
  const std::int64_t port = ReadIntWord(access.port).value_or(0);
  if (access.host.empty() || port < 1 || port > 65535) {
    return FailServer(server);
  }
  if (access.cert_file.empty() != access.key_file.empty()) {
    return FailCommand(FailureCode::kUsage, "of ETCDCTL_CERT and ETCDCTL_KEY only one is set",
                       "set both");
  }
  DRYDOCK_RETURN_IF_ERROR(TakeUser(environment, access));
  return access;
}

namespace {

/// OpenSSL opens files by itself, and would wait for a named pipe or read /dev/zero for ever.
Status CheckMaterial(const char* variable, const std::string& file) {
  const auto text = file.empty() ? Result<std::string>() : ReadFile(file, kMostMaterialBytes);
  return text ? Status()
              : FailCommand(FailureCode::kTlsMaterial,
                            std::string(variable) + "=" + text.error().message,
                            "give a readable file in PEM form");
}

}  // namespace

Result<EtcdLink> EtcdLink::Make(const EtcdAccess& access) {
  EtcdLink link;
  link.host_ = access.host;
  link.port_ = access.port;
  if (!access.tls) {
    return link;
  }
  DRYDOCK_RETURN_IF_ERROR(CheckMaterial("ETCDCTL_CACERT", access.ca_file));
  DRYDOCK_RETURN_IF_ERROR(CheckMaterial("ETCDCTL_CERT", access.cert_file));
  DRYDOCK_RETURN_IF_ERROR(CheckMaterial("ETCDCTL_KEY", access.key_file));
  ERR_clear_error();
  link.tls_ = std::shared_ptr<SSL_CTX>(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX* const tls = link.tls_.get();
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  const bool has_authority =
      access.ca_file.empty()
          ? SSL_CTX_set_default_verify_paths(tls) == 1
          : SSL_CTX_load_verify_locations(tls, access.ca_file.c_str(), nullptr) == 1;
  if (!has_authority) {
    return FailMaterial("ETCDCTL_CACERT", access.ca_file);
  }
  if (access.cert_file.empty()) {
    return link;
  }
  if (SSL_CTX_use_certificate_chain_file(tls, access.cert_file.c_str()) != 1) {
    return FailMaterial("ETCDCTL_CERT", access.cert_file);
  }
  if (SSL_CTX_use_PrivateKey_file(tls, access.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return FailMaterial("ETCDCTL_KEY", access.key_file);
  }
  return link;
}

Result<std::string> EtcdLink::Exchange(std::string_view request) const {
  std::string why;
  const Descriptor socket(Connect(host_, port_, why));
  if (socket.get() < 0) {
    return Fail(ErrorCode::kIo, why);
  }
  ERR_clear_error();
  Connection connection(socket.get(), tls_ ? SSL_new(tls_.get()) : nullptr);
  if (!connection.Open(host_, why)) {
    return Fail(ErrorCode::kIo, why);
  }
  std::string answer = Talk(connection, request, why);
  return why.empty() ? Result<std::string>(std::move(answer)) : Fail(ErrorCode::kIo, why);
}

}  // namespace drydock::launcher
