#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/operators/nd_array.h"

/// What is known of a collective beyond what is known of any operator. Its entry points to these
/// facts (OpEntry::collective), so that nobody else has to tell collectives apart by name.
namespace drydock::strategies {

/// One use of a collective in the program of a rank.
struct CollectiveCall {
  const Graph& graph;
  const Node& node;
  std::int64_t payload_bytes = 0;  ///< All inputs of the rank.
  std::int64_t group_size = 1;
};

/// Bytes that one rank sends; 64 bits are never exceeded, larger numbers become the largest.
struct SentBytes {
  std::int64_t most = 0;   ///< By the rank that sends most.
  std::int64_t least = 0;  ///< By the rank that sends least: less only at edges.
};

/// A collective of two members only, of which each does one half.
enum class PointToPoint : std::uint8_t { kNone, kSends, kReceives };

/// How data moves between the members of a group, as models of time want it.
enum class CollectivePattern : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kNeighbours,  ///< With the next members only (border rows, rings of attention).
  kMessage,     ///< One half of a transfer between two ranks.
};

struct CollectiveFacts {
  /// What a rank sends in a ring algorithm, rounded up.
  SentBytes (*sent)(const CollectiveCall&) = nullptr;
  /// Results of all members from their inputs, members in group order; all inputs have one shape.
  Result<std::vector<NdArray>> (*run)(const Node&, const std::vector<NdArray>&) = nullptr;
  /// Turns attributes that describe all ranks into those of member number `member` of `ranks`;
  /// null: there are none.
  void (*specialise)(Node&, std::span<const std::int64_t> ranks, std::int64_t member) = nullptr;
  /// Every member gets the reduction of what all members give (AllReduce). So several may become
  /// one with several tensors, and one of equal values may become a product.
  bool reduces_to_all = false;
  PointToPoint point_to_point = PointToPoint::kNone;
  CollectivePattern pattern = CollectivePattern::kNeighbours;
  bool ir_shows_rank_size = true;  ///< IR dumps show attribute rank_size.
  std::string_view shown = {};     ///< Name in reports and IR dumps, if not the operator's own.
};

/// The facts of a collective that has a group; null for all other nodes.
[[nodiscard]] const CollectiveFacts* CollectiveOf(const Node& node);

/// The operator as reports and IR dumps name it.
[[nodiscard]] std::string_view ShownName(const Node& node);

/// True if every member of the node's group gets the reduction of what all give.
[[nodiscard]] bool ReducesToAll(const Node& node);

/// Which half of a transfer between two ranks the node does.
[[nodiscard]] PointToPoint PointToPointOf(const Node& node);

/// All ranks send alike.
[[nodiscard]] SentBytes EachSends(std::int64_t bytes);

}  // namespace drydock::strategies
