#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "base/time.h"

namespace drydock::launcher {

/// Lets so many TLS handshakes be in progress at a time; the others wait in the order in which they
/// came. A worker gives its connection 1.5 s: of a crowd that is served in turn some are in time,
/// of one that is served all at once nobody. Whoever takes longer than the time allowed goes on but
/// does not count any more: a stalled peer keeps nobody waiting. Source: docs/robustness.md R-46.
class HandshakeGate {
 public:
  /// One handshake, also while it waits. 0 is none.
  using Ticket = std::uint64_t;

  /// @param limit    handshakes in progress
  /// @param allowed  time after which a handshake does not count
  HandshakeGate(std::size_t limit, Duration allowed) : limit_(limit), allowed_(allowed) {}

  /// Queues a handshake; Serve calls `begin` when its turn has come.
  [[nodiscard]] Ticket Enter(std::function<void()> begin);
  /// It is complete, has failed, or does not wait any longer. Unknown ones are ignored.
  void Leave(Ticket ticket);
  /// Begins what there is room for.
  void Serve(TimePoint now);
  /// When Serve must be called though nobody leaves; kNever if nobody waits.
  [[nodiscard]] TimePoint NextDeadline() const;

 private:
  std::size_t limit_;
  Duration allowed_;
  Ticket last_ = 0;
  std::map<Ticket, std::function<void()>> waiting_;
  std::map<Ticket, TimePoint> began_;  ///< In progress; oldest first, as tickets are.
};

}  // namespace drydock::launcher
