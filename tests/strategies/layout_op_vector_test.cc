#include <gtest/gtest.h>

#include "base/checked.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "tests/strategies/op_cases.h"

/// The `op_*` cases of layout.json (docs/sharding.md) through the rule
/// engine: device matrices, maps, slices, forward communication, mirrors, loss divisors and refused
/// strategies that the reference's own unit tests assert.
namespace drydock::strategies::cases {
namespace {

struct VectorCase {
  std::string id = {};
  std::string kind = {};
  json inputs = {};
  json expected = {};
  friend void PrintTo(const VectorCase& one, std::ostream* out) { *out << one.id; }
};

std::vector<VectorCase> OperatorCases() {
  std::vector<VectorCase> cases;
  const json document = VectorDocument("layout.json");
  for (const json& one :
       document.is_object() ? document.value("cases", json::array()) : json::array()) {
    const std::string kind = one.at("kind");
    if (kind.starts_with("op_")) {
      cases.push_back({.id = one.at("id"),
                       .kind = kind,
                       .inputs = one.at("inputs"),
                       .expected = one.at("expected")});
    }
  }
  return cases;
}

const OpEntry* EntryFor(const json& inputs) {
  const std::string name = inputs.at("op");
  return EntryOf(name, inputs.at("inputs_shape").at(0).size());
}

/// A Reshape takes its layouts from its neighbours: here an element-wise producer with the case's
/// strategy, and nobody behind it.
Result<OpSharding> ReshapeBehindProducer(const OpCase& one, const Strategy& strategy,
                                         std::int64_t devices) {
  GraphBuilder builder("reshape");
  DRYDOCK_TRY(const ValueId x, builder.AddInput("x", one.inputs.front()));
  DRYDOCK_TRY(const NodeId producer, builder.AddNode({.op = "ReLU", .inputs = {x}}));
  builder.mutable_graph().nodes[ToIndex(producer)].in_strategy = strategy;
  DRYDOCK_TRY(const ValueId result,
              builder.Emit({.op = "Reshape",
                            .inputs = {builder.graph().at(producer).outputs.front()},
                            .attrs = one.attrs}));
  builder.SetOutputs({result});
  const JobConfig job{
      .world_size = devices, .mode = ParallelMode::kSemiAutoParallel, .any_device_count = true};
  DRYDOCK_TRY(const LocalProgram program, Compile(std::move(builder).Take(), job));
  for (const NodePlan& plan : program.from->plans) {
    if (plan.source == StrategySource::kUser) {
      return OpSharding{.strategy = strategy,
                        .device_matrix = plan.sharding->device_matrix,
                        .inputs = plan.sharding->outputs,
                        .outputs = {program.output_layouts.front().value()}};
    }
  }
  return Fail(ErrorCode::kInternal, "the producer has no plan");
}

Result<OpSharding> Derived(const OpEntry& entry, const json& inputs) {
  const OpCase one =
      CaseFrom(entry, inputs.at("inputs_shape"), inputs.at("outputs_shape"), inputs.at("attrs"));
  const DeviceContext devices{.stage_devices = inputs.at("stage_devices").at(0),
                              .job_devices = inputs.at("world_size")};
  if (entry.kind == OpKind::kReshape) {
    return ReshapeBehindProducer(one, StrategyFrom(inputs.at("strategy")), devices.stage_devices);
  }
  return DeriveSharding(entry, one.View(), StrategyFrom(inputs.at("strategy")), devices);
}

void CheckMirrors(const OpEntry& entry, const OpSharding& sharding, const json& expected) {
  if (expected.contains("mirror_inputs_count")) {
    std::size_t mirrored = 0;
    for (std::size_t i = 0; i < sharding.inputs.size(); ++i) {
      mirrored += GroupSize(MirrorGroup(entry, sharding, i)) > 1 ? 1 : 0;
    }
    // The reference's list has one entry per input, or none at all if no input needs a mirror.
    const std::size_t listed = mirrored > 0 ? sharding.inputs.size() : 0;
    EXPECT_EQ(listed, expected.at("mirror_inputs_count"));
  }
  const json mirrors = expected.value("mirror", json::object());
  for (const auto& [input, what] : mirrors.items()) {
    EXPECT_EQ(what.at("op"), "_MirrorOperator");
    EXPECT_EQ(GroupSize(MirrorGroup(entry, sharding, std::stoul(input))) > 1 ? 1 : 0,
              what.at("count"))
        << "input " << input;
  }
}

void CheckTensors(const std::vector<TensorLayout>& layouts, const json& expected,
                  const std::string& kind) {
  for (const auto& [index, what] : expected.items()) {
    const TensorLayout& layout = layouts.at(std::stoul(index));
    if (kind == "op_tensor_map") {
      EXPECT_EQ(MapOf(layout), what) << "tensor " << index;
    } else {
      EXPECT_EQ(json(SliceShape(layout)), what) << "tensor " << index;
    }
  }
}

void CheckCommunication(const OpSharding& sharding, const json& expected) {
  ASSERT_EQ(sharding.communication.size(), expected.at("forward_op_count"));
  for (const OpSharding::Communication& one : sharding.communication) {
    const bool scatter = one.what.kind == ForwardCommunication::Kind::kReduceScatter;
    EXPECT_EQ(scatter ? "ReduceScatter" : "AllReduce", expected.at("forward_op"));
    EXPECT_EQ(one.what.reduce_op, expected.at("forward_reduce_op"));
  }
}

void CheckSharding(const OpEntry& entry, const OpSharding& sharding, const VectorCase& one) {
  if (one.kind == "op_dev_matrix") {
    EXPECT_EQ(json(sharding.device_matrix), one.expected.at("dev_matrix"));
  } else if (one.kind == "op_tensor_map" || one.kind == "op_slice_shape") {
    const json& what = one.expected.at(one.kind == "op_tensor_map" ? "tensor_map" : "slice_shape");
    CheckTensors(sharding.inputs, what.value("inputs", json::object()), one.kind);
    CheckTensors(sharding.outputs, what.value("outputs", json::object()), one.kind);
  } else if (one.kind == "op_forward_comm") {
    CheckCommunication(sharding, one.expected);
  } else if (one.kind == "op_mirror") {
    CheckMirrors(entry, sharding, one.expected);
  } else if (one.kind == "op_virtual_div") {
    EXPECT_EQ(one.expected.at("virtual_div").at("op"), "_VirtualDiv");
    EXPECT_EQ(sharding.loss_divisor, one.expected.at("virtual_div").at("divisor"));
  } else if (one.kind == "op_stage_devices") {
    EXPECT_EQ(Product(sharding.device_matrix), one.expected.at("stage_device_count"));
  } else {
    FAIL() << "no check for cases of kind " << one.kind;
  }
}

class LayoutOpVectors : public ::testing::TestWithParam<VectorCase> {};

TEST_P(LayoutOpVectors, EngineAgreesWithTheReference) {
  const VectorCase& one = GetParam();
  ASSERT_NE(EntryFor(one.inputs), nullptr) << one.inputs.at("op") << " is not in the table";
  const OpEntry& entry = *EntryFor(one.inputs);
  const Result<OpSharding> sharding = Derived(entry, one.inputs);
  if (one.kind == "op_check_strategy") {
    EXPECT_EQ(sharding ? "SUCCESS" : "FAILED", one.expected.at("init"))
        << (sharding ? "" : sharding.error().message);
    return;
  }
  ASSERT_TRUE(sharding) << sharding.error().message;
  CheckSharding(entry, *sharding, one);
}

INSTANTIATE_TEST_SUITE_P(Cases, LayoutOpVectors, ::testing::ValuesIn(OperatorCases()),
                         [](const auto& suite) { return TestName(suite.param.id); });

TEST(LayoutOpVectorFile, HasAllCases) {
  // 35 + 20 + 14 + 17 + 11 + 16 + 2 + 1 of the eight kinds; every one is checked above.
  EXPECT_EQ(OperatorCases().size(), 116U);
}

}  // namespace
}  // namespace drydock::strategies::cases
