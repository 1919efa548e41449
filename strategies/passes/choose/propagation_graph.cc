#include "strategies/passes/choose/propagation_graph.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "strategies/operators/op_signature.h"
#include "strategies/passes/localize/wanted_layout.h"

namespace drydock::strategies {
namespace {

double InputBytes(const OpView& view, const OpSharding& sharding, std::size_t i) {
  return i < view.inputs.size() ? SliceBytes(sharding.inputs[i], view.inputs[i].dtype) : 0;
}

double OutputBytes(const OpView& view, const OpSharding& sharding) {
  return SliceBytes(sharding.outputs.front(), view.outputs.front().dtype);
}

double AllInputBytes(const OpView& view, const OpSharding& sharding) {
  double bytes = 0;
  for (std::size_t i = 0; i < view.inputs.size(); ++i) {
    bytes += InputBytes(view, sharding, i);
  }
  return bytes;
}

double ComputationBytes(CostFamily family, const OpView& view, const OpSharding& sharding) {
  const bool reduced = !sharding.communication.empty();
  const double reduced_bytes = reduced ? OutputBytes(view, sharding) : 0;
  switch (family) {
    case CostFamily::kCast:
    case CostFamily::kActivation:
    case CostFamily::kOneHot:
      return InputBytes(view, sharding, 0);
    case CostFamily::kSoftmax:
      return OutputBytes(view, sharding);
    case CostFamily::kArithmetic:
    case CostFamily::kCrossEntropy:
    case CostFamily::kGather:
      return InputBytes(view, sharding, 0) + InputBytes(view, sharding, 1);
    case CostFamily::kMatMul:
      return InputBytes(view, sharding, 0) + InputBytes(view, sharding, 1) + reduced_bytes;
    case CostFamily::kReduce:
      return InputBytes(view, sharding, 0) + reduced_bytes;
    case CostFamily::kNorm:
      return AllInputBytes(view, sharding);
    case CostFamily::kFree:
      return 0;
  }
  return 0;
}

/// Pure data parallelism is preferred among equals. Source: mindspore ops_info/operator_info.cc.
void Sweeten(const JobConfig& config, Candidate& candidate) {
  const Strategy& strategy = candidate.sharding.strategy;
  if (strategy.empty() || strategy.front().empty() ||
      strategy.front().front() != StageDevices(config)) {
    return;
  }
  candidate.computation -= candidate.computation > 1 ? 1 : 0;
  candidate.forward_communication -= candidate.forward_communication > 1 ? 1 : 0;
}

/// Layouts that hold as they were given are not propagated.
/// Source: mindspore/ccsrc/frontend/parallel/step_parallel_utils.cc (IsSupportNewShapeBaseNode)
bool StandsAlone(const Node& node) {
  return IsSelfDefined(node).value_or(false) ||
         (node.entry->given_layouts_stand_alone && node.in_layout);
}

struct Source {
  NodeId producer = kNoNode;
  std::int32_t output = 0;
};

/// Operator that really makes `value`, behind Cast and Depend; kNoNode for leaves.
Source SourceOf(const Graph& graph, ValueId value) {
  const Value* current = &graph.at(value);
  while (current->kind == ValueKind::kOutput) {
    const Node& node = graph.at(current->producer);
    if (!PassesLayoutOn(node)) {
      return {.producer = current->producer, .output = current->output_index};
    }
    current = &graph.at(node.inputs.front());
  }
  return {};
}

/// The reference connects a tuple's members only with operators that have one result.
/// Source: mindspore/ccsrc/frontend/parallel/step_auto_parallel.cc (CreateEdgeAccrossMakeList)
bool AreConnected(const Node& producer, const Node& consumer, std::size_t operand) {
  const bool takes_part = TakesPart(producer) || producer.entry->kind == OpKind::kDataset;
  return takes_part && (producer.outputs.size() < 2 || !IsTupleMember(consumer, operand));
}

}  // namespace

double SliceBytes(const TensorLayout& layout, DType dtype) {
  return static_cast<double>(Product(SliceShape(layout)) * DTypeBytes(dtype));
}

double WithLatency(double bytes) {
  constexpr double kThreshold = 2048;
  constexpr double kConstant = 3072;
  constexpr double kBias = 1024;
  if (bytes <= 0) {
    return 0;
  }
  return bytes <= kThreshold ? kConstant : bytes + kBias;
}

bool IsTupleMember(const Node& node, std::size_t operand) {
  const std::vector<SignatureArgument> call = ParseSignature(node.entry->signature).call;
  const auto tuple = std::ranges::find(call, ArgumentKind::kTensorList, &SignatureArgument::kind);
  const auto is_tensor = [](const SignatureArgument& argument) {
    return argument.kind != ArgumentKind::kAttribute;
  };
  if (tuple == call.end()) {
    return false;
  }
  const auto before = static_cast<std::size_t>(std::count_if(call.begin(), tuple, is_tensor));
  const auto behind = static_cast<std::size_t>(std::count_if(tuple + 1, call.end(), is_tensor));
  return operand >= before && operand + behind < node.inputs.size();
}

bool TakesPart(const Node& node) {
  return node.entry->kind == OpKind::kReshape || (HasRule(node) && !StandsAlone(node));
}

PropagationGraph ConnectOperators(const Graph& graph, const std::vector<Region>& regions,
                                  bool elementwise_follow) {
  PropagationGraph result;
  result.successors.resize(graph.nodes.size());
  result.predecessors.resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward || !TakesPart(node)) {
      continue;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Source source = node.inputs[i] == kNoValue ? Source{} : SourceOf(graph, node.inputs[i]);
      if (source.producer == kNoNode) {
        continue;
      }
      const Node& producer = graph.at(source.producer);
      if (!AreConnected(producer, node, i)) {
        continue;
      }
      result.successors[ToIndex(source.producer)].push_back(result.edges.size());
      result.predecessors[n].push_back(result.edges.size());
      const TensorType& type = graph.at(node.inputs[i]).type;
      const ValueId made = producer.outputs[static_cast<std::size_t>(source.output)];
      result.edges.push_back({.producer = source.producer,
                              .output = source.output,
                              .consumer = NodeId{static_cast<std::int32_t>(n)},
                              .tensor = static_cast<std::int32_t>(TensorIndex(node, i)),
                              .dtype = type.dtype,
                              .identity = elementwise_follow && producer.entry->elementwise &&
                                          graph.at(made).type.shape == type.shape});
    }
  }
  return result;
}

