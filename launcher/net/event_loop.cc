// Everything that touches asio: streams, timers and listeners of one thread.
#include "launcher/net/event_loop.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <netinet/tcp.h>

#include "launcher/exit_code.h"
#include "launcher/net/port_holder.h"

namespace drydock::launcher {
namespace {

using Tcp = asio::ip::tcp;
using SystemError = asio::error_code;

/// Bytes read at once; one buffer serves all connections of a loop.
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr int kBacklog = 4096;
/// Pause after accepting failed for lack of descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause(100);
// A peer whose machine vanished is noticed after about this long, well within a node time-out.
constexpr int kKeepIdleSeconds = 15;
constexpr int kKeepIntervalSeconds = 5;
constexpr int kKeepProbes = 3;
constexpr int kUnansweredMilliseconds = 30'000;

Error StreamError(ErrorCode code, std::string message) {
  return Fail(code, std::move(message)).value();
}

/// Source: spec cluster-protocol 2, robustness R-10.
void SetSocketOptions(Tcp::socket& socket) {
  SystemError ignored;  // each of them only makes things better
  socket.set_option(Tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdleSeconds, sizeof(int));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepIntervalSeconds, sizeof(int));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepProbes, sizeof(int));
  // While something was sent and not taken there are no probes.
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnansweredMilliseconds, sizeof(int));
}

Endpoint ToEndpoint(const Tcp::endpoint& endpoint) {
  return {.address = endpoint.address().to_string(), .port = endpoint.port()};
}

}  // namespace

struct EventLoop::Native {
  asio::io_context context{1};
  std::array<char, kReadBytes> read_buffer = {};
};

namespace {

/// A stream over a socket, with a TLS session between if there is a context.
///
/// Handlers of asio hold the stream's core by a shared pointer, since they run once more after the
/// owner has closed or destroyed the stream.
class SocketStream final : public TcpStream {
 public:
  SocketStream(EventLoop::Native& loop, Tcp::socket socket, const TlsContext* tls)
      : core_(std::make_shared<Core>(loop, std::move(socket), tls)) {
    core_->stream = this;
  }
  ~SocketStream() override { Close(); }
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  void Accepted(StreamHandler& handler) {
    core_->handler = &handler;
    if (core_->tls) {
      BeginTls(core_);
    } else {
      handler.OnOpen(*this);
    }
    WaitReadable(core_);
  }
  void Started() {
    SystemError error;
    core_->socket.non_blocking(true, error);
    SetSocketOptions(core_->socket);
    core_->peer = ToEndpoint(core_->socket.remote_endpoint(error));
    core_->local = core_->socket.local_endpoint(error).address().to_string();
  }
  void ConnectTo(const Endpoint& to, StreamHandler& handler) {
    core_->handler = &handler;
    core_->peer = to;
    SystemError error;
    const auto address = asio::ip::make_address(to.address, error);
    if (error) {
      return PostFailure("'" + to.address + "' is no IP address");
    }
    core_->socket.async_connect({address, to.port}, [core = core_](const SystemError& failure) {
      if (core->stream == nullptr) {
        return;
      }
      if (failure) {
        return Finish(*core, StreamError(ErrorCode::kIo, failure.message()));
      }
      core->stream->Started();
      if (core->tls) {
        BeginTls(core);
      } else {
        core->handler->OnOpen(*core->stream);
      }
      WaitReadable(core);
    });
  }

  void Write(std::string_view bytes) override {
    if (core_->socket.is_open() && !core_->tls) {
      Send(core_, bytes);
    } else if (core_->socket.is_open()) {
      std::string encrypted;
      if (const Status sent = core_->tls->Send(bytes, encrypted); sent) {
        Send(core_, encrypted);
      }
    }
  }
  void Close() override {
    core_->stream = nullptr;
    SystemError ignored;
    core_->socket.close(ignored);
  }
  [[nodiscard]] std::size_t queued_bytes() const override {
    return core_->queue.size() - core_->sent;
  }
  [[nodiscard]] const std::string& local_address() const override { return core_->local; }
  [[nodiscard]] const Endpoint& peer() const override { return core_->peer; }

 private:
  struct Core {
    Core(EventLoop::Native& native, Tcp::socket connection, const TlsContext* context)
        : loop(native), socket(std::move(connection)) {
      if (context != nullptr) {
        tls = std::make_unique<TlsSession>(*context);
      }
    }
    EventLoop::Native& loop;
    Tcp::socket socket;
    std::unique_ptr<TlsSession> tls;
    SocketStream* stream = nullptr;  ///< Null once closed: nobody listens any more.
    StreamHandler* handler = nullptr;
    Endpoint peer = {};
    std::string local = {};
    std::string queue = {};
    std::size_t sent = 0;  ///< Bytes of `queue` that are gone.
    bool waits_writable = false;
  };
  using CorePtr = std::shared_ptr<Core>;

