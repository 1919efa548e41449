#include "launcher/net/handshake_gate.h"

#include <utility>

namespace drydock::launcher {

HandshakeGate::Ticket HandshakeGate::Enter(std::function<void()> begin) {
  waiting_.emplace(++last_, std::move(begin));
  return last_;
}

void HandshakeGate::Leave(Ticket ticket) {
  waiting_.erase(ticket);
  began_.erase(ticket);
}

void HandshakeGate::Serve(TimePoint now) {
  while (!began_.empty() && began_.begin()->second + allowed_ <= now) {
    began_.erase(began_.begin());
  }
  while (!waiting_.empty() && began_.size() < limit_) {
    auto next = waiting_.extract(waiting_.begin());
    began_.emplace(next.key(), now);
    next.mapped()();  // may leave at once
  }
}

TimePoint HandshakeGate::NextDeadline() const {
  return waiting_.empty() || began_.empty() ? kNever : began_.begin()->second + allowed_;
}

}  // namespace drydock::launcher
