#include "sim/cluster/messages/registration.h"

#include "sim/cluster/proto_wire.h"

namespace drydock::sim {
namespace {

constexpr std::string_view kRequest = "registration";
constexpr std::string_view kReply = "registration reply";

/// The string member that field `number` of a request fills.
std::string_view* TextOf(RegistrationRequest& message, std::uint32_t number) {
  switch (number) {
    case 1:
      return &message.node_id;
    case 2:
      return &message.host_name;
    case 3:
      return &message.role;
    case 4:
      return &message.host_ip;
    default:
      return nullptr;
  }
}

}  // namespace

void EncodeBody(const RegistrationRequest& message, std::string& out) {
  ProtoWriter writer(out);
  writer.Text(1, message.node_id);
  writer.Text(2, message.host_name);
  writer.Text(3, message.role);
  writer.Text(4, message.host_ip);
  writer.Number(5, message.device_id);
}

void EncodeBody(const RegistrationReply& message, std::string& out) {
  ProtoWriter writer(out);
  writer.Flag(1, message.success);
  writer.Number(2, message.rank_id);
  writer.Number(3, message.node_num);
  writer.Text(4, message.error_reason);
}

Result<RegistrationRequest> DecodeRegistration(std::string_view body) {
  if (body.size() > kMaxRegistrationBytes) {
    return BadBody(kRequest);
  }
  RegistrationRequest message;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return message;
    }
    std::string_view* const text = TextOf(message, field.number);
    if (text != nullptr && field.kind == ProtoKind::kText) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString(kRequest, field.text));
      *text = field.text;
    } else if (field.IsNumber(5)) {
      message.device_id = static_cast<std::uint32_t>(field.value);
    }
  }
}

Result<RegistrationReply> DecodeRegistrationReply(std::string_view body) {
  RegistrationReply message;
  ProtoReader reader(body);
  for (ProtoField field;;) {
    DRYDOCK_TRY(const bool more, reader.Next(field));
    if (!more) {
      return message;
    }
    if (field.IsNumber(1)) {
      message.success = field.value != 0;
    } else if (field.IsNumber(2)) {
      message.rank_id = static_cast<std::uint32_t>(field.value);
    } else if (field.IsNumber(3)) {
      message.node_num = static_cast<std::uint32_t>(field.value);
    } else if (field.IsText(4)) {
      DRYDOCK_RETURN_IF_ERROR(CheckProtoString(kReply, field.text));
      message.error_reason = field.text;
    }
  }
}

}  // namespace drydock::sim
