#include "launcher/net/scheduler_shell.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/byte_reader.h"
#include "launcher/net/stranger.h"

namespace drydock::launcher {
namespace {

/// How often slow peers and the loop itself are looked at.
constexpr Duration kSweepPeriod = std::chrono::milliseconds(500);
/// A gap this long means that the process was stopped: members could not be heard. Source:
/// docs/robustness.md R-30.
constexpr Duration kStall = std::chrono::milliseconds(2500);
/// At most one line about strangers in this time. Source: docs/robustness.md R-12.
constexpr Duration kStrangerLogPeriod = std::chrono::seconds(1);
/// At most so many connections give way at once.
constexpr std::size_t kVictims = 64;
/// At most so many lines about refusals a second: one connection can ask for thousands.
constexpr std::size_t kRefusalLines = 20;
// Source: docs/protocol.md, docs/robustness.md R-12.
constexpr std::size_t kConnectionsPerMember = 8;
constexpr std::size_t kConnectionsForStrangers = 64;

}  // namespace

ShellLimits LimitsFor(std::uint32_t members) {
  return {.connections = kConnectionsPerMember * members + kConnectionsForStrangers};
}

/// One accepted stream and what has arrived on it.
class SchedulerShell::Connection final : public StreamHandler {
 public:
  Connection(SchedulerShell& shell, std::unique_ptr<TcpStream> accepted, std::uint64_t id,
             TimePoint now)
      : stream(std::move(accepted)),
        decoder({.body_bytes = shell.limits_.body_bytes}),
        peer_id(id),
        accepted_at(now),
        shell_(shell) {}

  void OnOpen(TcpStream& /*stream*/) override { open = true; }
  void OnBytes(TcpStream& /*stream*/, std::span<const std::byte> bytes) override {
    shell_.OnBytes(*this, bytes);
  }
  void OnClosed(TcpStream& /*stream*/, const Error& why) override { shell_.OnEnd(*this, why); }

  [[nodiscard]] sim::PeerId peer() const { return static_cast<sim::PeerId>(peer_id); }
  /// Replies that it has not read.
  [[nodiscard]] std::size_t queued_bytes() const { return stream->queued_bytes() + held.size(); }

  std::unique_ptr<TcpStream> stream;
  sim::FrameDecoder decoder;
  std::uint64_t peer_id;
  TimePoint accepted_at;
  TimePoint frame_began = {};     ///< When the frame under way began.
  std::size_t counted_bytes = 0;  ///< Its bytes in `unfinished_bytes_`.
  bool open = false;              ///< TLS: authenticated.
  bool speaks = false;            ///< Has sent a frame.
  bool is_members = false;        ///< A member speaks on it; set by MakeRoom.
  bool replied = false;           ///< The first reply is on its way or held back.
  std::string held = {};          ///< Replies that wait for the first one.

