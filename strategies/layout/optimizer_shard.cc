#include "strategies/layout/optimizer_shard.h"

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
  if (replica_count == 1 || shard.slice_shape.empty() || shard.slice_shape[0] % members != 0) {
    return std::optional<OptimizerShard>();
  }
  if (replica_count % members != 0) {
    return FailInput("OptimizerShard:size",
                     "optimizer_weight_shard_size " + std::to_string(shard_size) +
                         " does not divide the " + std::to_string(replica_count) +
                         " replicas of a parameter",
                     "use a divisor of " + std::to_string(replica_count) + " or -1");
  }
  auto block = InnerBlock(replicas, members);
  if (!block) {
    return Fail(ErrorCode::kUnsupported,
                "blocks of " + std::to_string(members) +
                    " replicas do not follow the axes of the device matrix",
                "use an optimizer_weight_shard_size that multiplies inner axes");
  }
  shard.gather_group = *std::move(block);
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
