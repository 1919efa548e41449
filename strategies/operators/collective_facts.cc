#include "strategies/operators/collective_facts.h"

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

const CollectiveFacts* CollectiveOf(const Node& node) {
  return node.entry == nullptr || !node.group ? nullptr : node.entry->collective;
}

std::string_view ShownName(const Node& node) {
  const CollectiveFacts* facts = CollectiveOf(node);
  return facts == nullptr || facts->shown.empty() ? std::string_view(node.op) : facts->shown;
}

bool ReducesToAll(const Node& node) {
  const CollectiveFacts* facts = CollectiveOf(node);
  return facts != nullptr && facts->reduces_to_all;
}

PointToPoint PointToPointOf(const Node& node) {
  const CollectiveFacts* facts = CollectiveOf(node);
  return facts == nullptr ? PointToPoint::kNone : facts->point_to_point;
}

SentBytes EachSends(std::int64_t bytes) {
  return {.most = bytes, .least = bytes};
}

}  // namespace drydock::strategies
