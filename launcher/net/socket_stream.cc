// Streams of asio: plain ones, and TLS as a filter before the socket.
#include "launcher/net/socket_stream.h"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include <asio/ip/address.hpp>
#include <asio/post.hpp>
#include <netinet/tcp.h>

namespace drydock::launcher {

using Tcp = asio::ip::tcp;
using SystemError = asio::error_code;

struct SocketStream::Core {
  Core(EventLoop::Native& native, asio::ip::tcp::socket connection, const TlsContext* context)
      : loop(native), socket(std::move(connection)) {
    if (context != nullptr) {
      tls = std::make_unique<TlsSession>(*context);
    }
  }
  EventLoop::Native& loop;
  asio::ip::tcp::socket socket;
  std::unique_ptr<TlsSession> tls;
  SocketStream* stream = nullptr;  ///< Null once closed: nobody listens any more.
  StreamHandler* handler = nullptr;
  Endpoint peer = {};
  std::string queue = {};
  std::size_t sent = 0;  ///< Bytes of `queue` that are gone.
  bool waits_writable = false;
  bool admitted = true;                 ///< False: its handshake has not had its turn.
  HandshakeGate::Ticket handshake = 0;  ///< From a peer's first bytes until it is established.
};

void EventLoop::Native::ServeHandshakes() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  handshakes.Serve(TimePoint(std::chrono::duration_cast<Duration>(now)));
  const TimePoint next = handshakes.NextDeadline();
  if (next != kNever) {
    handshake_timer.expires_at(std::chrono::steady_clock::time_point(next.time_since_epoch()));
    handshake_timer.async_wait([this](const SystemError& error) {
      if (!error) {
        ServeHandshakes();
      }
    });
  }
}

namespace {

using CorePtr = std::shared_ptr<SocketStream::Core>;

// A peer whose machine vanished is noticed after about this long, well within a node time-out.
constexpr int kKeepIdleSeconds = 15;
constexpr int kKeepIntervalSeconds = 5;
constexpr int kKeepProbes = 3;
constexpr int kUnansweredMilliseconds = 30'000;

Error StreamError(ErrorCode code, std::string message) {
  return Fail(code, std::move(message)).value();
}

Error ConnectError(const SystemError& failure) {
  Error error = StreamError(ErrorCode::kIo, failure.message());
  if (failure == asio::error::connection_refused) {
    error.cause = PeerCause::kNobodyListens;
  }
  return error;
}

/// Its place is free for the next one.
void LeaveHandshake(SocketStream::Core& core) {
  if (const auto ticket = std::exchange(core.handshake, 0); ticket != 0) {
    core.loop.handshakes.Leave(ticket);
    asio::post(core.loop.context, [&loop = core.loop] { loop.ServeHandshakes(); });
  }
}

/// The peer sends nothing any more: it gave up while it waited for its turn.
bool HasLeft(int fd) {
  pollfd state = {.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

void Finish(SocketStream::Core& core, const Error& why) {
  LeaveHandshake(core);
  SocketStream* stream = std::exchange(core.stream, nullptr);
  SystemError ignored;
  core.socket.close(ignored);
  if (stream != nullptr) {
    core.handler->OnClosed(*stream, why);
  }
}

void WaitWritable(const CorePtr& core);

void SendQueue(const CorePtr& core) {
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

void WaitWritable(const CorePtr& core) {
  core->waits_writable = true;
  core->socket.async_wait(Tcp::socket::wait_write, [core](const SystemError& error) {
    core->waits_writable = false;
    if (!error && core->stream != nullptr) {
      SendQueue(core);
    }
  });
}

void Send(const CorePtr& core, std::string_view bytes) {
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

bool Decrypt(const CorePtr& core, std::span<const std::byte> bytes) {
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
    LeaveHandshake(*core);
    core->handler->OnOpen(*core->stream);
  }
  if (!plain.empty() && core->stream != nullptr) {
    core->handler->OnBytes(*core->stream, std::as_bytes(std::span<const char>(plain)));
  }
  return core->stream != nullptr;
}

/// @return false if the stream is over
bool Read(const CorePtr& core) {
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

void EnterHandshake(const CorePtr& core);

void WaitReadable(const CorePtr& core) {
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
    if (!core->admitted) {
      return EnterHandshake(core);
    }
    if (Read(core)) {
      WaitReadable(core);
    }
  });
}

/// The peer's first bytes are there; they are read when its turn has come.
void EnterHandshake(const CorePtr& core) {
  core->handshake = core->loop.handshakes.Enter([core] {
    core->admitted = true;
    if (HasLeft(core->socket.native_handle())) {
      return Finish(*core, StreamError(ErrorCode::kIo, "closed by the other side"));
    }
    if (Read(core)) {
      WaitReadable(core);
    }
  });
  core->loop.ServeHandshakes();
}

void BeginTls(const CorePtr& core) {
  if (core->stream != nullptr) {
    (void)Decrypt(core, {});
  }
}

void PostFailure(const CorePtr& core, std::string message) {
  asio::post(core->socket.get_executor(), [core, message = std::move(message)] {
    if (core->stream != nullptr) {
      Finish(*core, StreamError(ErrorCode::kInvalidArgument, message));
    }
  });
}

}  // namespace

void SetSocketOptions(int fd) {
  constexpr int kOn = 1;  // each of them only makes things better: failures do not matter
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(int));
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof(int));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdleSeconds, sizeof(int));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepIntervalSeconds, sizeof(int));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepProbes, sizeof(int));
  // While something was sent and not taken there are no probes.
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnansweredMilliseconds, sizeof(int));
}

