// A client for what an elastic job asks etcd for. HTTP/1.0: the server closes the connection behind
// its answer and does not cut it into chunks, so an answer is all that arrives until then.
// Keys and values are base64 in the JSON, numbers of 64 bits are texts.

#include "launcher/elastic/etcd_client.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNotHttp = "is not HTTP";
/// HTTP status of a token that is no longer valid.
constexpr std::string_view kUnknownToken = "401";

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

/// An etcd that answers, but does not let us in, will not do so the next second either.
tl::unexpected<Error> FailReach(const std::string& endpoint, const std::string& why) {
  const auto says = [&why](std::string_view text) { return why.find(text) != std::string::npos; };
  const std::string text = "etcd at " + endpoint + ": " + why;
  if (says("user name is empty") || says("authentication failed") || says("permission denied")) {
    return FailCommand(FailureCode::kEtcdRefused, text,
                       "set ETCDCTL_USER=name:password as for etcdctl");
  }
  if (says("status 400") || says(kNotHttp) || says("its certificate: ") || says("alert")) {
    return FailCommand(FailureCode::kEtcdRefused, text,
                       "where etcd asks for TLS: --elastic_server=https://" + endpoint +
                           ", and ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY as for etcdctl");
  }
  return FailCommand(FailureCode::kEtcdUnreachable, text,
                     "check --elastic_server, and that etcd runs there (etcdctl endpoint health)");
}

}  // namespace

Result<std::string> HttpBody(std::string_view answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || answer.size() < 12 || head == std::string_view::npos) {
    return FailAnswer("'" + OneLine(answer, 40) + "' " + std::string(kNotHttp));
  }
  const std::string_view status = answer.substr(9, 3);
  const std::string_view body = answer.substr(head + 4);
  if (status != "200") {
    const Json said = Json::parse(body, nullptr, false);
    const std::string reason = said.is_object() ? Text(said, "error") : std::string();
    Error error = FailAnswer("status " + OneLine(status) +
                             (reason.empty() ? std::string() : ": " + OneLine(reason, 200)))
                      .value();
    if (status == kUnknownToken) {
      error.cause = PeerCause::kUnknownToken;
    }
    return tl::unexpected(std::move(error));
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

Result<EtcdClient> EtcdClient::Open(const EtcdAccess& access) {
  EtcdClient client;
  const bool has_colons = access.host.find(':') != std::string::npos;
  client.endpoint_ = (has_colons ? "[" + access.host + "]" : access.host) + ":" + access.port;
  client.user_ = access.user;
  client.password_ = access.password;
  DRYDOCK_TRY(client.link_, EtcdLink::Make(access));
  return client;
}

Result<std::string> EtcdClient::Post(const std::string& path, const std::string& body) const {
  std::string request =
      "POST /v3/" + path + " HTTP/1.0\r\nHost: " + endpoint_ +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n";
  if (!token_.empty()) {
    request += "Authorization: " + token_ + "\r\n";
  }
  DRYDOCK_TRY(const std::string answer, link_.Exchange(request + "\r\n" + body));
  return HttpBody(answer);
}

/// A token for the user, which etcd forgets after some minutes without use.
Status EtcdClient::Authenticate() const {
  token_.clear();
  const std::string body = Json({{"name", user_}, {"password", password_}})
                               .dump(-1, ' ', false, Json::error_handler_t::replace);
  DRYDOCK_TRY(const std::string answer, Post("auth/authenticate", body));
  const Json said = Json::parse(answer, nullptr, false);
  const std::string token = said.is_object() ? Text(said, "token") : std::string();
  if (token.empty() || token.find_first_of("\r\n") != std::string::npos) {
    return FailAnswer("no token for user '" + OneLine(user_, 80) + "'");
  }
  token_ = token;
  return {};
}

Result<std::string> EtcdClient::Call(const std::string& path, const std::string& body) const {
  Status known;
  if (!user_.empty() && token_.empty()) {
    known = Authenticate();
  }
  Result<std::string> answer =
      known ? Post(path, body) : Result<std::string>(tl::unexpected(known.error()));
  if (!answer && !token_.empty() && IsCausedBy(answer.error(), PeerCause::kUnknownToken)) {
    known = Authenticate();
    answer = known ? Post(path, body) : Result<std::string>(tl::unexpected(known.error()));
  }
  return answer ? answer : FailReach(endpoint_, answer.error().message);
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
