// Timers and listeners of one thread. Only this file and socket_stream touch asio.
#include "launcher/net/event_loop.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "launcher/exit_code.h"
#include "launcher/net/port_holder.h"
#include "launcher/net/socket_stream.h"

namespace drydock::launcher {
namespace {

using Tcp = asio::ip::tcp;
using SystemError = asio::error_code;

/// As many as the system allows (net.core.somaxconn).
constexpr int kBacklog = 65'535;
/// Connections accepted before those that are open get their turn.
constexpr int kAcceptsAtOnce = 1024;
/// Turns of the loop, of up to 128 events each, for which newcomers are still looked for.
constexpr int kEmptyTurns = 64;
/// Pause after accepting failed for lack of descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause(100);

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
    state->acceptor.async_wait(Tcp::acceptor::wait_read, [state](const SystemError& error) {
      if (state->open && !error) {
        AcceptWaiting(state, kEmptyTurns);
      }
    });
  }

  /// Takes many at once and soon looks again: all workers of a large job connect in one instant,
  /// and the system keeps only so many of them waiting (net.core.somaxconn); the rest tries again a
  /// second later. The system would tell of newcomers after all others that have something to read.
  /// @param empty_turns  how often to look again though nobody came
  static void AcceptWaiting(const std::shared_ptr<State>& state, int empty_turns) {
    int taken = 0;
    while (taken < kAcceptsAtOnce && state->open) {
      SystemError error;
      Tcp::endpoint peer;
      Tcp::socket socket = state->acceptor.accept(peer, error);
      if (!error) {
        Serve(*state, std::move(socket), peer);
        ++taken;
      } else if (error == asio::error::would_block || error == asio::error::try_again) {
        break;
      } else if (error != asio::error::connection_aborted && error != asio::error::interrupted) {
        return Pause(state);
      }
    }
    if (state->open && (taken > 0 || empty_turns > 0)) {
      const int turns = taken > 0 ? kEmptyTurns : empty_turns - 1;
      asio::post(state->loop.context, [state, turns] { AcceptWaiting(state, turns); });
    } else if (state->open) {
      Wait(state);
    }
  }

  static void Serve(const State& state, Tcp::socket socket, const Tcp::endpoint& peer) {
    auto stream = std::make_unique<SocketStream>(state.loop, std::move(socket), state.tls);
    SocketStream* raw = stream.get();
    raw->Started(peer);
    if (StreamHandler* handler = state.accept(std::move(stream)); handler != nullptr) {
      raw->Accepted(*handler);
    }
  }

  /// No descriptors or no memory: those who are connected already must not notice.
  static void Pause(const std::shared_ptr<State>& state) {
    state->pause.expires_after(kAcceptPause);
    state->pause.async_wait([state](const SystemError& /*cancelled*/) {
      if (state->open) {
        Wait(state);
      }
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
    return FailCommand(FailureCode::kResolve, "'" + at.address + "' is not an IP address",
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
  if (!error) {
    SetSocketOptions(acceptor.native_handle());
    acceptor.non_blocking(true, error);
  }
  if (error == asio::error::address_in_use) {
    return FailCommand(FailureCode::kPortInUse, EndpointText(at) + PortHolderText(at.port),
                       "stop the other job, or choose another port with --master_port");
  }
  if (error) {
    return FailCommand(FailureCode::kResolve,
                       "cannot listen at " + EndpointText(at) + ": " + error.message(),
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
