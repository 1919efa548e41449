#include "sim/cluster/messages/unregistration.h"

#include "sim/cluster/messages/node_id_body.h"
#include "sim/cluster/proto_wire.h"

namespace drydock::sim {

void EncodeBody(const UnregistrationRequest& message, std::string& out) {
  ProtoWriter(out).Text(1, message.node_id);
}

Result<UnregistrationRequest> DecodeUnregistration(std::string_view body) {
  DRYDOCK_TRY(const std::string_view node_id, DecodeNodeIdBody("unregistration", body));
  return UnregistrationRequest{.node_id = node_id};
}

}  // namespace drydock::sim
