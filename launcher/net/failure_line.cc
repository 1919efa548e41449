#include "launcher/net/failure_line.h"

#include <atomic>
#include <utility>

#include "launcher/exit_code.h"
#include "launcher/flags.h"
#include "launcher/net/agent_table.h"
#include "launcher/net/event_queue.h"
#include "launcher/net/loop_thread.h"
#include "launcher/net/tcp_worker.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/messages/metadata.h"

namespace drydock::launcher {
namespace {

/// How often the scheduler is asked.
constexpr Duration kAskAgainPause = std::chrono::milliseconds(500);
/// How long an answer may take before the connection counts as broken, and the pause before the
/// next one.
constexpr Duration kAnswerTime = std::chrono::seconds(3);
constexpr Duration kConnectPause = std::chrono::milliseconds(500);
/// A report is one line.
constexpr std::size_t kMaxReportBytes = std::size_t{64} << 10U;

}  // namespace

class FailureLine::Impl final : public StreamHandler {
 public:
  explicit Impl(FailureLineOptions options) : options_(std::move(options)) {}

  Status Start() {
    if (options_.tls) {
      DRYDOCK_TRY(tls_, TlsContext::Load(*options_.tls, TlsSide::kClient));
      WipePasswords(*options_.tls);
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
    loop_.Post([this, text = std::move(what)] {
      if (!over_ && !report_) {
        report_ = Explained(text);
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
    if (!options_.proof.empty()) {
      stream_->Write(ProofFrame(options_.scheduler, options_.proof));
    }
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

  [[nodiscard]] EventQueue<HeardFailure>& heard() { return heard_; }
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
      stream_ = loop_.Connect(options_.scheduler, tls_.get(), *this);
      waiting_ = true;
      return timer_->Set(loop_.Now() + kAnswerTime);
    }
    Ask();
  }

  void Ask() {
    // Once, before anything else, the number of ranks.
    Send(sim::MessageName::kReadMetadata,
         {.name = Compares() ? sim::kJobSizeKey : kAgentFailureKey});
    waiting_ = true;
    timer_->Set(loop_.Now() + kAnswerTime);
  }

  /// The number of an answer depends on the release the scheduler takes us for; the value does not.
  void OnAnswer(std::string_view body) {
    waiting_ = false;
    const auto message = sim::DecodeMetadata(body);
    if (message && message->name == sim::kJobSizeKey) {
      return Compare(message->value);
    }
    if (message && message->name == kAgentFailureKey && !message->value.empty()) {
      over_ = true;
      timer_->Set(kNever);
      if (!report_ || *report_ != message->value) {
        heard_.Add({.text = OneLine(message->value)});
      }
      return;
    }
    // One that tells something wants to know that it arrived.
    report_ ? Ask() : timer_->Set(loop_.Now() + kAskAgainPause);
  }

  [[nodiscard]] bool Compares() const { return options_.worker_num > 0 && !compared_; }

  /// A contradiction is why whatever failed here did so: it is told in its place.
  [[nodiscard]] std::string Explained(const std::string& failure) const {
    const bool tells_it = !contradiction_ || failure.find(*contradiction_) != std::string::npos;
    return tells_it ? failure : *contradiction_;
  }

  /// @param size  number of ranks by the scheduler; empty: it is not one of ours
  void Compare(std::string_view size) {
    compared_ = true;
    const std::int64_t theirs = ReadIntWord(size).value_or(0);
    if (theirs > 0 && theirs != options_.worker_num) {
      contradiction_ = "the job has " + std::to_string(theirs) + " ranks by its scheduler, and " +
                       std::to_string(options_.worker_num) + " by --worker_num here";
      heard_.Add({.is_contradiction = true, .text = *contradiction_});
      report_ = report_ ? std::optional(Explained(*report_)) : std::nullopt;
    }
    SendReport();
    Ask();
  }

  /// Not before the numbers of ranks are compared.
  void SendReport() {
    if (report_ && connected_ && !Compares()) {
      Send(sim::MessageName::kWriteMetadata, {.name = kAgentFailureKey, .value = *report_});
    }
  }

  void Send(sim::MessageName name, const sim::MetadataMessage& message) {
    std::string bytes;
    const sim::OpenFrame frame =
        sim::BeginFrame(sim::WireName(name), EndpointText(options_.scheduler), bytes);
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

  FailureLineOptions options_;
  std::unique_ptr<TlsContext> tls_;
  EventLoop loop_;
  EventQueue<HeardFailure> heard_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<TcpStream> stream_;
  sim::FrameDecoder decoder_;
  std::optional<std::string> report_;  ///< What we tell.
  std::optional<std::string> contradiction_;
  bool compared_ = false;  ///< The number of ranks is known.
  bool waiting_ = false;   ///< For a connection or an answer.
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

Result<std::unique_ptr<FailureLine>> FailureLine::Start(FailureLineOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  DRYDOCK_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<FailureLine>(new FailureLine(std::move(impl)));
}

int FailureLine::event_fd() const {
  return impl_->heard().fd();
}
std::vector<HeardFailure> FailureLine::Take() {
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
