#include "sim/cluster/messages/metadata.h"

#include "sim/cluster/proto_wire.h"

namespace drydock::sim {

void EncodeBody(const MetadataMessage& message, std::string& out) {
  ProtoWriter writer(out);
  writer.Text(1, message.name);
  writer.Text(2, message.value);
}

Result<MetadataMessage> DecodeMetadata(std::string_view body) {
  MetadataMessage message;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return message;
    }
    if (field.IsText(1)) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString("metadata", field.text));
      message.name = field.text;
    } else if (field.IsText(2)) {
      message.value = field.text;
    }
  }
}

}  // namespace drydock::sim
