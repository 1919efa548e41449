// The hand-written codec against the one protobuf generates from sim/cluster/topology.proto: equal
// bytes when encoding, equal verdict and equal fields when decoding, on random and on damaged
// bodies.
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/node_port_ranges.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/topology.pb.h"

namespace drydock::sim {
namespace {

constexpr int kRounds = 4000;

/// Random message parts; the seed is printed by every test that uses one.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::uint32_t Below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  std::uint32_t Number() {
    const std::uint32_t bits = Below(33);
    return bits == 0 ? 0 : static_cast<std::uint32_t>(random_()) >> (32U - bits);
  }
  std::string Text() {
    static const std::vector<std::string> kPieces = {"a",
                                                     "0",
                                                     "worker",
                                                     "-",
                                                     "\xc3\xa9",
                                                     "\xe2\x82\xac",
                                                     "\xf0\x9f\x9a\xa2",
                                                     std::string(1, '\0')};
    std::string text;
    const std::uint32_t pieces = Below(4) == 0 ? 0 : Below(40);
    for (std::uint32_t i = 0; i < pieces; ++i) {
      text += kPieces[Below(static_cast<std::uint32_t>(kPieces.size()))];
    }
    return text;
  }
  /// Changes, removes, inserts or repeats a few bytes.
  std::string Damage(std::string body) {
    const std::uint32_t changes = 1 + Below(4);
    for (std::uint32_t i = 0; i < changes; ++i) {
      const auto at = static_cast<std::size_t>(Below(static_cast<std::uint32_t>(body.size()) + 1));
      switch (Below(4)) {
        case 0:
          body.insert(at, 1, static_cast<char>(Below(256)));
          break;
        case 1:
          body.erase(at, 1 + Below(3));
          break;
        case 2:
          body += body.substr(at);
          break;
        default:
          if (at < body.size()) {
            body[at] = static_cast<char>(Below(256));
          }
      }
    }
    return body;
  }

 private:
  std::mt19937_64 random_;
};

std::string Encoded(const auto& message) {
  std::string body;
  EncodeBody(message, body);
  return body;
}

// Ours and protobuf's view of one message type: Fill makes a random protobuf message; Ours converts
// it (views into it); Decode is our decoder.

struct RegistrationCase {
  using Proto = topology::RegistrationMessage;
  static void Fill(Generator& g, Proto& p) {
    p.set_node_id(g.Text());
    p.set_host_name(g.Text());
    p.set_role(g.Text());
    p.set_host_ip(g.Text());
    p.set_device_id(g.Number());
  }
  static RegistrationRequest Ours(const Proto& p) {
    return {p.node_id(), p.host_name(), p.role(), p.host_ip(), p.device_id()};
  }
  static auto Decode(std::string_view body) { return DecodeRegistration(body); }
};

struct RegistrationReplyCase {
  using Proto = topology::RegistrationRespMessage;
  static void Fill(Generator& g, Proto& p) {
    p.set_success(g.Below(2) == 1);
    p.set_rank_id(g.Number());
    p.set_node_num(g.Number());
    p.set_error_reason(g.Text());
  }
  static RegistrationReply Ours(const Proto& p) {
    return {p.success(), p.rank_id(), p.node_num(), p.error_reason()};
  }
  static auto Decode(std::string_view body) { return DecodeRegistrationReply(body); }
};

struct UnregistrationCase {
  using Proto = topology::UnregistrationMessage;
  static void Fill(Generator& g, Proto& p) { p.set_node_id(g.Text()); }
  static UnregistrationRequest Ours(const Proto& p) { return {p.node_id()}; }
  static auto Decode(std::string_view body) { return DecodeUnregistration(body); }
};

struct HeartbeatCase {
  using Proto = topology::HeartbeatMessage;
  static void Fill(Generator& g, Proto& p) { p.set_node_id(g.Text()); }
  static HeartbeatRequest Ours(const Proto& p) { return {p.node_id()}; }
  static auto Decode(std::string_view body) { return DecodeHeartbeat(body); }
};

struct HeartbeatReplyCase {
  using Proto = topology::HeartbeatRespMessage;
  static void Fill(Generator& g, Proto& p) {
    p.set_success(g.Below(2) == 1);
    p.set_topo_state(g.Number());
    p.set_nodes_num(g.Number());
    p.set_abnormal_nodes_num(g.Number());
  }
  static HeartbeatReply Ours(const Proto& p) {
    return {p.success(), p.topo_state(), p.nodes_num(), p.abnormal_nodes_num()};
  }
  static auto Decode(std::string_view body) { return DecodeHeartbeatReply(body); }
};

