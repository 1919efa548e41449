#include "sim/cluster/node_table.h"

namespace drydock::sim {

void NodeTable::Reserve(std::size_t nodes) {
  by_id_.Reserve(nodes);
  by_peer_.reserve(nodes);
}

std::optional<NodeIndex> NodeTable::Find(std::string_view id) const {
  const auto position =
      by_id_.Find(id, [this](std::uint32_t i) { return std::string_view(nodes_[i].id); });
  return position ? std::optional(static_cast<NodeIndex>(*position)) : std::nullopt;
}

void NodeTable::Detach(NodeIndex index) {
  if (at(index).peer == kNoPeer) {
    return;
  }
  const auto [begin, end] = by_peer_.equal_range(static_cast<std::uint64_t>(at(index).peer));
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second == index) {
      by_peer_.erase(entry);
      return;
    }
  }
}

void NodeTable::MakeRoom() {
  while (by_id_.size() >= max_records_ && !inactive_.empty()) {
    const NodeIndex oldest = inactive_.front();
    inactive_.pop_front();
    Node& node = at(oldest);
    node.noted_inactive = false;
    if (node.holds_slot) {
      continue;
    }
    Detach(oldest);
    by_id_.Erase(node.id, static_cast<std::uint32_t>(oldest));
    node = Node{};
    free_.push_back(oldest);
  }
}

NodeIndex NodeTable::Add(std::string_view id) {
  MakeRoom();
  auto index = static_cast<NodeIndex>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Node& node = at(index);
  node.id = id;
  node.in_use = true;
  by_id_.Insert(node.id, static_cast<std::uint32_t>(index));
  return index;
}

void NodeTable::NoteInactive(NodeIndex index) {
  if (!at(index).noted_inactive) {
    at(index).noted_inactive = true;
    inactive_.push_back(index);
  }
}

void NodeTable::SetPeer(NodeIndex index, PeerId peer) {
  Node& node = at(index);
  node.peer_closed = false;
  if (node.peer == peer) {
    return;
  }
  Detach(index);
  node.peer = peer;
  if (peer != kNoPeer) {
    by_peer_.emplace(static_cast<std::uint64_t>(peer), index);
  }
}

std::vector<NodeIndex> NodeTable::NodesOf(PeerId peer) const {
  std::vector<NodeIndex> nodes;
  const auto [begin, end] = by_peer_.equal_range(static_cast<std::uint64_t>(peer));
  for (auto entry = begin; entry != end; ++entry) {
    nodes.push_back(entry->second);
  }
  return nodes;
}

void NodeTable::ForEach(const std::function<void(NodeIndex, const Node&)>& fn) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].in_use) {
      fn(static_cast<NodeIndex>(i), nodes_[i]);
    }
  }
}

}  // namespace drydock::sim
