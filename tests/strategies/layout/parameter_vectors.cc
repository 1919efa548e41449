#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "strategies/layout/optimizer_shard.h"
#include "strategies/layout/plain_layout.h"
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
  const auto ops = TransformOps(LayoutFrom(inputs.at("from")), LayoutFrom(inputs.at("to")),
                                inputs.at("rank").get<std::int64_t>(),
                                inputs.at("device_list").at(0).get<std::int64_t>());
  ASSERT_TRUE(ops.has_value()) << FormatError(ops.error());
  EXPECT_EQ(TransformJson(*ops), expected.at("operators"));
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

void CheckNeededRanks(const json& inputs, const json& expected) {
  TensorLayout from = LayoutFrom(inputs.at("from"));
  TensorLayout to = LayoutFrom(inputs.at("to"));
  ASSERT_TRUE(AlignDeviceCounts(&from, &to).has_value());
  const auto ops = InferRedistribution(from, to, {.optimize = false});
  ASSERT_TRUE(ops.has_value()) << FormatError(ops.error());
  EXPECT_EQ(json(PositionsReadBy(*ops, inputs.at("rank").get<std::int64_t>())),
            expected.at("ranks"));
}

void CheckAlign(const json& inputs, const json& expected) {
  TensorLayout from = LayoutFrom(inputs.at("from").at("device_matrix"),
                                 inputs.at("from").at("tensor_map"), inputs.at("tensor_shape"));
  TensorLayout to = LayoutFrom(inputs.at("to").at("device_matrix"),
                               inputs.at("to").at("tensor_map"), inputs.at("tensor_shape"));
  ASSERT_TRUE(AlignDeviceCounts(&from, &to).has_value());
  EXPECT_EQ(json(from.device_matrix), expected.at("from_device_matrix"));
  EXPECT_EQ(json(to.device_matrix), expected.at("to_device_matrix"));
}

void CheckOptimizerLayout(const json& inputs, const json& expected) {
  const auto layout = OptimizerShardLayout(LayoutFrom(inputs),
                                           inputs.at("opt_weight_shard_step").get<std::int64_t>(),
                                           inputs.at("opt_weight_shard_size").get<std::int64_t>());
  ASSERT_TRUE(layout.has_value()) << FormatError(layout.error());
  const PlainLayout plain = ExtendedForm(*layout);
  EXPECT_EQ(json(plain.device_matrix), expected.at("device_matrix"));
  EXPECT_EQ(json(plain.tensor_map), expected.at("tensor_map"));
  EXPECT_EQ(json(plain.shape), expected.at("tensor_shape"));
}

}  // namespace

Checks ParameterChecks() {
  return {{"opt_shard_slice", CheckOptimizerSlice},
          {"transform_ops", CheckTransformOps},
          {"reshard_op_map", CheckReshardOps},
          {"transform_needed_ranks", CheckNeededRanks},
          {"align_device_num", CheckAlign},
          {"opt_shard_transform_layout", CheckOptimizerLayout}};
}

}  // namespace drydock::strategies::vectors
