#include "tests/strategies/operators_vector.h"

#include <algorithm>
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "strategies/operators/op_outline.h"
#include "strategies/operators/op_signature.h"

/// operators.json: the facts about every operator of our table, and its worked examples through the
/// rule engine.
namespace drydock::strategies::cases {
namespace {

json Section(const char* name) {
  return OperatorsVector().is_object() ? OperatorsVector().value(name, json::array())
                                       : json::array();
}

std::vector<Fact> KnownOperators() {
  std::vector<Fact> known;
  for (const json& facts : Section("operators")) {
    const std::string name = facts.at("name");
    if (EntryOf(name, 0) != nullptr) {
      known.push_back({.name = name, .facts = facts});
    }
  }
  return known;
}

// ---- Signatures

std::vector<std::string> TensorNames(const OpSignature& signature) {
  std::vector<std::string> names;
  for (const SignatureArgument& argument : signature.call) {
    if (argument.kind != ArgumentKind::kAttribute) {
      names.push_back(argument.name);
    }
  }
  return names;
}

/// Operands that the vector lists otherwise. Of operators that make tensors, it writes "(output
/// length)" or "shape" for what the strategy describes; here numbers that decide the extents are
/// attributes.
const std::map<std::string, std::vector<std::string>>& OtherTensors() {
  static const std::map<std::string, std::vector<std::string>> kTensors = {
      // The lengths of the samples are tensors that the vector lists as tuples of numbers.
      {"PromptFlashAttention",
       {"query", "key", "value", "attn_mask", "actual_seq_lengths", "actual_seq_lengths_kv",
        "pse_shift", "deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2"}},
      {"Arange", {}},
      {"Range", {}},
      {"LinSpace", {"start", "stop"}},
      {"LinSpaceExt", {"start", "end"}},
      {"FillV2", {"value"}}};
  return kTensors;
}

/// Operators whose tuples may be tensors as well: type_cast in mindspore: ops/op_def/yaml,
/// ffn_ext_op.yaml and prompt_flash_attention_op.yaml.
bool TakesTuplesAsTensors(const json& facts) {
  return facts.at("name") == "FFNExt" || facts.at("name") == "PromptFlashAttention";
}

std::vector<std::string> TensorNames(const json& facts) {
  std::vector<std::string> names;
  if (const auto it = OtherTensors().find(facts.at("name")); it != OtherTensors().end()) {
    return it->second;
  }
  for (const json& input : facts.at("inputs")) {
    const bool cast = input.at("kind") == "attr:tuple[int]" && TakesTuplesAsTensors(facts);
    if (cast || input.at("kind").get<std::string>().starts_with("tensor")) {
      names.push_back(input.at("name"));
    }
  }
  return names;
}

// ---- What the gradient reads

/// What gradients read beyond the vector, because the reference's gradient is not the derivative of
/// the values, or because its list leaves out small operands that its kernel takes.
std::set<std::string> ReadBeyondVector(std::string_view op) {
  static const std::map<std::string_view, std::set<std::string>> kMore = {
      {"ScatterMul", {"updates", "output"}}, {"ScatterDiv", {"updates", "output"}},
      {"FakeQuantPerLayer", {"min", "max"}}, {"FakeQuantPerChannel", {"min", "max"}},
      {"ScatterMax", {"updates", "output"}}, {"ScatterMin", {"updates", "output"}},
  };
  const auto it = kMore.find(op);
  return it == kMore.end() ? std::set<std::string>() : it->second;
}

/// Names of the forward node's operands and results that its gradient nodes take as inputs.
Result<std::set<std::string>> ReadByGradient(const OpCase& one, const json& facts) {
  GraphBuilder builder("saved");
  NodeSpec spec{.op = one.entry->name, .attrs = one.attrs};
  std::map<ValueId, std::string> names;
  const std::vector<std::string> inputs = TensorNames(facts);
  const std::size_t operands =
      one.inputs.size() + static_cast<std::size_t>(std::popcount(one.absent));
  const auto wanted = std::make_unique<bool[]>(operands);
  for (std::size_t i = 0; i < operands; ++i) {
    const std::ptrdiff_t present = PresentIndex(one.View(), i);
    wanted[i] = present >= 0 && IsFloating(one.inputs[static_cast<std::size_t>(present)].dtype);
    spec.inputs.push_back(kNoValue);
    if (present >= 0) {
      DRYDOCK_TRY(
          spec.inputs.back(),
          builder.AddInput("x" + std::to_string(i), one.inputs[static_cast<std::size_t>(present)]));
      names[spec.inputs.back()] = inputs[std::min(i, inputs.size() - 1)];
    }
  }
  const NodeSpec backward{.phase = Phase::kBackward};
  DRYDOCK_TRY(const NodeId id, builder.AddNode(std::move(spec)));
  const Node node = builder.graph().at(id);
  std::vector<ValueId> arriving;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType type = builder.TypeOf(node.outputs[i]);
    DRYDOCK_TRY(const ValueId gradient, builder.AddInput("d" + std::to_string(i), type));
    const bool has_gradient = IsFloating(type.dtype) || IsComplex(type.dtype);
    arriving.push_back(has_gradient ? gradient : kNoValue);
    names[node.outputs[i]] = facts.at("outputs").at(std::min(i, facts.at("outputs").size() - 1));
  }
  const GradientContext context{.builder = builder,
                                .node = node,
                                .output_gradients = arriving,
                                .wanted = std::span<const bool>(wanted.get(), operands),
                                .spec = backward};
  DRYDOCK_RETURN_IF_ERROR(one.entry->gradient(context));
  std::set<std::string> read;
  for (const Node& emitted : builder.graph().nodes) {
    for (const ValueId input :
         emitted.phase == Phase::kBackward ? emitted.inputs : std::vector<ValueId>()) {
      if (const auto it = names.find(input); it != names.end()) {
        read.insert(it->second);
      }
    }
  }
  return read;
}

std::set<std::string> NamesIn(const json& facts, const char* field) {
  return facts.contains(field) ? facts.at(field).get<std::set<std::string>>()
                               : std::set<std::string>();
}

// ---- Element types

/// Dtype of output 0 when the float operands of the sample have `dtype` instead; nullopt if
/// refused.
std::optional<DType> OutputWith(const OpCase& sample, DType dtype) {
  OpCase one = sample;
  for (TensorType& input : one.inputs) {
    input.dtype = input.dtype == DType::kFloat32 ? dtype : input.dtype;
  }
  const auto outputs = one.entry->infer(one.View());
  return outputs ? std::optional((*outputs)[0].dtype) : std::nullopt;
}

void CheckDType(const OpCase& sample, const std::string& rule) {
  if (rule.starts_with("same as") || rule.starts_with("dtype of params") || rule == "dtype of x") {
    const DType of_first = sample.inputs.empty() ? DType::kFloat32 : sample.inputs[0].dtype;
    const DType expected = of_first == DType::kFloat32 ? DType::kFloat16 : of_first;
    EXPECT_EQ(OutputWith(sample, DType::kFloat16), expected);
  } else if (rule == "bool") {
    EXPECT_EQ(OutputWith(sample, DType::kFloat16), DType::kBool);
  } else if (rule.starts_with("float32 when the input is bool or an integer")) {
    EXPECT_EQ(OutputWith(sample, DType::kInt32), DType::kFloat32);
    EXPECT_EQ(OutputWith(sample, DType::kBool), DType::kFloat32);
    EXPECT_EQ(OutputWith(sample, DType::kFloat16), DType::kFloat16);
  } else if (rule.starts_with("float32 for bool and int64")) {
    EXPECT_EQ(OutputWith(sample, DType::kInt64), DType::kFloat32);
    EXPECT_EQ(OutputWith(sample, DType::kInt32), DType::kInt32);
  } else if (rule.starts_with("index int64")) {
    EXPECT_EQ(OutputWith(sample, DType::kFloat16), DType::kInt64);
  } else if (rule.find("float16, bfloat16, float32, float64 only") != std::string::npos) {
    EXPECT_EQ(OutputWith(sample, DType::kInt32), std::nullopt);
  }
}

class OperatorFacts : public ::testing::TestWithParam<Fact> {
 protected:
  [[nodiscard]] const OpEntry& entry() const { return *EntryOf(GetParam().name, 0); }
  [[nodiscard]] const json& facts() const { return GetParam().facts; }
};

TEST_P(OperatorFacts, FamilyIsThatOfTheVector) {
  EXPECT_EQ(entry().family, facts().at("family"));
}

TEST_P(OperatorFacts, CallTakesTheTensorsOfTheVector) {
  EXPECT_EQ(TensorNames(ParseSignature(entry().signature)), TensorNames(facts()));
}

TEST_P(OperatorFacts, SignatureHasTheAttributesOfTheVector) {
  const OpSignature signature = ParseSignature(entry().signature);
  std::set<std::string> names;
  for (const auto& arguments : {signature.constructor, signature.call}) {
    for (const SignatureArgument& argument : arguments) {
      names.insert(argument.name);
    }
  }
  for (const json& input : facts().at("inputs")) {
    const bool describes_result = input.at("name").get<std::string>().starts_with("(");
    EXPECT_TRUE(describes_result || names.contains(input.at("name")))
        << input.at("name") << " is not in " << entry().signature;
  }
}

TEST_P(OperatorFacts, SampleGivesTheOutputsOfTheVector) {
  const std::optional<OpCase> sample = SampleOf(entry());
  ASSERT_TRUE(sample) << "its entry needs an .example";
  const json& outputs = facts().at("outputs");
  const bool any_number = entry().kind == OpKind::kDataset || entry().name.starts_with("Split");
  EXPECT_TRUE(any_number || sample->outputs.size() == outputs.size())
      << sample->outputs.size() << " of " << outputs;
}

TEST_P(OperatorFacts, ElementTypeFollowsTheVector) {
  const std::optional<OpCase> sample = SampleOf(entry());
  ASSERT_TRUE(sample) << "its entry needs an .example";
  CheckDType(*sample, facts().value("dtype", ""));
}

TEST_P(OperatorFacts, GradientReadsWhatTheVectorSaves) {
  const std::optional<OpCase> sample = SampleOf(entry());
  ASSERT_TRUE(sample) << "its entry needs an .example";
  const std::set<std::string> saved = NamesIn(facts(), "saved_for_backward");
  // Operators of the user's own have no types to try; their gradient keeps everything.
  if (GradientSupportOf(entry()) != GradientSupport::kYes || entry().infer == nullptr) {
    EXPECT_TRUE(saved.empty()) << "no gradient, but the vector saves " << json(saved);
    return;
  }
  const auto read = ReadByGradient(*sample, facts());
  ASSERT_TRUE(read) << read.error().message;
  std::set<std::string> allowed = saved;
  allowed.merge(NamesIn(facts(), "kept_as_input"));
  allowed.merge(ReadBeyondVector(entry().name));
  EXPECT_TRUE(std::ranges::includes(*read, saved))
      << json(*read) << " lacks some of " << json(saved);
  EXPECT_TRUE(std::ranges::includes(allowed, *read))
      << json(*read) << " is more than " << json(allowed);
}

TEST_P(OperatorFacts, OutStrategyAndLayoutsAreAcceptedAsInTheVector) {
  const bool takes_out =
      !facts().at("out_strategy").is_boolean() || facts().at("out_strategy").get<bool>();
  EXPECT_EQ(entry().accepts_out_strategy, takes_out);
  const std::string layout = facts().at("layout");
  if (layout == "none") {
    EXPECT_FALSE(entry().accepts_layout);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OperatorFacts, ::testing::ValuesIn(KnownOperators()),
                         [](const auto& suite) { return TestName(suite.param.name); });

TEST(OperatorVectorFile, EveryOperatorIsInTheTable) {
  std::string missing;
  for (const json& facts : Section("operators")) {
    const std::string name = facts.at("name");
    missing += EntryOf(name, 0) == nullptr ? " " + name : "";
  }
  EXPECT_EQ(Section("operators").size(), 336U);
  EXPECT_EQ(missing, "");
}

// ---- Worked examples

struct Example {
  std::string name = {};
  json example = {};
  friend void PrintTo(const Example& one, std::ostream* out) { *out << one.name; }
};

std::vector<Example> Examples() {
  std::vector<Example> examples;
  for (const json& one : Section("examples")) {
    const std::string op = one.at("op");
    examples.push_back({.name = std::to_string(examples.size()) + "_" + op, .example = one});
  }
  return examples;
}

/// Ranks of rank 0's group, [] where the group is rank 0 alone.
json GroupOfRankZero(const GroupPattern& group) {
  return GroupSize(group) > 1 ? json(GroupRanks(group, 0, 0)) : json::array();
}

std::string CommunicationText(const OpSharding::Communication& one) {
  const bool scatter = one.what.kind == ForwardCommunication::Kind::kReduceScatter;
  std::string text = (scatter ? "ReduceScatter " : "AllReduce ") + one.what.reduce_op;
  text += scatter ? " on dim 0" : "";
  return text + (one.what.mean ? ", RealDiv by " + std::to_string(GroupSize(one.group)) : "");
}

/// Attributes that the examples leave to the reader: their shapes follow with these only.
json UnsaidAttrs(const std::string& op) {
  if (op == "LayerNorm") {
    return {{"begin_norm_axis", -1}, {"begin_params_axis", -1}};
  }
  if (op == "Conv2D") {
    return {{"pad_mode", "same"}};
  }
  if (op == "FlashAttentionScore") {
    return {{"head_num", 8}};
  }
  return json::object();
}

class WorkedExample : public ::testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    const json& one = GetParam().example;
    const std::string op = one.at("op");
    entry_ = EntryOf(op, 0);
    ASSERT_TRUE(entry_ != nullptr && entry_->shard != nullptr) << "no rule for " << op;
    json attrs = one.value("attrs", json::object());
    attrs["transpose_b"] = one.value("variant", "") == "transpose_b";
    attrs.update(UnsaidAttrs(op));
    case_ = CaseFrom(*entry_, one.at("input_shapes"), one.at("output_shapes"), attrs);
    const std::int64_t devices = one.at("devices");
    auto sharding = DeriveSharding(*entry_, case_.View(), StrategyFrom(one.at("strategy")),
                                   {.stage_devices = devices, .job_devices = devices});
    ASSERT_TRUE(sharding) << sharding.error().message;
    sharding_ = *std::move(sharding);
  }

