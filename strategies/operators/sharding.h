#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Number of ranks of the operator's stage and of the whole job.
struct DeviceContext {
  std::int64_t stage_devices = 1;
  std::int64_t job_devices = 1;
};

/// Turns an operator's axis mapping and a strategy into layouts, groups and communication.
///
/// @error kInvalidArgument  a check of mindspore ops_info/operator_info.cc or of the operator's
/// rule fails; reason is
///                          "<Op>:strategy-<what>", the hint names the nearest legal strategy
/// @error kUnsupported      the rule does not handle this form
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<OpSharding> DeriveSharding(const OpEntry& entry, const OpView& view,
                                                const Strategy& strategy,
                                                const DeviceContext& devices);

/// The same without looking for a legal neighbour on failure; for searches that try many
/// strategies.
[[nodiscard]] Result<OpSharding> TrySharding(const OpEntry& entry, const OpView& view,
                                             const Strategy& strategy,
                                             const DeviceContext& devices);

/// The same from named layouts, one per tensor input, on one device matrix that fills the stage.
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<OpSharding> DeriveShardingFromLayouts(
    const OpEntry& entry, const OpView& view, const std::vector<TensorLayout>& in_layouts,
    const std::vector<TensorLayout>& out_layouts, const DeviceContext& devices);

/// Strategy of an operator the user said nothing about: batch parallel, reduced to what divides.
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<Strategy> DefaultStrategy(const OpEntry& entry, const OpView& view,
                                               const DeviceContext& devices);

/// Which strategies are candidates.
struct CandidateScope {
  bool fully_use_devices = false;  ///< Only those that use all devices of the stage, or one.
  bool searched_only = false;      ///< Axes that the search leaves whole are not cut.
};

/// All candidate strategies, in the reference's order. Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<std::vector<Strategy>> EnumerateStrategies(const OpEntry& entry,
                                                                const OpView& view,
                                                                const DeviceContext& devices,
                                                                const CandidateScope& scope);

/// Strategy of all ones.
[[nodiscard]] Strategy ReplicatedStrategy(const OpEntry& entry, const OpView& view);

/// Entries in which two strategies differ; missing ones count.
[[nodiscard]] std::size_t ChangedEntries(const Strategy& a, const Strategy& b);

/// Up to `count` legal strategies (without an output strategy), those that differ from `wanted` in
/// the fewest entries first, and of equal ones those that use more devices. Each has passed the
/// operator's rule.
[[nodiscard]] std::vector<Strategy> NearestLegalStrategies(const OpEntry& entry, const OpView& view,
                                                           const Strategy& wanted,
                                                           const DeviceContext& devices,
                                                           std::size_t count);

/// Up to `count` legal sets of input layouts, those that differ from `wanted` in the fewest
/// dimensions first; each has passed the operator's rule. Dimensions are left whole or cut like
/// another dimension of the same call.
[[nodiscard]] std::vector<std::vector<TensorLayout>> NearestLegalLayouts(
    const OpEntry& entry, const OpView& view, const std::vector<TensorLayout>& wanted,
    const DeviceContext& devices, std::size_t count);

}  // namespace drydock::strategies
