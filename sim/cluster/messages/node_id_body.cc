#include "sim/cluster/messages/node_id_body.h"

#include "sim/cluster/proto_wire.h"

namespace drydock::sim {

Result<std::string_view> DecodeNodeIdBody(std::string_view message, std::string_view body) {
  if (body.size() > kMaxNodeIdBodyBytes) {
    return BadBody(message);
  }
  std::string_view node_id;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return node_id;
    }
    if (field.IsText(1)) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString(message, field.text));
      node_id = field.text;
    }
  }
}

}  // namespace drydock::sim
