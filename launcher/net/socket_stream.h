#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "launcher/net/event_loop.h"
#include "launcher/net/handshake_gate.h"

namespace drydock::launcher {

/// Bytes read at once; one buffer serves all connections of a loop.
inline constexpr std::size_t kReadBytes = std::size_t{64} << 10U;

/// TLS handshakes with accepted peers at a time, and how long one of them counts: more than twice
/// what so many take when all peers answer at once. Source: docs/robustness.md R-46
inline constexpr std::size_t kHandshakesAtOnce = 64;
inline constexpr Duration kHandshakeCounts = std::chrono::milliseconds(100);

/// What a loop shares with its streams. Only for files of launcher/net that use asio.
struct EventLoop::Native {
  /// Begins the handshakes whose turn has come.
  void ServeHandshakes();

  asio::io_context context{1};
  std::array<char, kReadBytes> read_buffer = {};
  HandshakeGate handshakes{kHandshakesAtOnce, kHandshakeCounts};
  asio::steady_timer handshake_timer{context};
};

/// Small messages at once; a peer that vanished is noticed. What is accepted by a listening socket
/// inherits its options. Source: docs/protocol.md, docs/robustness.md R-10.
void SetSocketOptions(int fd);

/// A stream over a socket, with a TLS session between if there is a context.
///
/// Handlers of asio hold the stream's core by a shared pointer, since they run once more after the
/// owner has closed or destroyed the stream.
class SocketStream final : public TcpStream {
 public:
  SocketStream(EventLoop::Native& loop, asio::ip::tcp::socket socket, const TlsContext* tls);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// The socket was accepted from `peer`; it has the options of the one that listens.
  void Started(const asio::ip::tcp::endpoint& peer);
  /// Begins to read for `handler`, after the handshake where there is TLS.
  void Accepted(StreamHandler& handler);
  /// Begins to connect; `handler` hears of it later.
  void ConnectTo(const Endpoint& to, StreamHandler& handler);

  void Write(std::string_view bytes) override;
  void Close() override;
  [[nodiscard]] std::size_t queued_bytes() const override;
  [[nodiscard]] std::string local_address() const override;
  [[nodiscard]] const Endpoint& peer() const override;

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace drydock::launcher
