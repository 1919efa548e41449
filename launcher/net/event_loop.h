#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "launcher/net/tls_session.h"

namespace drydock::launcher {

/// An IP address literal and a port.
struct Endpoint {
  std::string address = {};  ///< "10.0.0.7" or "fe80::1"; no name, no brackets.
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "10.0.0.7:8118", as MindSpore writes it (no brackets around IPv6).
[[nodiscard]] std::string EndpointText(const Endpoint& endpoint);

/// True for an IPv4 or IPv6 literal.
[[nodiscard]] bool IsIpLiteral(std::string_view text);

class TcpStream;

/// Who hears what happens on a stream. All calls come from the loop's thread; inside them the
/// stream may be written to, closed or destroyed.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  /// Connected and, with TLS, authenticated.
  virtual void OnOpen(TcpStream& stream) = 0;
  /// Bytes arrived; the view ends with the call.
  virtual void OnBytes(TcpStream& stream, std::span<const std::byte> bytes) = 0;
  /// The stream is over: closed by the other side, broken, or never opened. Not called after Close.
  virtual void OnClosed(TcpStream& stream, const Error& why) = 0;
};

/// One TCP connection, plain or TLS. Closed when destroyed.
class TcpStream {
 public:
  virtual ~TcpStream() = default;
  /// Sends bytes in one write as far as the system takes them; the rest is queued.
  virtual void Write(std::string_view bytes) = 0;
  /// Ends the connection; what is queued is lost. OnClosed is not called.
  virtual void Close() = 0;
  /// Bytes the system has not taken yet.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  /// Own address without port.
  [[nodiscard]] virtual std::string local_address() const = 0;
  /// The other side.
  [[nodiscard]] virtual const Endpoint& peer() const = 0;
};

/// Calls a function at one time.
class Timer {
 public:
  virtual ~Timer() = default;
  /// Calls once at `when`, instead of any earlier wish. kNever cancels.
  virtual void Set(TimePoint when) = 0;
};

/// A listening socket; closed when destroyed.
class Listener {
 public:
  virtual ~Listener() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

/// Takes an accepted stream; gives its handler, which must live as long as the stream.
/// Nothing is read before it returns.
using AcceptStream = std::function<StreamHandler*(std::unique_ptr<TcpStream>)>;

/// Sockets and timers of one thread. Only Post and Stop may be called from other threads.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Handles events until Stop, on the calling thread.
  void Run();
  /// Ends Run as soon as the event under way is handled.
  void Stop();
  /// Calls `work` on the loop's thread, after what is ready already.
  void Post(std::function<void()> work);
  /// Monotonic time.
  [[nodiscard]] TimePoint Now() const;
  [[nodiscard]] std::unique_ptr<Timer> MakeTimer(std::function<void()> call);

  /// Listens at a literal address; port 0 lets the system choose. With `tls` every connection is
  /// TLS. @error PORT_IN_USE (with the holder where it can be seen), RESOLVE
  [[nodiscard]] Result<std::unique_ptr<Listener>> Listen(const Endpoint& at, const TlsContext* tls,
                                                         AcceptStream accept);
  /// Begins to connect; OnOpen or OnClosed follows, never from inside this call.
  [[nodiscard]] std::unique_ptr<TcpStream> Connect(const Endpoint& to, const TlsContext* tls,
                                                   StreamHandler& handler);

  struct Native;

 private:
  std::unique_ptr<Native> native_;
};

}  // namespace drydock::launcher
