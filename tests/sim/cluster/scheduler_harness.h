#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/scheduler_core.h"

namespace drydock::sim {

/// A job of that many workers.
inline SchedulerOptions Job(std::uint32_t workers) {
  SchedulerOptions options;
  options.worker_num = workers;
  return options;
}

/// The same with recovery.
inline SchedulerOptions RecoveryJob(std::uint32_t workers) {
  SchedulerOptions options = Job(workers);
  options.recovery = true;
  return options;
}

/// A reply as a test looks at it.
struct SeenReply {
  std::string name = {};
  std::string body = {};
  friend bool operator==(const SeenReply&, const SeenReply&) = default;
};

/// A scheduler under a manual clock, spoken to in encoded frames.
class SchedulerHarness {
 public:
  explicit SchedulerHarness(const SchedulerOptions& options, const SchedulerSnapshot& snapshot = {})
      : address_(options.address),
        core_(SchedulerCore::Create(options, TimePoint{}, snapshot).value()) {}

  SchedulerCore& core() { return core_; }
  SchedulerOutput& output() { return output_; }
  TimePoint now() const { return now_; }

  /// Moves the clock without ticking.
  void Pass(Duration duration) { now_ += duration; }
  /// Moves the clock and ticks at every deadline on the way, and at the end.
  void Advance(Duration duration) {
    const TimePoint end = now_ + duration;
    for (auto next = core_.NextDeadline(); next && *next <= end; next = core_.NextDeadline()) {
      now_ = std::max(now_, *next);
      core_.OnTick(now_, output_);
    }
    now_ = end;
    core_.OnTick(now_, output_);
  }

  /// Sends a frame whose replies the test reads from output() itself.
  void SendOnly(std::uint64_t peer, std::string_view name, std::string_view body,
                std::string_view peer_address = {}) {
    std::string bytes;
    const std::string to = "@" + address_;
    AppendFrame({.name = name, .to = to, .from = "@", .body = body}, bytes);
    const auto parsed = ParseFrame(AsBytes(bytes), FrameLimits{});
    core_.OnFrame({.peer = static_cast<PeerId>(peer), .address = peer_address}, (*parsed)->frame,
                  now_, output_);
  }

  /// Sends a frame; the reply on that connection, nothing if there is none.
  std::optional<SeenReply> Send(std::uint64_t peer, std::string_view name, std::string_view body,
                                std::string_view peer_address = {}) {
    const std::string to = "@" + address_;
    const std::size_t before = output_.replies.frames().size();
    SendOnly(peer, name, body, peer_address);
    if (output_.replies.frames().size() == before) {
      return std::nullopt;
    }
    EXPECT_EQ(output_.replies.frames().size(), before + 1) << "more than one reply";
    const AddressedFrame& reply = output_.replies.frames().back();
    EXPECT_EQ(static_cast<std::uint64_t>(reply.peer), peer) << "reply to somebody else";
    const auto frame = ParseFrame(AsBytes(output_.replies.BytesOf(reply)), FrameLimits{});
    EXPECT_EQ((*frame)->frame.to, to);
    EXPECT_EQ((*frame)->bytes, reply.bytes);
    return SeenReply{std::string((*frame)->frame.name), std::string((*frame)->frame.body)};
  }

  template <typename Message>
  std::optional<SeenReply> SendMessage(std::uint64_t peer, MessageName name, const Message& message,
                                       std::string_view peer_address = {}) {
    std::string body;
    EncodeBody(message, body);
    return Send(peer, WireName(name), body, peer_address);
  }

  /// Registers and decodes the reply; its text stays valid until the next call.
  RegistrationReply Register(std::uint64_t peer, std::string_view id,
                             std::string_view host_ip = "10.0.0.1",
                             std::string_view host_name = "host") {
    return Register(
        peer, RegistrationRequest{
                  .node_id = id, .host_name = host_name, .role = "MS_WORKER", .host_ip = host_ip});
  }
  RegistrationReply Register(std::uint64_t peer, const RegistrationRequest& request) {
    const auto reply = SendMessage(peer, MessageName::kRegistration, request);
    last_body_ = reply.value().body;
    const auto decoded = DecodeRegistrationReply(last_body_).value();
    EXPECT_EQ(reply->name,
              WireName(decoded.success ? MessageName::kSuccess : MessageName::kInvalidNode));
    return decoded;
  }
  /// The reply to a heartbeat, nothing if there is none.
  std::optional<HeartbeatReply> Heartbeat(std::uint64_t peer, std::string_view id) {
    const auto reply = SendMessage(peer, MessageName::kHeartbeat, HeartbeatRequest{.node_id = id});
    if (!reply) {
      return std::nullopt;
    }
    return DecodeHeartbeatReply(reply->body).value();
  }
  /// Body of the reply to an unregistration: "3", "4" or "5".
  std::string Unregister(std::uint64_t peer, std::string_view id) {
    const auto reply =
        SendMessage(peer, MessageName::kUnregistration, UnregistrationRequest{.node_id = id});
    EXPECT_EQ(reply.value().name, reply->body);
    return reply->body;
  }
  /// Value of a metadata name, nothing on a miss.
  std::optional<std::string> Read(std::string_view name) {
    const auto reply =
        SendMessage(1'000'000, MessageName::kReadMetadata, MetadataMessage{.name = name});
    const auto value = DecodeMetadata(reply.value().body).value().value;
    // 11 is "found" or "none", by the release; a miss carries no value.
    if (reply->name == "12" || (reply->name == "11" && value.empty())) {
      return std::nullopt;
    }
    return std::string(value);
  }
  void Write(std::string_view name, std::string_view value) {
    EXPECT_EQ(SendMessage(1'000'000, MessageName::kWriteMetadata,
                          MetadataMessage{.name = name, .value = value}),
              std::nullopt);
  }
  /// Rank the metadata store names for a worker.
  std::optional<std::string> FinalRank(std::string_view id) {
    return Read("MS_WORKER" + std::string(id));
  }
  /// Number of recorded events of a kind.
  std::size_t Count(SchedulerEventKind kind) const {
    std::size_t count = 0;
    for (const SchedulerEvent& event : output_.events) {
      count += event.kind == kind ? 1 : 0;
    }
    return count;
  }
  /// Text of the last event.
  std::string LastEventText() const { return EventText(output_.events.back()); }

 private:
  std::string address_;
  SchedulerCore core_;
  SchedulerOutput output_;
  TimePoint now_ = {};
  std::string last_body_;
};

}  // namespace drydock::sim
