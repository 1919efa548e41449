#include "strategies/passes/choose/dynamic_costs.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "strategies/layout/redistribution.h"
#include "strategies/operators/recursive_facts.h"
#include "strategies/operators/sharding.h"
#include "strategies/passes/choose/propagation_graph.h"

/// MindSpore's model of what operators cost: bytes that a device computes on and sends.
///
/// Forward communication is that of the partial sums an operator leaves; backward communication the
/// sum of the gradients of weights, unless every device of the stage has a part of its own. Short
/// messages cost a constant, long ones a bias.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/operator_costmodel.cc, costmodel.cc
/// (RefineForPracticalCost), ops_info/operator_info.cc (ComputeCost)
namespace drydock::strategies {
namespace {

constexpr double kTiny = 1e-6;

/// Bytes of the gradient of operand `i` that is summed, if it is a weight.
double SummedGradient(const Graph& graph, const Node& node, const JobConfig& config,
                      const OpSharding& sharding, std::size_t i) {
  std::size_t tensor = 0;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) {
      continue;
    }
    if (tensor++ != i) {
      continue;
    }
    const Value& value = graph.at(input);
    const bool weight = value.kind == ValueKind::kParameter &&
                        graph.parameters[static_cast<std::size_t>(value.detail)].requires_grad;
    const bool own_part = drydock::Product(CutsOf(sharding.inputs[i])) == StageDevices(config);
    return weight && !own_part ? SliceBytes(sharding.inputs[i], value.type.dtype) : 0;
  }
  return 0;
}

double Backward(const Graph& graph, const Node& node, const JobConfig& config,
                const OpSharding& sharding) {
  const auto summed = [&](std::size_t i) {
    return SummedGradient(graph, node, config, sharding, i);
  };
  switch (node.entry->cost) {
    case CostFamily::kMatMul:
      return summed(1);
    case CostFamily::kArithmetic:
      return summed(0) + summed(1);
    case CostFamily::kNorm: {
      double bytes = 0;
      for (std::size_t i = 0; i < sharding.inputs.size(); ++i) {
        bytes += summed(i);
      }
      return bytes;
    }
    case CostFamily::kCast:
    case CostFamily::kActivation:
    case CostFamily::kSoftmax:
    case CostFamily::kReduce:
    case CostFamily::kGather:
      return summed(0);
    default:
      return 0;
  }
}

/// True if the operator leaves partial sums. The reference looks at the last dimension of a
/// product's first operand, transposed or not.
bool LeavesPartialSums(const Node& node, const OpSharding& sharding) {
  if (node.entry->cost == CostFamily::kMatMul) {
    const std::vector<std::int64_t> cuts = CutsOf(sharding.inputs.front());
    return !cuts.empty() && cuts.back() > 1;
  }
  return !sharding.communication.empty();
}

/// A batch norm whose channels are cut counts as if it sent its operand.
bool CutsChannels(const Node& node, const OpSharding& sharding) {
  if (node.entry->cost != CostFamily::kNorm ||
      RecursiveFactsOf(*node.entry).role != RecursiveRole::kBatch) {
    return false;
  }
  const std::vector<std::int64_t> cuts = CutsOf(sharding.inputs.front());
  return cuts.size() > 1 && cuts[1] > 1;
}

/// Dividing costs as much as adding up.
bool Divides(const OpSharding& sharding) {
  return std::ranges::any_of(sharding.communication,
                             [](const auto& communication) { return communication.what.mean; });
}

void PreferDataParallel(const JobConfig& config, const OpSharding& sharding, StepCost& cost) {
  const Strategy& strategy = sharding.strategy;
  if (strategy.empty() || strategy.front().empty() ||
      strategy.front().front() != StageDevices(config)) {
    return;
  }
  for (double* part : {&cost.computation, &cost.communication, &cost.forward}) {
    *part -= *part > 1 ? 1 : 0;
  }
}

/// Adds what messages cost whatever their length.
void AddLatency(StepCost& cost) {
  const double backward = std::max(0.0, cost.communication - cost.forward);
  cost.forward = cost.forward > kTiny ? WithLatency(cost.forward) : cost.forward;
  if (cost.communication > kTiny) {
    cost.communication = cost.forward + backward;
  }
}

}  // namespace

StepCost CostOfStep(const Graph& graph, const Node& node, const JobConfig& config,
                    const Candidate& candidate) {
  const OpSharding& sharding = candidate.sharding;
  StepCost cost = {.computation = candidate.computation};
  if (node.entry->cost == CostFamily::kFree || node.entry->kind == OpKind::kDataset ||
      sharding.outputs.empty() || node.outputs.empty()) {
    return cost;
  }
  const double result =
      SliceBytes(sharding.outputs.front(), graph.at(node.outputs.front()).type.dtype);
  const bool sums = LeavesPartialSums(node, sharding);
  const bool channels = CutsChannels(node, sharding);
  // The candidate's own computation has the result once, and is sweetened already.
  if (sums && Divides(sharding)) {
    cost.computation += result;
  }
  cost.forward = sums ? result : 0;
  if (channels) {
    cost.forward = SliceBytes(sharding.inputs.front(), graph.at(node.inputs.front()).type.dtype);
  }
  cost.communication = cost.forward + Backward(graph, node, config, sharding);
  const double computation = cost.computation;
  PreferDataParallel(config, sharding, cost);
  cost.computation = computation;
  AddLatency(cost);
  return cost;
}

bool IsTooDeep(const TensorLayout& from, const TensorLayout& to, bool enable_alltoall) {
  constexpr std::size_t kMostDimensions = 8;
  const auto is_deep = [&](const TensorLayout& begin, const TensorLayout& end) {
    const auto steps =
        InferRedistribution(begin, end, {.enable_alltoall = enable_alltoall, .keep_reshape = true});
    return !steps || std::ranges::any_of(*steps, [](const RedistributionOp& step) {
      return step.output_shape.size() > kMostDimensions;
    });
  };
  return is_deep(from, to) || is_deep(to, from);  // the gradient comes back
}

StepCost ReshapeCosts::Between(const TensorLayout& from, const TensorLayout& to, DType dtype,
                               bool enable_alltoall) {
  const std::pair<Form, Form> key = {{from.device_matrix, from.tensor_map},
                                     {to.device_matrix, to.tensor_map}};
  const auto known = known_.find(key);
  if (known != known_.end()) {
    return known->second;
  }
  StepCost cost = {.computation = std::numeric_limits<double>::infinity(),
                   .communication = std::numeric_limits<double>::infinity(),
                   .forward = std::numeric_limits<double>::infinity()};
  const Result<RedistributionCost> way =
      CostOfRedistribution(from, to, {.enable_alltoall = enable_alltoall, .keep_reshape = true});
  if (way && !IsTooDeep(from, to, enable_alltoall)) {
    const auto bytes = static_cast<double>(DTypeBytes(dtype));
    cost = {.computation = way->computation * bytes,
            .communication = way->communication * bytes,
            .forward = way->communication * bytes};
    AddLatency(cost);
  }
  known_.emplace(key, cost);
  return cost;
}

}  // namespace drydock::strategies