SocketStream::SocketStream(EventLoop::Native& loop, Tcp::socket socket, const TlsContext* tls)
    : core_(std::make_shared<Core>(loop, std::move(socket), tls)) {
  core_->stream = this;
}

SocketStream::~SocketStream() {
  Close();
}

void SocketStream::Accepted(StreamHandler& handler) {
  core_->handler = &handler;
  if (core_->tls) {
    core_->admitted = false;
    BeginTls(core_);
  } else {
    handler.OnOpen(*this);
  }
  WaitReadable(core_);
}

void SocketStream::Started(const Tcp::endpoint& peer) {
  SystemError ignored;
  core_->socket.non_blocking(true, ignored);
  core_->peer = {.address = peer.address().to_string(), .port = peer.port()};
}

void SocketStream::ConnectTo(const Endpoint& to, StreamHandler& handler) {
  core_->handler = &handler;
  core_->peer = to;
  SystemError error;
  const auto address = asio::ip::make_address(to.address, error);
  if (error) {
    return PostFailure(core_, "'" + to.address + "' is not an IP address");
  }
  core_->socket.async_connect({address, to.port}, [core = core_](const SystemError& failure) {
    if (core->stream == nullptr) {
      return;
    }
    if (failure) {
      return Finish(*core, ConnectError(failure));
    }
    SystemError ignored;
    core->socket.non_blocking(true, ignored);
    SetSocketOptions(core->socket.native_handle());
    if (core->tls) {
      BeginTls(core);
    } else {
      core->handler->OnOpen(*core->stream);
    }
    WaitReadable(core);
  });
}

void SocketStream::Write(std::string_view bytes) {
  if (core_->socket.is_open() && !core_->tls) {
    Send(core_, bytes);
  } else if (core_->socket.is_open()) {
    std::string encrypted;
    if (const Status sent = core_->tls->Send(bytes, encrypted); sent) {
      Send(core_, encrypted);
    }
  }
}

void SocketStream::Close() {
  LeaveHandshake(*core_);
  core_->stream = nullptr;
  SystemError ignored;
  core_->socket.close(ignored);
}

std::size_t SocketStream::queued_bytes() const {
  return core_->queue.size() - core_->sent;
}

std::string SocketStream::local_address() const {
  SystemError error;
  return core_->socket.local_endpoint(error).address().to_string();
}

const Endpoint& SocketStream::peer() const {
  return core_->peer;
}

}  // namespace drydock::launcher