  void PostFailure(std::string message) {
    asio::post(core_->socket.get_executor(), [core = core_, message = std::move(message)] {
      if (core->stream != nullptr) {
        Finish(*core, StreamError(ErrorCode::kInvalidArgument, message));
      }
    });
  }

  static void Finish(Core& core, const Error& why) {
    SocketStream* stream = std::exchange(core.stream, nullptr);
    SystemError ignored;
    core.socket.close(ignored);
    if (stream != nullptr) {
      core.handler->OnClosed(*stream, why);
    }
  }

  static void WaitReadable(const CorePtr& core) {
    if (core->stream == nullptr) {
      return;
    }
    core->socket.async_wait(Tcp::socket::wait_read, [core](const SystemError& error) {
      if (core->stream == nullptr) {
        return;
      }
      if (error) {
        return Finish(*core, StreamError(ErrorCode::kIo, error.message()));
      }
      if (Read(core)) {
        WaitReadable(core);
      }
    });
  }

  /// @return false if the stream is over
  static bool Read(const CorePtr& core) {
    auto& buffer = core->loop.read_buffer;
    SystemError error;
    const std::size_t count = core->socket.read_some(asio::buffer(buffer), error);
    if (error == asio::error::would_block || error == asio::error::try_again ||
        error == asio::error::interrupted) {
      return true;
    }
    if (error) {
      const bool closed = error == asio::error::eof;
      Finish(*core,
             StreamError(ErrorCode::kIo, closed ? "closed by the other side" : error.message()));
      return false;
    }
    const auto bytes = std::as_bytes(std::span<const char>(buffer).first(count));
    if (core->tls) {
      return Decrypt(core, bytes);
    }
    core->handler->OnBytes(*core->stream, bytes);
    return core->stream != nullptr;
  }

  static void BeginTls(const CorePtr& core) {
    if (core->stream != nullptr) {
      (void)Decrypt(core, {});
    }
  }

  static bool Decrypt(const CorePtr& core, std::span<const std::byte> bytes) {
    const bool was_open = core->tls->established();
    std::string plain;
    std::string to_network;
    const Status status = core->tls->Receive(bytes, plain, to_network);
    if (!to_network.empty()) {
      Send(core, to_network);
    }
    if (!status) {
      Finish(*core, status.error());
      return false;
    }
    if (!was_open && core->tls->established() && core->stream != nullptr) {
      core->handler->OnOpen(*core->stream);
    }
    if (!plain.empty() && core->stream != nullptr) {
      core->handler->OnBytes(*core->stream, std::as_bytes(std::span<const char>(plain)));
    }
    return core->stream != nullptr;
  }

  static void Send(const CorePtr& core, std::string_view bytes) {
    if (core->queue.empty()) {
      SystemError error;
      const std::size_t count = core->socket.write_some(asio::buffer(bytes), error);
      bytes.remove_prefix(error ? 0 : count);
      if (error && error != asio::error::would_block && error != asio::error::try_again) {
        return;  // the read side reports the same
      }
    }
    core->queue.append(bytes);
    if (!core->queue.empty() && !core->waits_writable) {
      WaitWritable(core);
    }
  }

  static void WaitWritable(const CorePtr& core) {
    core->waits_writable = true;
    core->socket.async_wait(Tcp::socket::wait_write, [core](const SystemError& error) {
      core->waits_writable = false;
      if (!error && core->stream != nullptr) {
        SendQueue(core);
      }
    });
  }

  static void SendQueue(const CorePtr& core) {
    SystemError error;
    const auto rest = std::string_view(core->queue).substr(core->sent);
    const std::size_t count = core->socket.write_some(asio::buffer(rest), error);
    if (error && error != asio::error::would_block && error != asio::error::try_again) {
      return;  // the read side reports the same
    }
    core->sent += count;
    if (core->sent == core->queue.size()) {
      core->queue = {};
      core->sent = 0;
    } else {
      WaitWritable(core);
    }
  }

  CorePtr core_;
};

class LoopTimer final : public Timer {
 public:
  LoopTimer(asio::io_context& context, std::function<void()> call)
      : state_(std::make_shared<State>(context, std::move(call))) {}
  ~LoopTimer() override { state_->call = nullptr; }
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  void Set(TimePoint when) override {
    if (when == state_->when) {
      return;
    }
    state_->when = when;
    if (when == kNever) {
      state_->timer.cancel();
      return;
    }
    state_->timer.expires_at(std::chrono::steady_clock::time_point(when.time_since_epoch()));
    state_->timer.async_wait([state = state_](const SystemError& error) {
      if (!error && state->call) {
        state->when = kNever;
        const auto call = state->call;  // it may destroy the timer
        call();
      }
    });
  }

