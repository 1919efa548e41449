#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "strategies/passes/choose/best_choice.h"
#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// How much more a byte sent costs than a byte computed, in MindSpore's searches: 400; on GPUs 50.
[[nodiscard]] double CommunicationWeight(const JobConfig& config);

/// What it costs to turn layouts into others, each pair worked out once.
///
/// Unlike MindSpore's searches, which take over what the first tensor between two layouts costs for
/// all others, every tensor has its own costs.
class WayCosts {
 public:
  explicit WayCosts(const JobConfig& config) : config_(config) {}

  /// Numbers of layouts: equal for layouts that every rank owns the same slice of.
  [[nodiscard]] std::uint32_t NumberOf(const TensorLayout& layout);

  /// Computation plus weighed communication, forwards and backwards; infinite: not possible.
  [[nodiscard]] double Between(std::uint32_t from, std::uint32_t to, DType dtype);

 private:
  using Form = std::tuple<Shape, std::vector<std::int64_t>, std::vector<std::int64_t>>;

  [[nodiscard]] double WorkOut(const TensorLayout& from, const TensorLayout& to, DType dtype) const;

  const JobConfig& config_;
  std::map<Form, std::uint32_t> numbers_ = {};
  std::vector<TensorLayout> layouts_ = {};  ///< By number.
  /// By both numbers and the element type. Look-up only: the order does not matter.
  std::unordered_map<std::uint64_t, double> known_ = {};
};

}  // namespace drydock::strategies