  const OpEntry* entry_ = nullptr;
  OpCase case_ = {};
  OpSharding sharding_ = {};
};

TEST_P(WorkedExample, DeviceMatrixAndMaps) {
  const json& one = GetParam().example;
  EXPECT_EQ(json(sharding_.device_matrix), one.at("dev_matrix"));
  for (std::size_t i = 0; i < one.at("input_maps").size(); ++i) {
    EXPECT_EQ(MapOf(sharding_.inputs.at(i)), one.at("input_maps").at(i)) << "input " << i;
  }
  for (std::size_t i = 0; i < one.at("output_maps").size(); ++i) {
    EXPECT_EQ(MapOf(sharding_.outputs.at(i)), one.at("output_maps").at(i)) << "output " << i;
  }
}

TEST_P(WorkedExample, SlicesAndMirrorGroups) {
  const json& one = GetParam().example;
  for (std::size_t i = 0; i < one.at("local_inputs").size(); ++i) {
    EXPECT_EQ(json(SliceShape(sharding_.inputs.at(i))), one.at("local_inputs").at(i))
        << "input " << i;
  }
  for (std::size_t i = 0; i < one.at("local_outputs").size(); ++i) {
    EXPECT_EQ(json(SliceShape(sharding_.outputs.at(i))), one.at("local_outputs").at(i))
        << "output " << i;
  }
  const json mirrors = one.value("mirror_groups_rank0", json::array());
  for (std::size_t i = 0; i < mirrors.size(); ++i) {
    EXPECT_EQ(GroupOfRankZero(MirrorGroup(*entry_, sharding_, i)), mirrors.at(i)) << "input " << i;
  }
}

