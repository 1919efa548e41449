#include "strategies/passes/choose/optimal_memory.h"

#include <algorithm>

#include "base/checked.h"
#include "strategies/passes/localize/wanted_layout.h"

/// Memory that a strategy decides, for the search that has to fit into it.
///
/// An element of a weight costs itself, its gradient, and each optimizer state that the script made
/// of it: 16 bytes with Adam in float32. Results of operators are kept until backward has used
/// them; that some are not needed then makes this more than the truth, and workspaces make it less.
/// What the chosen strategies really need is worked out afterwards, kernel by kernel, as for every
/// program.
///
/// Stage s of p keeps the results of min(micro batches, p - s) micro batches (one forward, one
/// backward).
namespace drydock::strategies {
namespace {

double MicrosInFlight(const Node& node, const JobConfig& config) {
  if (config.pipeline_stages <= 1) {
    return 1;
  }
  const std::int64_t behind = config.pipeline_stages - std::max(0, node.stage);
  return static_cast<double>(std::clamp<std::int64_t>(config.micro_batches, 1, behind));
}

}  // namespace

KeptBytes::KeptBytes(const Graph& graph, const JobConfig& config)
    : graph_(graph), config_(config), state_bytes_(graph.values.size(), 0.0) {
  for (const Parameter& parameter : graph.parameters) {
    const auto bytes = static_cast<double>(DTypeBytes(graph.at(parameter.value).type.dtype));
    if (parameter.state_of != kNoValue) {
      state_bytes_[ToIndex(parameter.state_of)] += bytes;
    } else if (config.training && parameter.requires_grad) {
      state_bytes_[ToIndex(parameter.value)] += bytes;  // Its gradient.
    }
  }
}

ValueId KeptBytes::WeightOf(ValueId operand) const {
  while (operand != kNoValue && graph_.at(operand).kind == ValueKind::kOutput) {
    const Node& node = graph_.at(graph_.at(operand).producer);
    if (!PassesLayoutOn(node)) {
      return kNoValue;
    }
    operand = node.inputs.front();
  }
  return operand != kNoValue && graph_.at(operand).kind == ValueKind::kParameter ? operand
                                                                                 : kNoValue;
}

double KeptBytes::WeightBytes(ValueId weight, const TensorLayout& layout) const {
  const DType dtype = graph_.at(weight).type.dtype;
  const double own = SliceBytes(layout, dtype);
  const double others = own / static_cast<double>(DTypeBytes(dtype)) * StateBytes(weight);
  if (!config_.enable_parallel_optimizer) {
    return own + others;
  }
  std::int64_t replicas = StageDevices(config_) / drydock::Product(CutsOf(layout));
  const std::int64_t most = config_.optimizer_sharding.shard_size;
  replicas = most > 0 ? std::min(replicas, most) : replicas;
  return (own + others) / static_cast<double>(std::max<std::int64_t>(1, replicas));
}

double KeptBytes::Of(const Node& node, const OpSharding& sharding,
                     const std::vector<bool>& counts_weights) const {
  double bytes = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId weight = WeightOf(node.inputs[i]);
    if (weight != kNoValue && counts_weights[i]) {
      bytes += WeightBytes(weight, sharding.inputs[TensorIndex(node, i)]);
    }
  }
  if (!config_.training || IsInRecomputedScope(node)) {
    return bytes;
  }
  for (std::size_t k = 0; k < std::min(node.outputs.size(), sharding.outputs.size()); ++k) {
    bytes += MicrosInFlight(node, config_) *
             SliceBytes(sharding.outputs[k], graph_.at(node.outputs[k]).type.dtype);
  }
  return bytes;
}

}  // namespace drydock::strategies
