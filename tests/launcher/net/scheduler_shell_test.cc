// Limits of time, with short ones.
#include "launcher/net/scheduler_shell.h"

#include <gtest/gtest.h>

#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/registration.h"
#include "tests/launcher/net/raw_client.h"
#include "tests/launcher/net/shell_server.h"

namespace drydock::launcher {
namespace {

constexpr Duration kShort = std::chrono::milliseconds(50);
constexpr std::string_view kHeader("RPC0\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\x40", 20);

ShellLimits ShortLimits() {
  ShellLimits limits = LimitsFor(1);
  limits.header_time = kShort;
  limits.handshake_time = kShort;
  return limits;
}

/// Registers worker 0 on a connection that was silent until now.
void ExpectServed(RawClient& client) {
  client.SendMessage(
      "0", sim::RegistrationRequest{.node_id = "0", .host_name = "h", .role = "MS_WORKER"});
  const auto reply = client.Receive();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(sim::DecodeRegistrationReply(reply->body)->success);
}

// A worker says nothing on its second connection until it needs it.
TEST(SchedulerShell, HalfAHeaderIsGivenItsTimeAndSilenceAllTime_R11) {
  const ShellServer server(ShortLimits());
  RawClient silent(server.endpoint());  // older than the other one
  RawClient slow(server.endpoint());
  EXPECT_TRUE(slow.Send(kHeader.substr(0, 19)));
  EXPECT_TRUE(slow.IsClosed());
  ExpectServed(silent);
}

TEST(SchedulerShell, AFrameThatIsTooSlowIsClosed_R11) {
  ShellLimits limits = ShortLimits();
  limits.header_time = kPatience;
  limits.frame_time = kShort;
  const ShellServer server(limits);
  RawClient slow(server.endpoint());
  EXPECT_TRUE(slow.Send(kHeader));
  EXPECT_TRUE(slow.IsClosed());
}

TEST(SchedulerShell, RepliesOfAllPeersThatAreNotReadAreLimited_G12) {
  ShellLimits limits = ShortLimits();
  limits.all_queued_bytes = limits.queued_bytes;
  const ShellServer server(limits);
  RawClient peer(server.endpoint());
  peer.SendMessage("6", sim::MetadataMessage{"k", std::string(std::size_t{24} << 20U, 'v')});
  peer.SendMessage("7", sim::MetadataMessage{"k", ""});  // more than the system takes at once
  EXPECT_FALSE(peer.Receive().has_value());
}

TEST(SchedulerShell, LimitsOfTimeAreThoseOfTheSpecification_R11_R46) {
  const ShellLimits limits = LimitsFor(64);
  EXPECT_EQ(limits.header_time, std::chrono::seconds(10));
  EXPECT_EQ(limits.frame_time, std::chrono::seconds(60));
  EXPECT_EQ(limits.handshake_time, std::chrono::seconds(10));
  EXPECT_EQ(limits.connections, 8U * 64 + 64);
}

}  // namespace
}  // namespace drydock::launcher
