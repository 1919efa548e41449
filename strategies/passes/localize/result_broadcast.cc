#include "strategies/passes/localize/result_broadcast.h"

#include <string>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/localize/local_draft.h"

/// What a network returns is made in its last stage; a prediction in stages may ask for it
/// everywhere.
///
/// Every other stage has zeros in its place, behind all that it sends (stage_programs.h). So the
/// sum over the ranks that stand at one position of all stages is the result, and no rank is the
/// root of anything. Several results are summed one after the other, so that all stages do it in
/// one order. A job that trains returns a loss, which stays where it is.
///
/// Example: 8 ranks, 2 stages: rank 0 sums Depend(0, Send), rank 4 its mean, in the group {0, 4}.
/// Source: mindspore/ccsrc/frontend/parallel/parallel_postprocessor.cc (BroadcastLastResult)
namespace drydock::strategies {
namespace {

ValueId NewResult(Graph& graph, const TensorType& type) {
  const ValueId id{static_cast<std::int32_t>(graph.values.size())};
  graph.values.push_back({.kind = ValueKind::kOutput,
                          .type = type,
                          .producer = NodeId{static_cast<std::int32_t>(graph.nodes.size())}});
  return id;
}

ValueId Append(Graph& graph, Node node) {
  const TensorType type = graph.at(node.inputs.front()).type;
  node.outputs = {NewResult(graph, type)};
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs.front();
}

/// The value, not before another one is there.
ValueId After(Graph& graph, ValueId value, ValueId earlier) {
  return Append(graph, {.op = std::string(ops::kDepend),
                        .entry = FindOp(ops::kDepend),
                        .inputs = {value, earlier},
                        .scope = "Default"});
}

ValueId SumOverStages(Graph& graph, ValueId value, const JobConfig& config) {
  Node sum{.op = std::string(ops::kAllReduce),
           .entry = FindOp(ops::kAllReduce),
           .inputs = {value},
           .attrs = {{"op", "sum"}},
           .scope = "Default"};
  sum.group =
      MakeGroupPattern({{.stride = StageDevices(config), .extent = config.pipeline_stages}});
  sum.group->of_job = true;
  sum.reason = CommReason::kStageBorder;
  sum.reason_text = "result of the last stage, given to all";
  return Append(graph, std::move(sum));
}

}  // namespace

void BroadcastResults(Graph& stage, const JobConfig& config) {
  if (config.training || !config.pipeline_result_broadcast || config.pipeline_stages == 1) {
    return;
  }
  ValueId earlier = kNoValue;
  for (ValueId& output : stage.outputs) {
    const ValueId value = earlier == kNoValue ? output : After(stage, output, earlier);
    output = SumOverStages(stage, value, config);
    earlier = output;
  }
}

}  // namespace drydock::strategies
