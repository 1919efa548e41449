#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/document/json_reader.h"

namespace drydock::sim {

/// What a profiler says of a collective, wherever it says it; texts and -1 where it does not.
struct TraceCollective {
  std::string name = {};  ///< "allreduce", "_allgather_base"; empty: no collective.
  std::string dtype = {};
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
  std::vector<std::int64_t> ranks = {};  ///< Of the group.
  std::string link = {};                 ///< Ascend: "HCCS", "PCIe", "RoCE" of one transfer ...
  double link_bytes = 0;                 ///< ... and its size.
};

/// An event of a trace, as far as it matters.
struct TraceEvent {
  double begin = 0;  ///< Microseconds.
  double length = 0;
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::string name = {};
  std::int64_t external_id = -1;
  std::vector<std::vector<std::int64_t>> shapes = {};
  std::vector<std::string> types = {};
  std::vector<std::string> values = {};  ///< Of operands that are no tensors ("True"), as texts.
  bool device = false;                   ///< A kernel, or a transfer of the device.
  TraceCollective collective = {};
};

/// A trace: events, and flows from where a kernel was launched to where it begins.
struct Trace {
  std::vector<TraceEvent> events = {};
  std::map<std::string, std::pair<TraceEvent, TraceEvent>> flows = {};
};

/// Reads Chrome's trace events as MindSpore's and PyTorch's profilers write them.
/// @error kInvalidArgument  no trace
[[nodiscard]] Result<Trace> ReadTrace(strategies::JsonView document);

}  // namespace drydock::sim
