#include "strategies/passes/schedule/call_table.h"

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Where calls, messages and the schedule meet: a spot of the schedule is a call, or the messages
/// before or behind it; it is done with its last message, or else with what the call gives.
namespace drydock::strategies {

std::vector<KernelId> CallTable::MessagesAt(const CallSpot& spot) const {
  if (spot.what == CallSpot::What::kCall) {
    return {};
  }
  const bool receives = spot.what == CallSpot::What::kReceive;
  const Border& border = receives
                             ? (spot.backward ? borders_.backward_start : borders_.forward_start)
                             : (spot.backward ? borders_.backward_end : borders_.forward_end);
  std::vector<KernelId> messages;
  for (const KernelId id : border[SlotOf(spot) % (micros_ * borders_.parts)]) {
    const NodeId origin = graph_.at(id).origin;
    if (origin != kNoNode && PointToPointOf(local_.at(origin)) != PointToPoint::kNone) {
      messages.push_back(id);
    }
  }
  return messages;
}

KernelId CallTable::DoneAt(const CallSpot& spot) const {
  const std::vector<KernelId> messages = MessagesAt(spot);
  return messages.empty() ? calls_[SlotOf(spot)].results : messages.back();
}

bool CallTable::SameSpot(const CallSpot& a, const CallSpot& b) const {
  return SlotOf(a) == SlotOf(b) && MessagesAt(a) == MessagesAt(b);
}

KernelId CallTable::ZeroBehind(KernelId prior) {
  const auto [place, added] = zeros_.try_emplace(prior, kNoKernel);
  if (added) {
    zero_ = zero_ == kNoKernel ? Number(DType::kFloat32) : zero_;
    place->second = Virtual(KernelKind::kDepend, {zero_, prior});
  }
  return place->second;
}

}  // namespace drydock::strategies
