#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/operators/sharding.h"

/// Named layouts that break one rule each, for tests that nothing illegal is accepted.
namespace drydock::strategies::proof {

/// One way to break the layouts of an operator's operands. Source: mindspore
/// ops_info/operator_info.cc, mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
enum class LayoutBreak : std::uint8_t {
  kFewerLayouts,      ///< One operand without layout.
  kMoreLayouts,       ///< One layout too many.
  kLowerRank,         ///< A layout with one dimension missing.
  kHigherRank,        ///< A layout with one dimension too many.
  kNoSuchAxis,        ///< An axis that the device matrix does not have.
  kAxisTwice,         ///< One device axis on two dimensions, or twice on one.
  kNotDividing,       ///< Axes whose product does not divide the extent.
  kOtherProduct,      ///< Device matrices that do not multiply to the devices.
  kOtherMatrix,       ///< Operands with different device matrices of the same product.
  kTie,               ///< Two dimensions of one rule axis with other axes or products.
  kOrder,             ///< The same axes on both, in another order.
  kUncut,             ///< A dimension that must stay whole is cut.
  kInterleavedCut,    ///< Cut along the interleaved axis where the operator cannot be.
  kInterleavedPlace,  ///< The interleaved axis is not the last one.
};

inline constexpr LayoutBreak kAllLayoutBreaks[] = {
    LayoutBreak::kFewerLayouts,   LayoutBreak::kMoreLayouts,
    LayoutBreak::kLowerRank,      LayoutBreak::kHigherRank,
    LayoutBreak::kNoSuchAxis,     LayoutBreak::kAxisTwice,
    LayoutBreak::kNotDividing,    LayoutBreak::kOtherProduct,
    LayoutBreak::kOtherMatrix,    LayoutBreak::kTie,
    LayoutBreak::kOrder,          LayoutBreak::kUncut,
    LayoutBreak::kInterleavedCut, LayoutBreak::kInterleavedPlace};

/// The reason of the error: "<Op>:layout-axis", or "Layout:..." for what is wrong with any tensor.
[[nodiscard]] std::string ReasonOf(LayoutBreak how, std::string_view op);

/// What a broken layout is made from.
struct LegalLayouts {
  const OpEntry* entry = nullptr;
  const ShardRule* rule = nullptr;
  OpView view = {};
  std::vector<TensorLayout> layouts = {};  ///< One per operand, accepted by the rule.
};

/// The layouts with one rule broken; nullopt where this operator has nothing to break that way.
[[nodiscard]] std::optional<std::vector<TensorLayout>> BreakLayouts(LayoutBreak how,
                                                                    const LegalLayouts& legal,
                                                                    std::mt19937_64& random);

}  // namespace drydock::strategies::proof
