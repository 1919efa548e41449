#include "sim/cluster/messages/node_port_ranges.h"

#include <map>

#include "sim/cluster/proto_wire.h"

namespace drydock::sim {
namespace {

/// Merges a PortRange body into `range`: of a repeated field the last occurrence counts.
Status MergeRange(std::string_view body, NodePortRange& range) {
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return {};
    }
    if (field.IsNumber(1)) {
      range.min_port = static_cast<std::uint32_t>(field.value);
    } else if (field.IsNumber(2)) {
      range.max_port = static_cast<std::uint32_t>(field.value);
    }
  }
}

Result<NodePortRange> DecodeEntry(std::string_view body) {
  NodePortRange entry;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return entry;
    }
    if (field.IsText(1)) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString("port range", field.text));
      entry.node_id = field.text;
    } else if (field.IsText(2)) {
      DRYDOCK_RETURN_IF_ERROR(MergeRange(field.text, entry));
    }
  }
}

}  // namespace

void EncodeNodePortRanges(const std::vector<NodePortRange>& ranges, std::string& out) {
  std::string entry;
  std::string range_body;
  for (const NodePortRange& range : ranges) {
    range_body.clear();
    ProtoWriter range_writer(range_body);
    range_writer.Number(1, range.min_port);
    range_writer.Number(2, range.max_port);
    entry.clear();
    ProtoWriter entry_writer(entry);
    entry_writer.Message(1, range.node_id);
    entry_writer.Message(2, range_body);
    ProtoWriter(out).Message(1, entry);
  }
}

Result<std::vector<NodePortRange>> DecodeNodePortRanges(std::string_view body) {
  std::map<std::string_view, NodePortRange> by_id;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      break;
    }
    if (field.IsText(1)) {
      DRYDOCK_TRY(const NodePortRange entry, DecodeEntry(field.text));
      by_id[entry.node_id] = entry;
    }
  }
  std::vector<NodePortRange> ranges;
  for (const auto& [node_id, range] : by_id) {
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace drydock::sim
