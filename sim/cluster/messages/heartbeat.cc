#include "sim/cluster/messages/heartbeat.h"

#include "sim/cluster/messages/node_id_body.h"
#include "sim/cluster/proto_wire.h"

namespace drydock::sim {

void EncodeBody(const HeartbeatRequest& message, std::string& out) {
  ProtoWriter(out).Text(1, message.node_id);
}

void EncodeBody(const HeartbeatReply& message, std::string& out) {
  ProtoWriter writer(out);
  writer.Flag(1, message.success);
  writer.Number(2, message.topo_state);
  writer.Number(3, message.nodes_num);
  writer.Number(4, message.abnormal_nodes_num);
}

Result<HeartbeatRequest> DecodeHeartbeat(std::string_view body) {
  DRYDOCK_TRY(const std::string_view node_id, DecodeNodeIdBody("heartbeat", body));
  return HeartbeatRequest{.node_id = node_id};
}

Result<HeartbeatReply> DecodeHeartbeatReply(std::string_view body) {
  HeartbeatReply message;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return message;
    }
    if (field.IsNumber(1)) {
      message.success = field.value != 0;
    } else if (field.IsNumber(2)) {
      message.topo_state = static_cast<std::uint32_t>(field.value);
    } else if (field.IsNumber(3)) {
      message.nodes_num = static_cast<std::uint32_t>(field.value);
    } else if (field.IsNumber(4)) {
      message.abnormal_nodes_num = static_cast<std::uint32_t>(field.value);
    }
  }
}

}  // namespace drydock::sim