Candidate CandidateWithCosts(const Node& node, const OpView& view, const JobConfig& config,
                             OpSharding sharding) {
  Candidate candidate{.sharding = std::move(sharding)};
  candidate.computation = ComputationBytes(node.entry->cost, view, candidate.sharding);
  candidate.forward_communication = candidate.sharding.communication.empty()
                                        ? 0
                                        : WithLatency(OutputBytes(view, candidate.sharding));
  Sweeten(config, candidate);
  return candidate;
}

Result<std::vector<Candidate>> CandidatesOf(const Graph& graph, const Node& node,
                                            const JobConfig& config) {
  OpViewStorage storage;
  OpView view = ViewOf(graph, node, storage);
  DRYDOCK_TRY(
      const std::vector<Strategy> strategies,
      EnumerateStrategies(*node.entry, view, DevicesOf(config),
                          {.fully_use_devices = FullyUseDevices(config), .searched_only = true}));
  view.out_strategy = node.out_strategy ? &*node.out_strategy : nullptr;
  std::vector<Candidate> candidates;
  for (const Strategy& strategy : strategies) {
    Result<OpSharding> sharding = TrySharding(*node.entry, view, strategy, DevicesOf(config));
    if (!sharding) {
      continue;  // candidates that fail a check are dropped silently, as in the reference
    }
    candidates.push_back(CandidateWithCosts(node, view, config, *std::move(sharding)));
  }
  return candidates;
}

Candidate DecidedCandidate(const OpSharding& sharding) {
  return {.sharding = sharding};
}

}  // namespace drydock::strategies