struct MetadataCase {
  using Proto = topology::MetadataMessage;
  static void Fill(Generator& g, Proto& p) {
    p.set_name(g.Text());
    p.set_value(g.Damage(g.Text()));
  }
  static MetadataMessage Ours(const Proto& p) { return {p.name(), p.value()}; }
  static auto Decode(std::string_view body) { return DecodeMetadata(body); }
};

template <typename Case>
class Codec : public testing::Test {};
using Cases = testing::Types<RegistrationCase, RegistrationReplyCase, UnregistrationCase,
                             HeartbeatCase, HeartbeatReplyCase, MetadataCase>;
TYPED_TEST_SUITE(Codec, Cases);

TYPED_TEST(Codec, EncodesTheSameBytesAsProtobufAndReadsThemBack) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Generator generator(seed);
  for (int round = 0; round < kRounds; ++round) {
    typename TypeParam::Proto proto;
    TypeParam::Fill(generator, proto);
    const auto ours = TypeParam::Ours(proto);
    const std::string body = Encoded(ours);
    ASSERT_EQ(body, proto.SerializeAsString());
    ASSERT_EQ(TypeParam::Decode(body).value(), ours);
  }
}

TYPED_TEST(Codec, JudgesDamagedBodiesAsProtobufDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Generator generator(seed);
  const google::protobuf::LogSilencer silencer;
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    typename TypeParam::Proto source;
    TypeParam::Fill(generator, source);
    const std::string body = generator.Damage(source.SerializeAsString());
    typename TypeParam::Proto proto;
    const bool legal = proto.ParseFromString(body);
    const auto decoded = TypeParam::Decode(body);
    ASSERT_EQ(decoded.has_value(), legal) << "body " << testing::PrintToString(body);
    if (legal) {
      ++accepted;
      ASSERT_EQ(*decoded, TypeParam::Ours(proto)) << "body " << testing::PrintToString(body);
    }
  }
  EXPECT_GT(accepted, kRounds / 100);
  EXPECT_LT(accepted, kRounds);
}

TEST(ProtoReader, SkipsUnknownFieldsOfEveryKindAndBalancedGroups) {
  // Field 1 "a"; field 9 varint 1; field 9 fixed64; field 9 fixed32; group 9 holding field 3 = 1.
  const std::string body = std::string("\x0a\x01\x61\x48\x01\x49", 6) + std::string(8, 'x') +
                           "\x4d" + std::string(4, 'x') + "\x4b\x18\x01\x4c";
  EXPECT_EQ(DecodeHeartbeat(body).value().node_id, "a");
  EXPECT_TRUE(topology::HeartbeatMessage().ParseFromString(body));
  EXPECT_FALSE(DecodeHeartbeat("\x4b\x18\x01\x54").has_value());  // group 9 closed as group 10
  EXPECT_FALSE(DecodeHeartbeat("\x4c").has_value());              // closed but never opened
}

TEST(NodePortRanges, MatchProtobufsMap) {
  // docs/protocol.md: ids 0 and 1 on one host, width 4096 / 2 = 2048 from 8118 on.
  const std::vector<NodePortRange> ranges = {{"0", 8118, 10165}, {"1", 10166, 12213}};
  std::string body;
  EncodeNodePortRanges(ranges, body);
  topology::NodePortRanges proto;
  ASSERT_TRUE(proto.ParseFromString(body));
  EXPECT_EQ(proto.data_size(), 2);
  EXPECT_EQ(proto.data().at("1").min_port(), 10166U);
  EXPECT_EQ(DecodeNodePortRanges(proto.SerializeAsString()).value(), ranges);
}

TEST(NodePortRanges, DamagedBodiesAreJudgedAsProtobufDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Generator generator(seed);
  const google::protobuf::LogSilencer silencer;
  for (int round = 0; round < kRounds; ++round) {
    topology::NodePortRanges source;
    for (std::uint32_t i = generator.Below(4); i > 0; --i) {
      auto& range = (*source.mutable_data())[generator.Text()];
      range.set_min_port(generator.Number());
      range.set_max_port(generator.Number());
    }
    const std::string body = generator.Damage(source.SerializeAsString());
    topology::NodePortRanges proto;
    const bool legal = proto.ParseFromString(body);
    const auto decoded = DecodeNodePortRanges(body);
    ASSERT_EQ(decoded.has_value(), legal) << "body " << testing::PrintToString(body);
    if (legal) {
      std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> expected;
      for (const auto& [id, range] : proto.data()) {
        expected[id] = {range.min_port(), range.max_port()};
      }
      std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> actual;
      for (const NodePortRange& range : *decoded) {
        actual[std::string(range.node_id)] = {range.min_port, range.max_port};
      }
      ASSERT_EQ(actual, expected) << "body " << testing::PrintToString(body);
    }
  }
}

}  // namespace
}  // namespace drydock::sim
