#include "launcher/net/failure_line.h"

#include <atomic>
#include <utility>

#include "launcher/net/agent_table.h"
#include "launcher/net/event_queue.h"
#include "launcher/net/loop_thread.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/messages/metadata.h"

namespace drydock::launcher {
namespace {

/// How often the scheduler is asked.
constexpr Duration kAskPause = std::chrono::milliseconds(500);
/// How long an answer may take before the connection counts as broken, and the pause before the
/// next one.
constexpr Duration kAnswerTime = std::chrono::seconds(3);
constexpr Duration kConnectPause = std::chrono::milliseconds(500);
/// A report is one line.
constexpr std::size_t kMaxReportBytes = std::size_t{64} << 10U;

}  // namespace

class FailureLine::Impl final : public StreamHandler {
 public:
  explicit Impl(Endpoint scheduler) : scheduler_(std::move(scheduler)) {}

  Status Start(std::optional<TlsFiles> files) {
    if (files) {
      DRYDOCK_TRY(tls_, TlsContext::Load(*files, TlsSide::kClient));
      WipePasswords(*files);
    }
    timer_ = loop_.MakeTimer([this] { Tick(); });
    loop_.Post([this] { Tick(); });
    thread_.Start(loop_);
    return {};
  }

  void Stop() {
    if (thread_.running()) {
      loop_.Post([this] {
        Disconnect();
        timer_.reset();
        loop_.Stop();
      });
      thread_.Join();
    }
  }

  void Tell(std::string what) {
    loop_.Post([this, text = std::move(what)]() mutable {
      if (!over_ && !report_) {
        report_ = std::move(text);
        SendReport();
        if (connected_ && !waiting_) {
          Ask();
        }
      }
    });
  }

  void OnOpen(TcpStream& /*stream*/) override {
    connected_ = true;
    was_connected_ = true;
    SendReport();
    Ask();
  }
  void OnBytes(TcpStream& /*stream*/, std::span<const std::byte> bytes) override {
    decoder_.Feed(bytes);
    while (stream_) {
      const auto frame = decoder_.Next();
      if (!frame) {
        return Retry();
      }
      if (!*frame) {
        return;
      }
      OnAnswer((*frame)->body);
    }
  }
  void OnClosed(TcpStream& /*stream*/, const Error& /*why*/) override { Retry(); }

  [[nodiscard]] EventQueue<std::string>& heard() { return heard_; }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] bool settled() const { return over_ || (was_connected_ && !connected_); }

 private:
  /// The next step is due: an answer is late, or there is something to ask, or no connection.
  void Tick() {
    if (over_) {
      return;
    }
    if (!stream_ || waiting_) {
      Disconnect();
      decoder_ = sim::FrameDecoder({.body_bytes = kMaxReportBytes});
      stream_ = loop_.Connect(scheduler_, tls_.get(), *this);
      waiting_ = true;
      return timer_->Set(loop_.Now() + kAnswerTime);
    }
    Ask();
  }

  void Ask() {
    Send(sim::MessageName::kReadMetadata, {.name = kAgentFailureKey});
    waiting_ = true;
    timer_->Set(loop_.Now() + kAnswerTime);
  }

  /// The number of an answer depends on the release the scheduler takes us for; the value does not.
  void OnAnswer(std::string_view body) {
    waiting_ = false;
    const auto message = sim::DecodeMetadata(body);
    if (message && message->name == kAgentFailureKey && !message->value.empty()) {
      over_ = true;
      timer_->Set(kNever);
      if (!report_ || *report_ != message->value) {
        heard_.Add(std::string(message->value));
      }
      return;
    }
    // One that tells something wants to know that it arrived.
    report_ ? Ask() : timer_->Set(loop_.Now() + kAskPause);
  }

  void SendReport() {
    if (report_ && connected_) {
      Send(sim::MessageName::kWriteMetadata, {.name = kAgentFailureKey, .value = *report_});
    }
  }

  void Send(sim::MessageName name, const sim::MetadataMessage& message) {
    std::string bytes;
    const sim::OpenFrame frame =
        sim::BeginFrame(sim::WireName(name), EndpointText(scheduler_), bytes);
    sim::EncodeBody(message, bytes);
    sim::EndFrame(frame, bytes);
    stream_->Write(bytes);
  }

  void Retry() {
    Disconnect();
    timer_->Set(over_ ? kNever : loop_.Now() + kConnectPause);
  }

  void Disconnect() {
    connected_ = false;
    waiting_ = false;
    stream_.reset();
  }

  Endpoint scheduler_;
  std::unique_ptr<TlsContext> tls_;
  EventLoop loop_;
  EventQueue<std::string> heard_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<TcpStream> stream_;
  sim::FrameDecoder decoder_;
  std::optional<std::string> report_;  ///< What we tell.
  bool waiting_ = false;               ///< For a connection or an answer.
  // Written by the loop's thread only.
  std::atomic<bool> over_ = false;  ///< Somebody's failure is known.
  std::atomic<bool> connected_ = false;
  std::atomic<bool> was_connected_ = false;
  LoopThread thread_;
};

FailureLine::FailureLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FailureLine::~FailureLine() {
  impl_->Stop();
}

Result<std::unique_ptr<FailureLine>> FailureLine::Start(Endpoint scheduler,
                                                        std::optional<TlsFiles> tls) {
  auto impl = std::make_unique<Impl>(std::move(scheduler));
  DRYDOCK_RETURN_IF_ERROR(impl->Start(std::move(tls)));
  return std::unique_ptr<FailureLine>(new FailureLine(std::move(impl)));
}

int FailureLine::event_fd() const {
  return impl_->heard().fd();
}
std::vector<std::string> FailureLine::Take() {
  return impl_->heard().Take();
}
void FailureLine::Tell(const std::string& what) {
  impl_->Tell(what);
}
bool FailureLine::connected() const {
  return impl_->connected();
}
bool FailureLine::settled() const {
  return impl_->settled();
}

}  // namespace drydock::launcher
