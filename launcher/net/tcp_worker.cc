#include "launcher/net/tcp_worker.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "sim/cluster/job_keys.h"
#include "sim/cluster/messages/metadata.h"

namespace drydock::launcher {
namespace {

/// Largest answer that is taken: host names of very large jobs.
constexpr std::size_t kMaxAnswerBytes = std::size_t{256} << 20U;

/// What a failed attempt to connect tells about the other side.
std::string TroubleText(const Error& why) {
  if (IsCausedBy(why, PeerCause::kNobodyListens)) {
    return "it refuses connections: the machine is up, but nothing listens at this port";
  }
  return "it cannot be reached: " + why.message;
}

constexpr std::string_view kSilent =
    "it does not answer: the machine is down, or a firewall drops what is sent";

}  // namespace

std::string ProofFrame(const Endpoint& scheduler, std::string_view proof) {
  std::string bytes;
  const sim::OpenFrame frame = sim::BeginFrame(sim::WireName(sim::MessageName::kWriteMetadata),
                                               EndpointText(scheduler), bytes);
  sim::EncodeBody(sim::MetadataMessage{.name = sim::kProofKey, .value = proof}, bytes);
  sim::EndFrame(frame, bytes);
  return bytes;
}

/// One of the two connections.
class TcpWorker::Link final : public StreamHandler {
 public:
  Link(TcpWorker& worker, sim::Channel channel) : worker_(worker), channel_(channel) {}

  void OnOpen(TcpStream& opened) override {
    connect_deadline = kNever;
    worker_.connect_trouble_.clear();
    if (!worker_.place_.proof.empty()) {
      opened.Write(ProofFrame(worker_.place_.scheduler, worker_.place_.proof));
    }
    worker_.core_.OnConnected(channel_, opened.local_address(), worker_.place_.loop.Now(),
                              worker_.out_);
    worker_.Do();
  }
  void OnBytes(TcpStream& from, std::span<const std::byte> bytes) override {
    decoder.Feed(bytes);
    while (stream.get() == &from) {
      const auto frame = decoder.Next();
      if (!frame) {
        return OnClosed(from, frame.error());
      }
      if (!*frame) {
        return;
      }
      worker_.core_.OnFrame(channel_, **frame, worker_.place_.loop.Now(), worker_.out_);
      worker_.Do();
    }
  }
  void OnClosed(TcpStream& /*closed*/, const Error& why) override {
    const bool was_open = connect_deadline == kNever;
    stream.reset();
    connect_deadline = kNever;
    const TimePoint now = worker_.place_.loop.Now();
    if (was_open) {
      worker_.core_.OnDisconnected(channel_, now, worker_.out_);
    } else {
      worker_.connect_trouble_ = TroubleText(why);
      worker_.core_.OnConnectFailed(now, worker_.out_, IsCausedBy(why, PeerCause::kNobodyListens));
    }
    worker_.Do();
  }

  std::unique_ptr<TcpStream> stream;
  sim::FrameDecoder decoder{{.body_bytes = kMaxAnswerBytes}};
  TimePoint connect_deadline = kNever;  ///< kNever unless it is being opened.

 private:
  TcpWorker& worker_;
  sim::Channel channel_;
};

TcpWorker::TcpWorker(Place place, const sim::WorkerOptions& options, sim::WorkerIdentity identity,
                     Hear hear)
    : place_(std::move(place)),
      connect_time_(3 * sim::ScaleSleep(1, options.worker_num)),
      core_(options, std::move(identity)),
      hear_(std::move(hear)),
      links_({std::make_unique<Link>(*this, sim::Channel::kHeartbeat),
              std::make_unique<Link>(*this, sim::Channel::kBusiness)}),
      timer_(place_.loop.MakeTimer([this] { Tick(); })) {}

TcpWorker::~TcpWorker() = default;

void TcpWorker::Start() {
  core_.Start(place_.loop.Now(), out_);
  Do();
}

void TcpWorker::WriteMetadata(std::string_view name, std::string_view value) {
  core_.WriteMetadata(name, value, place_.loop.Now(), out_);
  Do();
}

void TcpWorker::Ask(sim::MessageName name, std::string_view subject) {
  core_.Ask(name, subject, place_.loop.Now(), out_);
  Do();
}

void TcpWorker::Leave() {
  core_.Leave(place_.loop.Now(), out_);
  Do();
}

/// Does what the state machine wants. What is asked for meanwhile is done by the same call.
void TcpWorker::Do() {
  if (std::exchange(doing_, true)) {
    return;
  }
  for (std::size_t i = 0; i < out_.actions.size(); ++i) {
    DoOne(sim::WorkerAction(out_.actions[i]));
  }
  out_.Clear();
  doing_ = false;
  TimePoint next = core_.NextDeadline();
  for (const auto& each : links_) {
    next = std::min(next, each->connect_deadline);
  }
  timer_->Set(next);
}

void TcpWorker::DoOne(const sim::WorkerAction& action) {
  using Kind = sim::WorkerAction::Kind;
  switch (action.kind) {
    case Kind::kConnect:
      return Connect(action.channel);
    case Kind::kDisconnect:
      link(action.channel).stream.reset();
      link(action.channel).connect_deadline = kNever;
      return;
    case Kind::kSend:
      if (link(action.channel).stream) {
        link(action.channel).stream->Write(out_.BytesOf(action));
      }
      return;
    case Kind::kReady:
    case Kind::kAnswer:
    case Kind::kLeft:
    case Kind::kFailed:
      // A copy: hearing it may lead to more actions and bytes.
      return hear_(*this, action, std::string(out_.BytesOf(action)));
  }
}

void TcpWorker::Connect(sim::Channel channel) {
  Link& each = link(channel);
  each.decoder = sim::FrameDecoder({.body_bytes = kMaxAnswerBytes});
  each.connect_deadline = place_.loop.Now() + connect_time_;
  each.stream = place_.loop.Connect(place_.scheduler, place_.tls, each);
}

void TcpWorker::GiveUpConnecting(TimePoint now) {
  for (const auto& each : links_) {
    if (each->connect_deadline <= now) {
      each->stream.reset();
      each->connect_deadline = kNever;
      // A packet that no machine of the network answers to is reported after longer than this.
      connect_trouble_ = kSilent;
      core_.OnConnectFailed(now, out_);
      return Do();
    }
  }
}

void TcpWorker::Tick() {
  const TimePoint now = place_.loop.Now();
  GiveUpConnecting(now);
  core_.OnTick(now, out_);
  Do();
}

}  // namespace drydock::launcher
