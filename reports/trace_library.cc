/// The graph recorder as a library for Python: the C interface over a TraceSession that can write
/// IR dumps.
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "reports/ir_text.h"
#include "sim/tracer/c_api.h"
#include "sim/tracer/document_file.h"
#include "sim/tracer/trace_session.h"

namespace {

constexpr unsigned kInterfaceVersion = 2;
/// Marks live handles, so that a stale or foreign pointer is noticed in most cases.
constexpr std::uint64_t kLive = 0x6472'7964'6f63'6b31;

constexpr const char* kBadHandle =
    R"({"error":{"code":"internal","message":"not a trace handle","hint":"","reason":"trace:handle","notes":[]}})";
constexpr const char* kBadRequest =
    R"({"error":{"code":"internal","message":"a trace request without text","hint":"","reason":"trace:request","notes":[]}})";
constexpr const char* kNoMemory =
    R"({"error":{"code":"internal","message":"out of memory while recording the graph","hint":"","reason":"trace:memory","notes":[]}})";

}  // namespace

struct DrydockTrace {
  std::uint64_t state = kLive;
  drydock::sim::TraceSession session{&drydock::reports::ScriptDumps,
                                     &drydock::sim::WriteDocumentFile};
  std::string answer = {};
};

unsigned drydock_trace_version() {
  return kInterfaceVersion;
}

DrydockTrace* drydock_trace_open() {
  return new (std::nothrow) DrydockTrace;
}

void drydock_trace_close(DrydockTrace* trace) {
  if (trace == nullptr || trace->state != kLive) {
    return;
  }
  trace->state = 0;
  delete trace;
}

const char* drydock_trace_call(DrydockTrace* trace, const char* method, const char* request,
                               size_t length) {
  if (trace == nullptr || trace->state != kLive) {
    return kBadHandle;
  }
  if (method == nullptr || (request == nullptr && length != 0)) {
    return kBadRequest;
  }
  try {
    trace->answer = trace->session.Call(method, std::string_view(request, length));
    return trace->answer.c_str();
  } catch (const std::exception&) {
    return kNoMemory;
  }
}
