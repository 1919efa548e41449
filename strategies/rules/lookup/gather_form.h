#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Axis and batch dimensions of a table look-up, counted from the left.
struct GatherForm {
  std::size_t axis = 0;   ///< Looked-up dimension of the table.
  std::size_t batch = 0;  ///< Leading dimensions that table and indices share.
  std::size_t table_rank = 0;
  std::size_t index_rank = 0;
};

/// Form of a look-up with operands (table, indices) and attributes `axis` (or `dim`) and
/// `batch_dims`.
/// @error kInvalidArgument  axis or batch_dims out of range, or axis inside the batch dimensions
[[nodiscard]] Result<GatherForm> GatherFormOf(const OpView& op);

/// How a look-up is spread over ranks. Source: mindspore ops_info/gather_info.cc.
enum class GatherMode : std::uint8_t {
  kBatch,           ///< Batch dimensions tied, looked-up dimension whole.
  kNormal,          ///< Looked-up dimension whole, everything else free.
  kBatchAxisAndSp,  ///< Rows and both index dimensions cut.
  kBatchAndAxis,    ///< Rows and the first index dimension cut, using all devices.
  kAxis0,           ///< Rows (and columns) cut, indices whole.
  kAxis1,           ///< Looked-up dimension 1 (and rows) cut, indices whole.
  kManual,          ///< Each part of the table serves its part of the last index dimension.
};

/// Mode that a strategy of the right form selects.
/// @error kInvalidArgument  "<op>:strategy-gather"  no mode allows these cuts
[[nodiscard]] Result<GatherMode> GatherModeOf(const OpView& op, const GatherForm& form,
                                              const Strategy& strategy);

/// ShardFn of table look-ups.
[[nodiscard]] Result<ShardRule> ShardGather(const OpView& op, const Strategy& strategy);

}  // namespace drydock::strategies
