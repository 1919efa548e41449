#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strategies/layout/plain_layout.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// Costs of redistribution that one search has met.
///
/// The reference remembers a cost by device matrices and tensor maps alone, so that the first
/// tensor that meets two layouts decides what all others cost between them, whatever their shapes
/// and element types. Strategies that it chooses follow from that, therefore it is the same here.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc
/// (FindEdgeCostPtrInCache)
class CostMemory {
 public:
  /// @param by_first_tensor  false: every tensor has its own cost, as in releases up to 2.0
  CostMemory(bool enable_alltoall, bool by_first_tensor)
      : enable_alltoall_(enable_alltoall), by_first_tensor_(by_first_tensor) {}

  /// Cost of redistributing a tensor. Not possible: no redistribution exists.
  /// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
  [[nodiscard]] EdgeCost Between(const TensorLayout& from, const TensorLayout& to, DType dtype);

  /// A tensor meets two layouts whose cost is not asked for yet: if it is the first one, it
  /// decides.
  void Note(const TensorLayout& from, const TensorLayout& to, DType dtype);

  /// Not possible: no redistribution exists, or one would be needed on an identity connection.
  /// Source: mindspore ccsrc/frontend/parallel/auto_parallel/graph_costmodel.cc.
  [[nodiscard]] EdgeCost OfEdge(const PropagationEdge& edge, const OpSharding& producer,
                                const OpSharding& consumer);

  /// A connection is met whose cost is not asked for yet.
  void NoteEdge(const PropagationEdge& edge, const OpSharding& producer,
                const OpSharding& consumer);

 private:
  /// Device matrix and tensor map in standard form.
  using Form = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;
  /// The first tensor between two forms, and its cost once somebody asked.
  struct First {
    TensorLayout from = {};
    TensorLayout to = {};
    DType dtype = DType::kFloat32;
    std::optional<EdgeCost> cost = {};
  };

  [[nodiscard]] std::uint32_t NumberOf(const TensorLayout& layout);
  [[nodiscard]] First& FirstBetween(const TensorLayout& from, const TensorLayout& to, DType dtype);

  bool enable_alltoall_ = false;
  bool by_first_tensor_ = true;
  std::map<Form, std::uint32_t> forms_;  ///< Forms met so far, numbered.
  /// By the numbers of both forms. Look-up only: the order does not matter.
  std::unordered_map<std::uint64_t, First> known_;
};

}  // namespace drydock::strategies
