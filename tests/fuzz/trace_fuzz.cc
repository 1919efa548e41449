// Requests of the graph recorder from anywhere, one a line ("add_node {...}"): each is answered by
// a JSON object, and what was recorded can be written as a document. Run: trace_fuzz
// tests/fuzz/corpus/trace
//
// Compiling and resharding are left out: strategy_fuzz compiles.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/tracer/trace_session.h"
#include "strategies/document/json_reader.h"

namespace {

using drydock::sim::TraceSession;
using drydock::strategies::JsonKind;
using drydock::strategies::JsonReader;

drydock::Status DropText(const std::string& /*path*/, std::string_view text) {
  DRYDOCK_CHECK(JsonReader::Parse(text, "document").has_value());
  return {};
}

void Ask(TraceSession& session, std::string_view method, std::string_view request) {
  const std::string answer = session.Call(method, request);
  const auto json = JsonReader::Parse(answer, "answer");
  DRYDOCK_CHECK(json.has_value());
  DRYDOCK_CHECK(json->root().kind() == JsonKind::kObject);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  TraceSession session(nullptr, &DropText);
  Ask(session, "begin", R"({"job":{"world_size":8,"mode":"semi_auto_parallel"}})");
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view method = line.substr(0, blank);
    if (method != "compile" && method != "reshard" && method != "operators") {
      Ask(session, method, line.substr(std::min(blank + 1, line.size())));
    }
  }
  return 0;
}
