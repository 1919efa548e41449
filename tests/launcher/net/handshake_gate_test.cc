#include "launcher/net/handshake_gate.h"

#include <string>

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

constexpr TimePoint kStart{std::chrono::seconds(7)};
constexpr Duration kAllowed = std::chrono::milliseconds(100);
constexpr Duration kTick = std::chrono::microseconds(1);

class HandshakeGateTest : public testing::Test {
 protected:
  HandshakeGate::Ticket Enter(char name) {
    return gate_.Enter([this, name] { began_ += name; });
  }
  HandshakeGate gate_{2, kAllowed};
  std::string began_;
};

TEST_F(HandshakeGateTest, NewcomersWaitInOrderUntilSomebodyLeaves) {
  const auto a = Enter('a');
  const auto b = Enter('b');
  (void)Enter('c');
  (void)Enter('d');
  gate_.Serve(kStart);
  EXPECT_EQ(began_, "ab");
  gate_.Leave(b);
  gate_.Serve(kStart);
  EXPECT_EQ(began_, "abc");
  gate_.Leave(a);
  gate_.Serve(kStart);
  EXPECT_EQ(began_, "abcd");
}

TEST_F(HandshakeGateTest, StalledOnesDoNotCountAfterTheTimeAllowed) {
  (void)Enter('a');
  (void)Enter('b');
  (void)Enter('c');
  gate_.Serve(kStart);
  EXPECT_EQ(gate_.NextDeadline(), kStart + kAllowed);
  gate_.Serve(kStart + kAllowed - kTick);
  EXPECT_EQ(began_, "ab");
  gate_.Serve(kStart + kAllowed);
  EXPECT_EQ(began_, "abc");
}

TEST_F(HandshakeGateTest, WhoGaveUpWaitingIsNeverBegun) {
  (void)Enter('a');
  (void)Enter('b');
  const auto c = Enter('c');
  (void)Enter('d');
  gate_.Serve(kStart);
  gate_.Leave(c);
  gate_.Serve(kStart + kAllowed);
  EXPECT_EQ(began_, "abd");
}

TEST_F(HandshakeGateTest, NothingIsDueWhileNobodyWaits) {
  EXPECT_EQ(gate_.NextDeadline(), kNever);
  (void)Enter('a');
  gate_.Serve(kStart);
  EXPECT_EQ(gate_.NextDeadline(), kNever);
}

TEST_F(HandshakeGateTest, OneThatEndsAtOnceMakesRoomForTheNext) {
  HandshakeGate::Ticket first = 0;
  first = gate_.Enter([&] { gate_.Leave(first); });
  (void)Enter('b');
  (void)Enter('c');
  gate_.Serve(kStart);
  EXPECT_EQ(began_, "bc");
}

}  // namespace
}  // namespace drydock::launcher
