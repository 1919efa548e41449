#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::sim {

/// Metadata key under which workers of MindSpore 2.4.1 and older look for their ports.
inline constexpr std::string_view kNodePortRangeKey = "node_port_range";

/// Ports one worker may listen on, both ends included. `node_id` is a view.
struct NodePortRange {
  std::string_view node_id = {};
  std::uint32_t min_port = 0;
  std::uint32_t max_port = 0;
  friend bool operator==(const NodePortRange&, const NodePortRange&) = default;
};

/// Appends a protobuf map node_id -> range to `out`, in the order given.
void EncodeNodePortRanges(const std::vector<NodePortRange>& ranges, std::string& out);

/// Entries as they stand in the body; where an id occurs twice the last one counts and is the only
/// one returned. Sorted by id. @error kProtocol  malformed or not UTF-8
[[nodiscard]] Result<std::vector<NodePortRange>> DecodeNodePortRanges(std::string_view body);

}  // namespace drydock::sim
