#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "strategies/layout/optimizer_shard.h"
#include "strategies/operators/checkpoint_transform.h"
#include "tests/strategies/layout/layout_vectors.h"

namespace drydock::strategies::vectors {
namespace {

json TransformJson(const std::vector<TransformOp>& ops) {
  json list = json::array();
  for (const TransformOp& op : ops) {
    list.push_back(json::array({op.name, op.args}));
  }
  return list;
}

void CheckOptimizerSlice(const json& inputs, const json& expected) {
  const auto shard = ShardForOptimizer(
      LayoutFrom(inputs), inputs.at("optimizer_weight_shard_size").get<std::int64_t>());
  ASSERT_TRUE(shard.has_value()) << FormatError(shard.error());
  ASSERT_EQ(shard->has_value(), expected.at("ok").get<bool>());
  if (shard->has_value()) {
    EXPECT_EQ(json((*shard)->slice_shape), expected.at("opt_shard_slice_shape"));
  }
}

void CheckTransformOps(const json& inputs, const json& expected) {
  const auto begin = inputs.at("device_list").at(0).get<std::int64_t>();
  const auto rank = inputs.at("rank").get<std::int64_t>();
  const auto ops =
      TransformOpsOfAll(LayoutFrom(inputs.at("from")), LayoutFrom(inputs.at("to")), rank, begin);
  ASSERT_TRUE(ops.has_value()) << FormatError(ops.error());
  EXPECT_EQ(TransformJson(ops->at(begin + rank)), expected.at("operators"));
}

void CheckReshardOps(const json& inputs, const json& expected) {
  const auto ops = ReshardOps(LayoutFrom(inputs.at("from")), LayoutFrom(inputs.at("to")),
                              inputs.at("rank").get<std::int64_t>(),
                              inputs.at("rank_list").at(0).get<std::int64_t>());
  ASSERT_TRUE(ops.has_value()) << FormatError(ops.error());
  json by_rank = json::object();
  for (const auto& [rank, list] : *ops) {
    by_rank[std::to_string(rank)] = TransformJson(list);
  }
  EXPECT_EQ(by_rank, expected.at("operators_by_rank"));
}

}  // namespace

Checks ParameterChecks() {
  return {{"opt_shard_slice", CheckOptimizerSlice},
          {"transform_ops", CheckTransformOps},
          {"reshard_op_map", CheckReshardOps}};
}

}  // namespace drydock::strategies::vectors
