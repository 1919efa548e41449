#include "tests/fuzz/strategy_program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "strategies/operators/op_signature.h"
#include "strategies/operators/sharding.h"
#include "strategies/passes/compile_job.h"

namespace drydock::strategies {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
/// Extents: empty, small, and what does not fit memory or 64 bits.
constexpr auto kExtents = std::to_array<std::int64_t>(
    {0, 1, 1, 2, 2, 3, 4, 4, 6, 8, 12, 16, 24, -1, std::int64_t{1} << 33, kHuge});
constexpr auto kNumbers = std::to_array<std::int64_t>(
    {0, 1, 1, 2, 2, 3, 4, -1, -2, 5, 7, 8, 1 << 20, std::int64_t{1} << 40, kHuge, -kHuge});
constexpr auto kCuts = std::to_array<std::int64_t>(
    {1, 1, 1, 1, 2, 2, 2, 4, 4, 8, 3, 6, 0, -2, std::int64_t{1} << 32, kHuge});
constexpr auto kTypes = std::to_array<DType>({DType::kFloat32, DType::kFloat32, DType::kInt32,
                                              DType::kBool, DType::kFloat16, DType::kInt64});
constexpr auto kWorlds = std::to_array<std::int64_t>({1, 2, 4, 8, 6, 12});
constexpr auto kTexts = std::to_array<const char*>(
    {"NCHW", "mean", "sum", "none", "same", "valid", "BSH", "BNSD", "float32", "int32", ""});

/// The bytes one after the other; zeros behind the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t Next(std::size_t below) {
    const std::uint8_t byte = at_ < bytes_.size() ? bytes_[at_] : std::uint8_t{0};
    ++at_;
    return byte % below;
  }
  template <typename T, std::size_t N>
  T Pick(const std::array<T, N>& values) {
    return values[Next(N)];
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

std::vector<std::int64_t> List(Bytes& bytes, const std::vector<std::int64_t>& choices,
                               std::size_t most) {
  std::vector<std::int64_t> list(bytes.Next(most));
  for (std::int64_t& number : list) {
    number = choices[bytes.Next(choices.size())];
  }
  return list;
}

template <std::size_t N>
std::vector<std::int64_t> VectorOf(const std::array<std::int64_t, N>& values) {
  return {values.begin(), values.end()};
}

Attr AnyAttr(Bytes& bytes) {
  switch (bytes.Next(6)) {
    case 0:
      return bytes.Next(2) == 1;
    case 1:
      return std::string(bytes.Pick(kTexts));
    case 2:
      return 0.5;
    case 3:
      return List(bytes, VectorOf(kNumbers), 6);
    case 4:
      return {};
    default:
      return bytes.Pick(kNumbers);
  }
}

AttrMap AnyAttrs(const OpEntry& entry, Bytes& bytes) {
  const OpSignature signature = ParseSignature(entry.signature);
  AttrMap attrs;
  for (const auto& arguments : {signature.constructor, signature.call}) {
    for (const SignatureArgument& argument : arguments) {
      if (argument.kind == ArgumentKind::kAttribute && bytes.Next(3) > 0) {
        attrs[argument.name] = AnyAttr(bytes);
      }
    }
  }
  return attrs;
}

Strategy AnyStrategy(std::size_t entries, const Graph& graph, const Node& node, Bytes& bytes) {
  Strategy strategy;
  for (std::size_t i = 0; i < entries; ++i) {
    const bool fits = i < node.inputs.size() && node.inputs[i] != kNoValue && bytes.Next(8) > 0;
    if (fits) {
      std::vector<std::int64_t> entry(graph.at(node.inputs[i]).type.shape.size());
      std::ranges::generate(entry, [&] { return bytes.Pick(kCuts); });
      strategy.push_back(std::move(entry));
    } else {
      strategy.push_back(List(bytes, VectorOf(kCuts), 10));
    }
  }
  return strategy;
}

/// Questions of searches and messages, beside those of the compiler.
void AskTheRule(const Graph& graph, const Node& node, std::int64_t world) {
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  const DeviceContext devices{.stage_devices = world, .job_devices = world};
  if (node.entry->shard == nullptr) {
    return;
  }
  (void)ReplicatedStrategy(*node.entry, view);
  if (view.inputs.size() <= 4) {
    (void)EnumerateStrategies(*node.entry, view, devices, {});
  }
  if (const auto strategy = DefaultStrategy(*node.entry, view, devices)) {
    (void)DeriveSharding(*node.entry, view, *strategy, devices);
  }
}

/// The gradient of the sum of the first result, where there is one.
void AddGradient(GraphBuilder& builder, const std::vector<ValueId>& leaves, NodeId node) {
  const ValueId output = builder.graph().at(node).outputs.front();
  if (!IsFloating(builder.TypeOf(output).dtype) || leaves.empty()) {
    return;
  }
  const auto loss = builder.Emit({.op = "ReduceSum", .inputs = {output}});
  if (loss) {
    const auto gradient = builder.Emit({.op = "_Gradient", .inputs = {*loss, leaves.front()}});
    builder.SetOutputs(gradient ? std::vector<ValueId>{*gradient, output}
                                : std::vector<ValueId>{output});
  }
}

}  // namespace

bool TryStrategyBytes(std::span<const std::uint8_t> data) {
  Bytes bytes(data);
  const auto ops = AllOps();
  const OpEntry& entry = *ops[(bytes.Next(256) * 256 + bytes.Next(256)) % ops.size()];
  GraphBuilder builder("fuzz");
  NodeSpec spec{.op = entry.name, .attrs = AnyAttrs(entry, bytes)};
  std::vector<ValueId> leaves;
  for (std::size_t i = bytes.Next(7); i > 0; --i) {
    // The same shape again, most of the time: few operators take unrelated ones.
    const bool again = !leaves.empty() && bytes.Next(3) > 0;
    const Shape shape = again ? builder.TypeOf(leaves.back()).shape
                              : List(bytes, VectorOf(kExtents), bytes.Next(8) == 0 ? 12 : 5);
    const TensorType type{.shape = shape, .dtype = bytes.Pick(kTypes)};
    const auto id = builder.AddParameter("p" + std::to_string(i), type, {});
    if (!id) {
      return false;
    }
    leaves.push_back(*id);
    spec.inputs.push_back(bytes.Next(12) == 0 ? kNoValue : *id);
  }
  const auto node = builder.AddNode(std::move(spec));
  if (!node || builder.graph().at(*node).outputs.empty()) {
    return false;
  }
  builder.SetOutputs(builder.graph().at(*node).outputs);
  AddGradient(builder, leaves, *node);
  const std::int64_t world = bytes.Pick(kWorlds);
  Node& traced = builder.mutable_graph().nodes[ToIndex(*node)];
  AskTheRule(builder.graph(), traced, world);
  if (bytes.Next(4) > 0) {
    const std::size_t entries = bytes.Next(4) > 0 ? traced.inputs.size() : bytes.Next(8);
    traced.in_strategy = AnyStrategy(entries, builder.graph(), traced, bytes);
  }
  if (bytes.Next(6) == 0) {
    traced.out_strategy = Strategy{List(bytes, VectorOf(kCuts), 6)};
  }
  const JobConfig job{
      .world_size = world, .mode = ParallelMode::kSemiAutoParallel, .any_device_count = true};
  const auto program = Compile(std::move(builder).Take(), job);
  if (!program) {
    (void)FormatError(program.error());
    return false;
  }
  return true;
}

}  // namespace drydock::strategies