 private:
  SchedulerShell& shell_;
};

SchedulerShell::SchedulerShell(sim::SchedulerCore core, const ShellLimits& limits, Parts parts)
    : core_(std::move(core)), limits_(limits), parts_(std::move(parts)) {
  alive_at_ = parts_.loop.Now();
  tick_timer_ = parts_.loop.MakeTimer([this] { Tick(); });
  held_timer_ = parts_.loop.MakeTimer([this] { SendHeld(); });
  sweep_timer_ = parts_.loop.MakeTimer([this] { Sweep(); });
  sweep_timer_->Set(alive_at_ + kSweepPeriod);
  SetTick();
}

SchedulerShell::~SchedulerShell() = default;

/// Time as the state machine sees it: without the time in which this process did not run.
TimePoint SchedulerShell::CoreNow() {
  const TimePoint now = parts_.loop.Now();
  if (const Duration gap = now - alive_at_; gap > kStall) {
    stalled_ += gap;
    parts_.log.Add(sim::EventLevel::kWarning, "This process did not run for " +
                                                  std::to_string(gap.count() / 1000) +
                                                  " ms; that time does not count for the members.");
  }
  alive_at_ = now;
  return now - stalled_;
}

SchedulerShell::Connection* SchedulerShell::Find(sim::PeerId peer) {
  const auto it = connections_.find(static_cast<std::uint64_t>(peer));
  return it == connections_.end() ? nullptr : it->second.get();
}

StreamHandler* SchedulerShell::Accept(std::unique_ptr<TcpStream> stream) {
  if (over_ || (connections_.size() >= limits_.connections && !MakeRoom())) {
    NoteStranger(stream->peer(), "too many connections");
    return nullptr;
  }
  const std::uint64_t id = next_peer_++;
  auto connection = std::make_unique<Connection>(*this, std::move(stream), id, parts_.loop.Now());
  silent_.insert(id);
  return connections_.emplace(id, std::move(connection)).first->second.get();
}

/// Members by the address that they speak from.
std::map<std::string_view, std::size_t, std::less<>> SchedulerShell::MembersByAddress() const {
  std::map<std::string_view, std::size_t, std::less<>> members;
  core_.membership().nodes().ForEach([&](sim::NodeIndex, const sim::Node& node) {
    const auto found = connections_.find(static_cast<std::uint64_t>(node.peer));
    if (node.holds_slot && found != connections_.end()) {
      found->second->is_members = true;
      ++members[found->second->stream->peer().address];
    }
  });
  return members;
}

/// Gives up connections of the address that has most beyond what its members need, whatever was
/// sent on them: silent ones first, then those that never got an answer, then the oldest; never one
/// that a member speaks on. Several at once, so that a flood does not make every further connection
/// look at all of them.
bool SchedulerShell::MakeRoom() {
  for (auto& [id, connection] : connections_) {
    connection->is_members = false;
  }
  const auto members = MembersByAddress();
  std::map<std::string_view, std::vector<Connection*>> others;
  for (const auto& [id, connection] : connections_) {
    if (!connection->is_members) {
      others[connection->stream->peer().address].push_back(connection.get());
    }
  }
  std::vector<Connection*>* victims = nullptr;
  std::size_t most = 0;
  for (auto& [address, list] : others) {
    const auto found = members.find(address);
    const std::size_t needed =
        found == members.end() ? 0 : (kConnectionsPerMember - 1) * found->second;
    if (list.size() > needed && list.size() - needed > most) {
      most = list.size() - needed;
      victims = &list;
    }
  }
  if (victims == nullptr) {
    return false;
  }
  const std::size_t count = std::min(std::max<std::size_t>(1, most / 2), kVictims);
  const auto order = [](const Connection* a, const Connection* b) {
    return std::tuple(a->speaks, a->replied, a->peer_id) <
           std::tuple(b->speaks, b->replied, b->peer_id);
  };
  std::ranges::partial_sort(*victims, victims->begin() + static_cast<std::ptrdiff_t>(count), order);
  victims->resize(count);
  for (Connection* connection : std::vector<Connection*>(*victims)) {
    Drop(*connection, "too many connections");
  }
  return true;
}

void SchedulerShell::NoteSpeaker(Connection& connection) {
  if (!connection.speaks) {
    connection.speaks = true;
    silent_.erase(connection.peer_id);
    ++speakers_[connection.stream->peer().address];
  }
}

void SchedulerShell::NoteUnfinished(Connection& connection) {
  const std::size_t pending = connection.decoder.pending_bytes();
  unfinished_bytes_ += pending;
  unfinished_bytes_ -= connection.counted_bytes;
  connection.counted_bytes = pending;
  if (pending == 0) {
    unfinished_.erase(connection.peer_id);
  } else if (unfinished_.insert(connection.peer_id).second) {
    connection.frame_began = parts_.loop.Now();
  }
}

void SchedulerShell::OnBytes(Connection& connection, std::span<const std::byte> bytes) {
  const TimePoint now = CoreNow();
  const sim::Origin origin{.peer = connection.peer(), .address = connection.stream->peer().address};
  connection.decoder.Feed(bytes);
  auto next = connection.decoder.Next();
  for (; next && *next; next = connection.decoder.Next()) {
    NoteSpeaker(connection);
    unfinished_.erase(connection.peer_id);  // the time of the next frame begins anew
    core_.OnFrame(origin, **next, now, out_);
    if (out_.replies.total_bytes() > limits_.queued_bytes && !PassOnEarly(connection)) {
      return;
    }
  }
  if (!next) {
    const std::string stranger = connection.speaks ? "" : StrangerAtPlainPort(AsText(bytes));
    Drop(connection, stranger.empty() ? next.error().message : stranger);
  } else {
    NoteUnfinished(connection);
    if (unfinished_bytes_ > limits_.unfinished_bytes) {
      Drop(connection, "too many bytes of unfinished messages");
    }
  }
  Handle();
}

void SchedulerShell::OnEnd(Connection& connection, const Error& why) {
  if (!connection.speaks && why.code == ErrorCode::kProtocol) {
    NoteStranger(connection.stream->peer(), why.message);
  }
  Forget(connection);
  Handle();
}

void SchedulerShell::Drop(Connection& connection, std::string_view why) {
  NoteStranger(connection.stream->peer(), why);
  connection.stream->Close();
  Forget(connection);
}

void SchedulerShell::Forget(Connection& connection) {
  const auto it = connections_.find(connection.peer_id);
  if (it == connections_.end()) {
    return;
  }
  unfinished_bytes_ -= connection.counted_bytes;
  unfinished_.erase(connection.peer_id);
  silent_.erase(connection.peer_id);
  if (connection.speaks) {
    const auto speaker = speakers_.find(connection.stream->peer().address);
    if (--speaker->second == 0) {
      speakers_.erase(speaker);
    }
  }
  core_.OnPeerClosed(connection.peer(), CoreNow());
  if (closing_.empty()) {
    parts_.loop.Post([this] { closing_.clear(); });
  }
  closing_.push_back(std::move(it->second));
  connections_.erase(it);
}

/// Passes on what the state machine said, at once where nothing must be stored before.
void SchedulerShell::Handle() {
  if (over_ || flush_posted_) {
    return;
  }
  if (parts_.recovery != nullptr && out_.snapshot_changed) {
    // Behind what is ready already: registrations that arrive together are stored together.
    flush_posted_ = true;
    return parts_.loop.Post([this] { Flush(); });
  }
  SendReplies();
  DropBroken();
  TellEvents();
  out_.Clear();
  SetTick();
  if (core_.done() && !std::exchange(told_over_, true)) {
    parts_.on_over();
  }
}

/// Short requests may have long answers: not all of a piece are made before the first is sent.
/// @return false if the connection is over
bool SchedulerShell::PassOnEarly(const Connection& connection) {
  Handle();
  Flush();
  return !over_ && Find(connection.peer()) != nullptr;
}

/// Stores what has changed, then passes on what waited for that.
void SchedulerShell::Flush() {
  if (!std::exchange(flush_posted_, false) || over_) {
    return;
  }
  if (auto stored = parts_.recovery->Store(core_.Snapshot()); !stored) {
    over_ = true;
    Close();
    parts_.log.Add(sim::EventLevel::kError, stored.error().message);
    parts_.log.Flush();
    return parts_.on_failure(std::move(stored).error());
  }
  out_.snapshot_changed = false;
  Handle();
}

void SchedulerShell::SendReplies() {
  const TimePoint now = parts_.loop.Now();
  for (const sim::AddressedFrame& frame : out_.replies.frames()) {
    Connection* connection = Find(frame.peer);
    if (connection == nullptr) {
      continue;
    }
    const std::string_view bytes = out_.replies.BytesOf(frame);
    if (connection->replied && connection->held.empty()) {
      connection->stream->Write(bytes);
    } else {
      connection->held.append(bytes);
    }
    if (!connection->replied) {
      connection->replied = true;
      held_.push_back({.due = now + sim::kFirstReplyDelay, .peer = frame.peer});
      held_timer_->Set(held_.front().due);
    }
    if (ReadsTooLittle(*connection, bytes.size())) {
      Drop(*connection, "does not read its replies");
    }
  }
}

/// One reply may be larger than what a peer may leave unread, as long as not too many do so.
bool SchedulerShell::ReadsTooLittle(const Connection& connection, std::size_t last_reply) const {
  const std::size_t queued = connection.queued_bytes();
  if (queued <= limits_.queued_bytes) {
    return false;
  }
  std::size_t all_queued = 0;
  for (const auto& [id, each] : connections_) {
    all_queued += each->queued_bytes();
  }
  return queued > limits_.queued_bytes + last_reply || all_queued > limits_.all_queued_bytes;
}

void SchedulerShell::DropBroken() {
  for (const sim::PeerId peer : out_.broken_peers) {
    if (Connection* connection = Find(peer); connection != nullptr) {
      Drop(*connection, "a message has a broken body");
    }
  }
}

void SchedulerShell::SendHeld() {
  const TimePoint now = parts_.loop.Now();
  while (!held_.empty() && held_.front().due <= now) {
    if (Connection* connection = Find(held_.front().peer); connection != nullptr) {
      connection->stream->Write(std::exchange(connection->held, {}));
    }
    held_.pop_front();
  }
  if (!held_.empty()) {
    held_timer_->Set(held_.front().due);
  }
}

/// False for a refusal or a repetition when there were many a moment ago: they are counted.
bool SchedulerShell::TellsNow(const sim::SchedulerEvent& event) {
  using Kind = sim::SchedulerEventKind;
  if (event.kind != Kind::kRefused && event.kind != Kind::kRefusedKnownId &&
      event.kind != Kind::kRegistrationRepeated && event.kind != Kind::kRecovered) {
    return true;
  }
  const TimePoint now = parts_.loop.Now();
  if (now - refusals_since_ >= kStrangerLogPeriod) {
    if (hidden_refusals_ > 0) {
      parts_.log.Add(sim::EventLevel::kWarning,
                     std::to_string(hidden_refusals_) +
                         " further registrations were refused or repeated meanwhile.");
    }
    refusals_since_ = now;
    refusals_ = hidden_refusals_ = 0;
  }
  // Members that come back in masses after a restart are no flood.
  const std::size_t most = kRefusalLines + core_.membership().total();
  const bool tells = event.kind == Kind::kRecovered ? refusals_ < most : refusals_ < kRefusalLines;
  tells ? ++refusals_ : ++hidden_refusals_;
  return tells;
}

void SchedulerShell::TellEvents() {
  for (const sim::SchedulerEvent& event : out_.events) {
    if (event.kind != sim::SchedulerEventKind::kMessageIgnored && TellsNow(event)) {
      parts_.log.Add(event);
      parts_.on_event(event);
    }
  }
  parts_.log.Flush();
}

void SchedulerShell::SetTick() {
  const auto deadline = core_.NextDeadline();
  tick_timer_->Set(deadline ? AddSaturated(*deadline, stalled_) : kNever);
}

void SchedulerShell::Tick() {
  core_.OnTick(CoreNow(), out_);
  Handle();
}

bool SchedulerShell::IsTooSlow(const Connection& connection, TimePoint now) const {
  const Duration age = now - connection.frame_began;
  const std::size_t bytes = connection.decoder.pending_bytes();
  if (bytes < sim::kFrameHeaderBytes) {
    return age > limits_.header_time;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  const auto expected = static_cast<std::size_t>(seconds) * limits_.bytes_per_second;
  return age > limits_.frame_time || (age > limits_.header_time && bytes < expected);
}

void SchedulerShell::Sweep() {
  (void)CoreNow();  // notes that the loop runs
  const TimePoint now = parts_.loop.Now();
  std::vector<Connection*> slow;
  for (const std::uint64_t id : unfinished_) {
    if (IsTooSlow(*connections_.at(id), now)) {
      slow.push_back(connections_.at(id).get());
    }
  }
  for (const std::uint64_t id : silent_) {
    Connection& connection = *connections_.at(id);
    if (now - connection.accepted_at <= limits_.handshake_time) {
      break;  // the rest is younger
    }
    if (!connection.open) {
      slow.push_back(&connection);
    }
  }
  for (Connection* connection : slow) {
    Drop(*connection, "too slow");
  }
  if (!slow.empty()) {
    Handle();
  }
  parts_.log.Flush();
  sweep_timer_->Set(now + kSweepPeriod);
}

void SchedulerShell::NoteStranger(const Endpoint& peer, std::string_view why) {
  ++strangers_;
  const TimePoint now = parts_.loop.Now();
  if (now - stranger_logged_at_ >= kStrangerLogPeriod) {
    parts_.log.Add(sim::EventLevel::kWarning,
                   "A connection from " + EndpointText(peer) + " is closed: " + std::string(why) +
                       ". Closed since the last such line: " + std::to_string(strangers_) + ".");
    stranger_logged_at_ = now;
    strangers_ = 0;
  }
}

void SchedulerShell::DeclareLost(std::string_view node_id) {
  (void)core_.DeclareLost(node_id, CoreNow(), out_);
  Handle();
}

void SchedulerShell::Close() {
  over_ = true;
  for (auto& [id, connection] : connections_) {
    if (!connection->held.empty()) {
      connection->stream->Write(std::exchange(connection->held, {}));
    }
    connection->stream->Close();
  }
  tick_timer_->Set(kNever);
  held_timer_->Set(kNever);
  sweep_timer_->Set(kNever);
  parts_.log.Flush();
}

}  // namespace drydock::launcher