 private:
  struct State {
    State(asio::io_context& context, std::function<void()> function)
        : timer(context), call(std::move(function)) {}
    asio::steady_timer timer;
    std::function<void()> call;
    TimePoint when = kNever;
  };
  std::shared_ptr<State> state_;  ///< Shared with the handler under way.
};

class SocketListener final : public Listener {
 public:
  SocketListener(EventLoop::Native& loop, Tcp::acceptor acceptor, const TlsContext* tls,
                 AcceptStream accept)
      : state_(std::make_shared<State>(State{.loop = loop,
                                             .acceptor = std::move(acceptor),
                                             .pause = asio::steady_timer(loop.context),
                                             .tls = tls,
                                             .accept = std::move(accept)})) {
    Wait(state_);
  }
  ~SocketListener() override {
    state_->open = false;
    SystemError ignored;
    state_->acceptor.close(ignored);
    state_->pause.cancel();
  }
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  [[nodiscard]] std::uint16_t port() const override {
    SystemError ignored;
    return state_->acceptor.local_endpoint(ignored).port();
  }

 private:
  struct State {
    EventLoop::Native& loop;
    Tcp::acceptor acceptor;
    asio::steady_timer pause;
    const TlsContext* tls = nullptr;
    AcceptStream accept = {};
    bool open = true;
  };

  static void Wait(const std::shared_ptr<State>& state) {
    state->acceptor.async_accept([state](const SystemError& error, Tcp::socket socket) {
      if (!state->open) {
        return;
      }
      if (!error) {
        auto stream = std::make_unique<SocketStream>(state->loop, std::move(socket), state->tls);
        SocketStream* raw = stream.get();
        raw->Started();
        if (StreamHandler* handler = state->accept(std::move(stream)); handler != nullptr) {
          raw->Accepted(*handler);
        }
        return Wait(state);
      }
      if (error == asio::error::connection_aborted) {
        return Wait(state);
      }
      // No descriptors or no memory: those who are connected already must not notice.
      state->pause.expires_after(kAcceptPause);
      state->pause.async_wait([state](const SystemError& /*cancelled*/) {
        if (state->open) {
          Wait(state);
        }
      });
    });
  }

  std::shared_ptr<State> state_;  ///< Shared with the handler under way.
};

}  // namespace

std::string EndpointText(const Endpoint& endpoint) {
  return endpoint.address + ":" + std::to_string(endpoint.port);
}

bool IsIpLiteral(std::string_view text) {
  SystemError error;
  asio::ip::make_address(std::string(text), error);
  return !error;
}

EventLoop::EventLoop() : native_(std::make_unique<Native>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::Run() {
  const auto guard = asio::make_work_guard(native_->context);
  native_->context.run();
}

void EventLoop::Stop() {
  native_->context.stop();
}

void EventLoop::Post(std::function<void()> work) {
  asio::post(native_->context, std::move(work));
}

TimePoint EventLoop::Now() const {
  return TimePoint(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

std::unique_ptr<Timer> EventLoop::MakeTimer(std::function<void()> call) {
  return std::make_unique<LoopTimer>(native_->context, std::move(call));
}

Result<std::unique_ptr<Listener>> EventLoop::Listen(const Endpoint& at, const TlsContext* tls,
                                                    AcceptStream accept) {
  SystemError error;
  const auto address = asio::ip::make_address(at.address, error);
  if (error) {
    return FailCommand("RESOLVE", "'" + at.address + "' is no IP address",
                       "give the address of a local interface");
  }
  Tcp::acceptor acceptor(native_->context);
  const Tcp::endpoint endpoint(address, at.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(kBacklog, error);
  }
  if (error == asio::error::address_in_use) {
    return FailCommand("PORT_IN_USE", EndpointText(at) + PortHolderText(at.port),
                       "stop the other job, or choose another port with --master_port");
  }
  if (error) {
    return FailCommand("RESOLVE", "cannot listen at " + EndpointText(at) + ": " + error.message(),
                       "give the address of a local interface");
  }
  return std::unique_ptr<Listener>(
      std::make_unique<SocketListener>(*native_, std::move(acceptor), tls, std::move(accept)));
}

std::unique_ptr<TcpStream> EventLoop::Connect(const Endpoint& to, const TlsContext* tls,
                                              StreamHandler& handler) {
  auto stream = std::make_unique<SocketStream>(*native_, Tcp::socket(native_->context), tls);
  stream->ConnectTo(to, handler);
  return stream;
}

}  // namespace drydock::launcher
