#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "strategies/layout/group_name.h"
#include "strategies/layout/layout_steps.h"
#include "strategies/layout/layout_unification.h"
#include "strategies/layout/redistribution.h"
#include "strategies/layout/redistribution_plan.h"
#include "tests/strategies/layout/layout_vectors.h"

namespace drydock::strategies::vectors {
namespace {

PlainLayout PlainFrom(const json& object) {
  return ExtendedForm(LayoutFrom(object));
}

/// One rank's view of the job a case describes.
struct View {
  std::int64_t world_size = 0;
  std::int64_t stage_begin = 0;
  std::int64_t position = 0;
};

Numbers ValuesAt(const std::vector<RankExpr>& exprs, std::int64_t position) {
  Numbers values;
  for (const RankExpr& expr : exprs) {
    values.push_back(ValueAt(expr, position));
  }
  return values;
}

void AddGroup(const GroupPattern& pattern, const View& view, json* object) {
  const Numbers ranks = GroupRanks(pattern, view.position, view.stage_begin);
  (*object)["group"] = GroupName(ranks, view.world_size, "hccl");
  (*object)["group_ranks"] = ranks;
}

json PrimitiveJson(const RedistributionOp& op, const View& view) {
  using Kind = RedistributionOp::Kind;
  json object;
  switch (op.kind) {
    case Kind::kAllGather:
      object["op"] = "AllGather";
      AddGroup(op.group, view, &object);
      break;
    case Kind::kSplit:
      object = {{"op", "Split"}, {"axis", op.axis}, {"output_num", op.parts}};
      break;
    case Kind::kConcat:
      object = {{"op", "Concat"}, {"axis", op.axis}};
      break;
    case Kind::kStridedSlice:
      object = {{"op", "StridedSlice"},
                {"begin", ValuesAt(op.begin, view.position)},
                {"end", ValuesAt(op.end, view.position)},
                {"strides", Numbers(op.begin.size(), 1)}};
      break;
    case Kind::kReshape:
      object = {{"op", "Reshape"}, {"shape", op.output_shape}};
      break;
    case Kind::kAlltoAll:
      object = {{"op", "AlltoAll"},
                {"split_count", op.parts},
                {"split_dim", op.split_dim},
                {"concat_dim", op.concat_dim}};
      AddGroup(op.group, view, &object);
      break;
  }
  return object;
}

json PrimitivesJson(const std::vector<RedistributionOp>& ops, const View& view) {
  json list = json::array();
  for (const RedistributionOp& op : ops) {
    list.push_back(PrimitiveJson(op, view));
  }
  return list;
}

json StepsJson(const std::vector<LayoutStep>& steps) {
  json list = json::array();
  for (const LayoutStep& step : steps) {
    json object = {{"slice_shape_before", step.slice_before}};
    switch (step.kind) {
      case LayoutStep::Kind::kSplit:
        object["op"] = "SplitByAxis";
        object["args"] = {step.count, step.dimension, step.axis};
        break;
      case LayoutStep::Kind::kConcat:
        object["op"] = "ConcatByAxis";
        object["args"] = {step.dimension, step.axis, step.count};
        break;
      case LayoutStep::Kind::kPermute:
        object["op"] = "PermuteByAxis";
        object["args"] = {step.count, step.dimension, step.concat_dimension, step.axis, step.count};
        break;
    }
    list.push_back(object);
  }
  return list;
}

void CheckShapeUtil(const json& inputs, const json& expected) {
  const auto arg = [&inputs](std::size_t i) { return inputs.at("args").at(i).get<Numbers>(); };
  const auto& function = inputs.at("function").get_ref<const std::string&>();
  Numbers result;
  if (function == "accumulate_product") {
    result = PrefixProducts(arg(0));
  } else if (function == "accumulate_product_reverse") {
    result = SuffixProducts(arg(0));
  } else if (function == "accumulate_product_reverse_to_shape") {
    result = FromSuffixProducts(arg(0)).value_or(Numbers());
  } else if (function == "expand_accumulate_product") {
    result = MergeDescending(arg(0), arg(1));
  } else if (function == "expand_shape") {
    result = ExpandShape(arg(0), arg(1)).value_or(Numbers());
  } else if (function == "unify_shape") {
    result = UnifyShape(arg(0), arg(1)).value_or(Numbers());
  } else {
    FAIL() << "unknown function " << function;
  }
  EXPECT_EQ(json(result), expected.at("result"));
}

void CheckExpandDevices(const json& inputs, const json& expected) {
  const auto expanded =
      ExpandDevices(PlainFrom(inputs), inputs.at("expanded_device_matrix").get<Numbers>());
  ASSERT_TRUE(expanded.has_value());
  EXPECT_EQ(json(expanded->tensor_map), expected.at("tensor_map"));
  EXPECT_EQ(json(expanded->shape), expected.at("tensor_shape"));
}

void CheckExpandTensor(const json& inputs, const json& expected) {
  const auto expanded =
      ExpandTensor(PlainFrom(inputs), inputs.at("expanded_tensor_shape").get<Shape>());
  ASSERT_TRUE(expanded.has_value());
  EXPECT_EQ(json(expanded->device_matrix), expected.at("device_matrix"));
  EXPECT_EQ(json(expanded->tensor_map), expected.at("tensor_map"));
}

void ExpectUnified(const PlainLayout& from, const PlainLayout& to, const json& expected) {
  const auto unified = UnifyLayouts(from, to);
  ASSERT_EQ(unified.has_value(), expected.at("expand_able").get<bool>());
  if (unified) {
    EXPECT_EQ(json(unified->from.device_matrix), expected.at("device_matrix"));
    EXPECT_EQ(unified->to.device_matrix, unified->from.device_matrix);
    EXPECT_EQ(json(unified->from.tensor_map), expected.at("from_tensor_map"));
    EXPECT_EQ(json(unified->to.tensor_map), expected.at("to_tensor_map"));
    EXPECT_EQ(json(unified->from.shape), expected.at("tensor_shape"));
    EXPECT_EQ(unified->to.shape, unified->from.shape);
  }
}

void CheckLayoutTransfer(const json& inputs, const json& expected) {
  PlainLayout from = StandardForm(PlainFrom(inputs.at("from")));
  PlainLayout to = StandardForm(PlainFrom(inputs.at("to")));
  if (inputs.value("squeeze_first", false)) {
    from = Squeezed(from);
    to = Squeezed(to);
  }
  ExpectUnified(from, to, expected);
}

void CheckReshapeTransfer(const json& inputs, const json& expected) {
  const auto side = [&inputs](const char* name) {
    const json& object = inputs.at(name);
    return ExtendedForm(
        LayoutFrom(inputs.at("device_matrix"), object.at("tensor_map"), object.at("tensor_shape")));
  };
  ExpectUnified(side("from"), side("to"), expected);
}

void CheckOperatorInference(const json& inputs, const json& expected) {
  const PlainLayout from = ExtendedForm(LayoutFrom(
      inputs.at("device_matrix"), inputs.at("from_tensor_map"), inputs.at("tensor_shape")));
  const auto steps = InferSteps(from, inputs.at("to_tensor_map").get<Numbers>(),
                                inputs.at("enable_alltoall").get<bool>());
  EXPECT_EQ(StepsJson(steps), expected.at("operators"));
}

void CheckOpNames(const json& inputs, const json& expected) {
  const auto ops = InferRedistribution(
      LayoutFrom(inputs.at("from")), LayoutFrom(inputs.at("to")),
      {.enable_alltoall = inputs.at("enable_alltoall").get<bool>(), .optimize = false});
  ASSERT_TRUE(ops.has_value()) << FormatError(ops.error());
  json names = json::array();
  for (const RedistributionOp& op : *ops) {
    names.push_back(PrimitiveJson(op, {}).at("op"));
  }
  EXPECT_EQ(names, expected.at("unoptimized"));
}

void ExpectCost(const RedistributionCost& cost, const json& expected) {
  EXPECT_EQ(cost.forward_communication, expected.at("forward_comm").get<double>());
  EXPECT_EQ(cost.backward_communication, expected.at("backward_comm").get<double>());
  EXPECT_EQ(cost.communication, expected.at("comm").get<double>());
  EXPECT_EQ(cost.computation, expected.at("computation").get<double>());
  EXPECT_EQ(cost.memory, expected.at("memory").get<double>());
}

/// Stage a rank lies in: begin and size.
View ViewOf(const json& inputs, std::int64_t rank) {
  View view{.world_size = inputs.at("world_size").get<std::int64_t>()};
  for (const json& stage : inputs.at("stage_devices")) {
    const auto size = stage.get<std::int64_t>();
    if (rank < view.stage_begin + size) {
      break;
    }
    view.stage_begin += size;
  }
  view.position = rank - view.stage_begin;
  return view;
}

void CheckRedistributionOps(const json& inputs, const json& expected) {
  const TensorLayout from = LayoutFrom(inputs.at("from"));
  const TensorLayout to = LayoutFrom(inputs.at("to"));
  RedistributionOptions options{.enable_alltoall = inputs.at("enable_alltoall").get<bool>(),
                                .keep_reshape = inputs.at("keep_reshape").get<bool>(),
                                .optimize = false};
  const auto plan = PlanRedistribution(from, to, options);
  ASSERT_TRUE(plan.has_value()) << FormatError(plan.error());
  EXPECT_EQ(StepsJson(plan->steps), expected.at("operators"));
  const auto cost = CostOfRedistribution(from, to, options);
  ASSERT_TRUE(cost.has_value()) << FormatError(cost.error());
  ExpectCost(*cost, expected.at("cost"));

  const auto raw = InferRedistribution(from, to, options);
  options.optimize = true;
  const auto optimized = InferRedistribution(from, to, options);
  ASSERT_TRUE(raw.has_value() && optimized.has_value());
  const json& expected_raw = expected.at("unoptimized");
  const json& expected_optimized =
      expected.at("optimized").is_string() ? expected_raw : expected.at("optimized");
  ASSERT_FALSE(expected_raw.empty());
  for (const auto& [rank, list] : expected_raw.items()) {
    const View view = ViewOf(inputs, std::stoll(rank));
    EXPECT_EQ(PrimitivesJson(*raw, view), list) << "raw, rank " << rank;
  }
  for (const auto& [rank, list] : expected_optimized.items()) {
    const View view = ViewOf(inputs, std::stoll(rank));
    EXPECT_EQ(PrimitivesJson(*optimized, view), list) << "optimized, rank " << rank;
  }
}

}  // namespace

Checks RedistributionChecks() {
  return {{"shape_util", CheckShapeUtil},
          {"expand_device_arrangement", CheckExpandDevices},
          {"expand_tensor_shape", CheckExpandTensor},
          {"redistribution_layout_transfer", CheckLayoutTransfer},
          {"reshape_layout_transfer", CheckReshapeTransfer},
          {"operator_inference", CheckOperatorInference},
          {"redistribution_op_names", CheckOpNames},
          {"redistribution_ops", CheckRedistributionOps}};
}

}  // namespace drydock::strategies::vectors