TEST_P(WorkedExample, ForwardCommunication) {
  const json& one = GetParam().example;
  const json group = one.value("forward_comm_group_rank0", json::array());
  if (group.empty()) {
    EXPECT_TRUE(sharding_.communication.empty());
    return;
  }
  ASSERT_EQ(sharding_.communication.size(), 1U);
  EXPECT_EQ(GroupOfRankZero(sharding_.communication[0].group), group);
  const std::string text = CommunicationText(sharding_.communication[0]);
  EXPECT_EQ(one.value("forward_comm", text), text);
}

TEST_P(WorkedExample, GlobalShapesAreInferred) {
  const json& one = GetParam().example;
  const OpView view{.op = entry_->name, .inputs = case_.inputs, .attrs = &case_.attrs};
  const auto outputs = entry_->infer(view);
  ASSERT_TRUE(outputs) << outputs.error().message;
  for (std::size_t i = 0; i < one.at("output_shapes").size(); ++i) {
    EXPECT_EQ(json(outputs->at(i).shape), one.at("output_shapes").at(i)) << "output " << i;
  }
}

/// Numbers that the local program of single ranks uses: begin of own rows, own classes, local
/// multiples.
TEST_P(WorkedExample, LocalProgramHasTheRanksOwnNumbers) {
  const json& one = GetParam().example;
  if (entry_->family == "one_hot") {
    case_.inputs[1].dtype = case_.inputs[2].dtype = DType::kFloat32;
  }
  const auto program = LocalExample(case_, sharding_);
  ASSERT_TRUE(program) << program.error().message;
  if (sharding_.communication.empty()) {
    EXPECT_EQ(program->at(program->outputs.front()).type.shape,
              SliceShape(sharding_.outputs.front()));
  }
  using Texts = std::vector<std::string>;
  for (const auto& [field, rank] : {std::pair("bias_rank3", 3), std::pair("bias_rank5", 5),
                                    std::pair("mod_rank_of_rank5", 5)}) {
    if (one.contains(field)) {
      EXPECT_EQ(AttrTexts(*program, "_RankScalar", "value", rank), Texts{one.at(field).dump()})
          << field;
    }
  }
  if (one.contains("depth_local")) {
    EXPECT_EQ(AttrTexts(*program, entry_->name, "depth", 0), Texts{one.at("depth_local").dump()});
  }
  if (one.contains("local_dims")) {
    EXPECT_EQ(AttrTexts(*program, entry_->name, "dims", 0),
              Texts{AttrText(one.at("local_dims").get<Numbers>())});
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, WorkedExample, ::testing::ValuesIn(Examples()),
                         [](const auto& suite) { return TestName(suite.param.name); });

TEST(OperatorVectorFile, HasAllExamples) {
  EXPECT_EQ(Examples().size(), 32U);
}

}  // namespace
}  // namespace drydock::strategies::cases
