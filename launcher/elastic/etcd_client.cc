// A client for what an elastic job asks etcd for. HTTP/1.0: the server closes the connection behind
// its answer and does not cut it into chunks, so an answer is all that arrives until then.
// Keys and values are base64 in the JSON, numbers of 64 bits are texts.

#include "launcher/elastic/etcd_client.h"

#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;
constexpr timeval kPatience = {.tv_sec = 2, .tv_usec = 0};
constexpr std::chrono::seconds kWholePatience{5};

tl::unexpected<Error> FailAnswer(std::string_view what) {
  return Fail(ErrorCode::kProtocol, "not an answer of etcd: " + std::string(what));
}

std::string Encode(std::string_view text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

std::optional<std::string> Decode(std::string_view text) {
  std::string decoded(3 * (text.size() / 4 + 1), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0 || text.size() % 4 != 0) {
    return std::nullopt;
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  decoded.resize(static_cast<std::size_t>(size) -
                 std::min(padding, static_cast<std::size_t>(size)));
  return decoded;
}

/// A member that is a text with a number of 64 bits; 0 where it is left out.
std::int64_t Number(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string()
             ? ReadIntWord(it->get_ref<const std::string&>()).value_or(0)
             : 0;
}

std::string Text(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// Behind every key that begins with "KEY/".
std::string TreeEnd(const std::string& key) {
  return key + static_cast<char>('/' + 1);
}

tl::unexpected<Error> FailReach(const std::string& endpoint, const std::string& why) {
  return FailCommand("ETCD_UNREACHABLE", "etcd at " + endpoint + ": " + why,
                     "check --elastic_server, and that etcd runs there (etcdctl endpoint health)");
}

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

/// Sends all and takes all that comes until the other side closes; the reason in `why` if not.
std::string Exchange(int fd, std::string_view request, std::string& why) {
  while (!request.empty()) {
    const ssize_t sent = ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
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
    const ssize_t count = ::recv(fd, block.data(), block.size(), 0);
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

}  // namespace

Result<std::string> HttpBody(std::string_view answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || answer.size() < 12 || head == std::string_view::npos) {
    return FailAnswer("'" + OneLine(answer, 40) + "' is not HTTP");
  }
  const std::string_view status = answer.substr(9, 3);
  const std::string_view body = answer.substr(head + 4);
  if (status != "200") {
    const Json said = Json::parse(body, nullptr, false);
    const std::string reason = said.is_object() ? Text(said, "error") : std::string();
    return FailAnswer("status " + OneLine(status) +
                      (reason.empty() ? std::string() : ": " + OneLine(reason, 200)));
  }
  return std::string(body);
}

Result<std::vector<EtcdEntry>> ParseRange(std::string_view text) {
  const Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object()) {
    return FailAnswer("no JSON object");
  }
  std::vector<EtcdEntry> entries;
  const auto list = answer.find("kvs");
  if (list == answer.end()) {
    return entries;
  }
  if (!list->is_array()) {
    return FailAnswer("'kvs' is not a list");
  }
  for (const Json& item : *list) {
    const auto key = item.is_object() ? Decode(Text(item, "key")) : std::nullopt;
    const auto value = item.is_object() ? Decode(Text(item, "value")) : std::nullopt;
    if (!key || !value) {
      return FailAnswer("a key or a value is not base64");
    }
    entries.push_back({.key = *key,
                       .value = *value,
                       .created = Number(item, "create_revision"),
                       .modified = Number(item, "mod_revision"),
                       .lease = Number(item, "lease")});
  }
  return entries;
}

Result<std::string> EtcdClient::Call(const std::string& path, const std::string& body) const {
  const std::size_t colon = endpoint_.rfind(':');
  std::string host = endpoint_.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  std::string why;
  const Descriptor connection(Connect(host, endpoint_.substr(colon + 1), why));
  if (connection.get() < 0) {
    return FailReach(endpoint_, why);
  }
  const std::string answer = Exchange(connection.get(),
                                      "POST /v3/" + path + " HTTP/1.0\r\nHost: " + endpoint_ +
                                          "\r\nContent-Type: application/json\r\nContent-Length: " +
                                          std::to_string(body.size()) + "\r\n\r\n" + body,
                                      why);
  if (!why.empty()) {
    return FailReach(endpoint_, why);
  }
  auto content = HttpBody(answer);
  return content ? content : FailReach(endpoint_, content.error().message);
}

Result<std::vector<EtcdEntry>> EtcdClient::Tree(const std::string& key) const {
  const Json request = {{"key", Encode(key)}, {"range_end", Encode(TreeEnd(key))}};
  DRYDOCK_TRY(const std::string answer, Call("kv/range", request.dump()));
  auto entries = ParseRange(answer);
  if (!entries) {
    return FailReach(endpoint_, entries.error().message);
  }
  // Between "job" and "job/" there are others, as "job-2".
  std::erase_if(*entries, [&key](const EtcdEntry& entry) {
    return entry.key != key && !entry.key.starts_with(key + "/");
  });
  return entries;
}

Status EtcdClient::Put(const std::string& key, const std::string& value, std::int64_t lease) const {
  const Json request = {
      {"key", Encode(key)}, {"value", Encode(value)}, {"lease", std::to_string(lease)}};
  const auto answer = Call("kv/put", request.dump());
  return answer ? Status() : tl::unexpected(answer.error());
}

Result<bool> EtcdClient::PutIf(const std::string& key, const std::string& value,
                               std::int64_t modified) const {
  const Json compare = {{"key", Encode(key)},
                        {"target", "MOD"},
                        {"result", "EQUAL"},
                        {"mod_revision", std::to_string(modified)}};
  const Json put = {{"requestPut", {{"key", Encode(key)}, {"value", Encode(value)}}}};
  const Json request = {{"compare", {compare}}, {"success", {put}}};
  DRYDOCK_TRY(const std::string answer, Call("kv/txn", request.dump()));
  const Json said = Json::parse(answer, nullptr, false);
  return said.is_object() && said.value("succeeded", Json()) == Json(true);
}

Status EtcdClient::Delete(const std::string& key) const {
  const auto answer = Call("kv/deleterange", Json{{"key", Encode(key)}}.dump());
  return answer ? Status() : tl::unexpected(answer.error());
}

Status EtcdClient::DeleteTree(const std::string& key) const {
  const std::string below = key + "/";
  const Json request = {{"key", Encode(below)}, {"range_end", Encode(TreeEnd(key))}};
  const auto answer = Call("kv/deleterange", request.dump());
  return answer ? Delete(key) : tl::unexpected(answer.error());
}

Result<std::int64_t> EtcdClient::GrantLease(std::int64_t seconds) const {
  DRYDOCK_TRY(const std::string answer,
              Call("lease/grant", Json{{"TTL", std::to_string(seconds)}}.dump()));
  const Json said = Json::parse(answer, nullptr, false);
  const std::int64_t lease = said.is_object() ? Number(said, "ID") : 0;
  if (lease == 0) {
    return FailReach(endpoint_, "it grants no lease");
  }
  return lease;
}

Result<bool> EtcdClient::KeepAlive(std::int64_t lease) const {
  DRYDOCK_TRY(const std::string answer,
              Call("lease/keepalive", Json{{"ID", std::to_string(lease)}}.dump()));
  const Json said = Json::parse(answer, nullptr, false);
  const Json result = said.is_object() ? said.value("result", Json::object()) : Json::object();
  return result.is_object() && Number(result, "TTL") > 0;
}

Result<std::int64_t> EtcdClient::SecondsLeft(std::int64_t lease) const {
  DRYDOCK_TRY(const std::string answer,
              Call("lease/timetolive", Json{{"ID", std::to_string(lease)}}.dump()));
  const Json said = Json::parse(answer, nullptr, false);
  return said.is_object() && said.contains("TTL") ? Number(said, "TTL") : -1;
}

Status EtcdClient::Revoke(std::int64_t lease) const {
  const auto answer = Call("lease/revoke", Json{{"ID", std::to_string(lease)}}.dump());
  return answer ? Status() : tl::unexpected(answer.error());
}

}  // namespace drydock::launcher
