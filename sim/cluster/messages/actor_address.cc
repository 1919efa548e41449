#include "sim/cluster/messages/actor_address.h"

#include "sim/cluster/proto_wire.h"

namespace drydock::sim {

void EncodeBody(const ActorAddress& message, std::string& out) {
  ProtoWriter writer(out);
  writer.Text(1, message.actor_id);
  writer.Text(2, message.ip);
  writer.Number(3, message.port);
  writer.Number(4, message.func_id);
}

Result<ActorAddress> DecodeActorAddress(std::string_view body) {
  ActorAddress message;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return message;
    }
    if (field.IsText(1) || field.IsText(2)) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString("actor address", field.text));
      (field.number == 1 ? message.actor_id : message.ip) = field.text;
    } else if (field.IsNumber(3)) {
      message.port = static_cast<std::uint32_t>(field.value);
    } else if (field.IsNumber(4)) {
      message.func_id = static_cast<std::uint32_t>(field.value);
    }
  }
}

}  // namespace drydock::sim
