#include "sim/cluster/messages/host_names.h"

#include <nlohmann/json.hpp>

#include "base/byte_reader.h"

namespace drydock::sim {
namespace {

constexpr std::string_view kKey = "hostnames";

void AppendQuoted(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (byte >= 0x20) {
      out += c;
    } else {
      constexpr std::string_view kShort = "\b\f\n\r\t";
      constexpr std::string_view kLetters = "bfnrt";
      const std::size_t known = kShort.find(c);
      if (known != std::string_view::npos) {
        out.append({'\\', kLetters[known]});
      } else {
        out.append("\\u00").append({kHex[byte >> 4U], kHex[byte & 0xFU]});
      }
    }
  }
  out += '"';
}

}  // namespace

std::string EncodeHostNames(const std::vector<std::string_view>& names) {
  std::string text = "{\"" + std::string(kKey) + "\":[";
  for (const std::string_view name : names) {
    if (text.back() != '[') {
      text += ',';
    }
    AppendQuoted(name, text);
  }
  return text + "]}";
}

Result<std::vector<std::string>> DecodeHostNames(std::string_view body) {
  const auto bad = [] { return Fail(ErrorCode::kProtocol, "body is not a list of host names"); };
  const nlohmann::json document = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains(kKey) ||
      !document[std::string(kKey)].is_array()) {
    return bad();
  }
  std::vector<std::string> names;
  for (const nlohmann::json& name : document[std::string(kKey)]) {
    if (!name.is_string()) {
      return bad();
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace drydock::sim
