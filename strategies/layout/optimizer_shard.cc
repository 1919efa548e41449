#include "strategies/layout/optimizer_shard.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

/// The innermost digits of `replicas` that number exactly `block` consecutive replicas.
std::optional<GroupPattern> InnerBlock(const GroupPattern& replicas, std::int64_t block) {
  std::vector<RankDigit> digits;
  for (std::size_t d = replicas.digits.size(); d-- > 0 && block > 1;) {
    RankDigit digit = replicas.digits[d];
    if (digit.extent > block) {
      if (digit.extent % block != 0) {
        return std::nullopt;
      }
      digit.extent = block;
    }
    if (block % digit.extent != 0) {
      return std::nullopt;
    }
    block /= digit.extent;
    digits.push_back(digit);
  }
  return MakeGroupPattern(std::move(digits));
}

/// The layout with its rows cut further over the digits of `block`, none of which cuts it yet. The
/// device matrix is cut where a digit begins or ends: {8} with the block {stride 1, extent 2}
/// becomes {4, 2}.
TensorLayout CutRows(const TensorLayout& layout, const GroupPattern& block) {
  std::vector<std::vector<RankDigit>> cuts(layout.tensor_map.size());
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    for (const std::int64_t axis : layout.tensor_map[d]) {
      const std::size_t from_left =
          layout.device_matrix.size() - 1 - static_cast<std::size_t>(axis);
      if (const RankDigit digit = AxisDigit(layout.device_matrix, from_left); digit.extent > 1) {
        cuts[d].push_back(digit);
      }
    }
  }
  cuts[0].insert(cuts[0].end(), block.digits.begin(), block.digits.end());
  std::vector<std::int64_t> strides = {1, Product(layout.device_matrix)};
  for (const std::vector<RankDigit>& digits : cuts) {
    for (const RankDigit& digit : digits) {
      strides.push_back(digit.stride);
      strides.push_back(digit.stride * digit.extent);
    }
  }
  std::ranges::sort(strides);
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  TensorLayout result{.tensor_map = std::vector<std::vector<std::int64_t>>(cuts.size()),
                      .shape = layout.shape};
  for (std::size_t i = strides.size() - 1; i > 0; --i) {
    result.device_matrix.push_back(strides[i] / strides[i - 1]);
  }
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    for (const RankDigit& digit : cuts[d]) {
      result.tensor_map[d].push_back(std::ranges::lower_bound(strides, digit.stride) -
                                     strides.begin());
    }
  }
  return result;
}

}  // namespace

Result<std::optional<OptimizerShard>> ShardForOptimizer(const TensorLayout& layout,
                                                        std::int64_t shard_size) {
  if (shard_size != -1 && shard_size < 1) {
    return FailInput("OptimizerShard:size",
                     "optimizer_weight_shard_size is " + std::to_string(shard_size),
                     "use -1 or a positive number");
  }
  const GroupPattern replicas = ReplicaPattern(layout);
  const std::int64_t replica_count = GroupSize(replicas);
  const bool is_partial = shard_size != -1 && replica_count > shard_size;
  const std::int64_t members = is_partial ? shard_size : replica_count;
  OptimizerShard shard{.slice_shape = SliceShape(layout)};
  if (replica_count == 1 || members == 1 || shard.slice_shape.empty() ||
      shard.slice_shape[0] % members != 0 || replica_count % members != 0) {
    return std::optional<OptimizerShard>();
  }
  auto block = InnerBlock(replicas, members);
  if (!block) {
    return Fail(ErrorCode::kUnsupported,
                "blocks of " + std::to_string(members) +
                    " replicas do not follow the axes of the device matrix",
                "use an optimizer_weight_shard_size that multiplies inner axes");
  }
  shard.gather_group = *std::move(block);
  shard.layout = CutRows(layout, shard.gather_group);
  shard.slice_shape[0] /= members;
  shard.row_begin = Times(IndexExpr(shard.gather_group), shard.slice_shape[0]);
  if (is_partial) {
    const std::int64_t blocks = replica_count / members;
    shard.mirror_group =
        MakeGroupPattern({{.stride = Product(layout.device_matrix) / blocks, .extent = blocks}});
  }
  shard.size = shard_size == -1 ? -1 : members;
  const std::vector<std::int64_t> ranks = GroupRanks(replicas, 0, 0);
  shard.step = (ranks.back() - ranks.front()) / (replica_count - 1);
  return std::optional(std::move(shard));
}

}  // namespace drydock::strategies
