#include <algorithm>

#include "base/text.h"
#include "strategies/passes/backward/fuse_kernels.h"
#include "strategies/passes/backward/simplify.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/passes/choose/propagate.h"
#include "strategies/passes/communicate/constant_sums.h"
#include "strategies/passes/communicate/fuse.h"
#include "strategies/passes/communicate/merge_equal.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/prepare/clean_traced.h"
#include "strategies/passes/prepare/hand_cut.h"
#include "strategies/passes/prepare/rewrite.h"
#include "strategies/passes/schedule/schedule.h"
#include "strategies/program/program.h"

/// The pass pipeline: the one place that lists what runs, in order.
namespace drydock::strategies {
namespace {

Status CheckNotEmpty(const Graph& graph) {
  if (graph.nodes.empty()) {
    return FailInput("graph:empty", "the network has no operator that contributes to its result",
                     "return the loss or an output from the network");
  }
  return {};
}

/// Slices need something to cut; where nothing is cut, tensors without elements are as good as any.
Status CheckInputs(const Graph& graph) {
  for (const ValueId input : graph.inputs) {
    const Value& value = graph.at(input);
    if (std::ranges::find(value.type.shape, 0) == value.type.shape.end()) {
      continue;
    }
    Status status = FailInput("graph:empty-input",
                              "input '" + value.name + "' of shape " + TupleText(value.type.shape) +
                                  " holds nothing that could be cut",
                              "give it at least one element along every dimension");
    const auto reader = std::ranges::find_if(graph.nodes, [input](const Node& node) {
      return std::ranges::find(node.inputs, input) != node.inputs.end();
    });
    return reader == graph.nodes.end() ? status
                                       : Status(tl::unexpected(WithPlace(std::move(status).error(),
                                                                         PlaceOf(graph, *reader))));
  }
  return {};
}

/// Documents may hold operators outside the table; all that is known of them is what they return.
void CountUnknown(const Graph& graph, std::vector<Diagnostic>& diagnostics) {
  for (const Node& node : graph.nodes) {
    if (node.entry == &UnknownOp()) {
      AddDiagnostic(diagnostics, {.code = "unknown-operator",
                                  .text = "'" + node.op +
                                          "' is not in the operator table; its time counts as 0, "
                                          "its gradient as one kernel that keeps all operands",
                                  .first_place = PlaceOf(graph, node),
                                  .unsupported = true});
    }
  }
}

/// What a network that is not trained returns becomes data parallel, unless the job says how its
/// batches are cut. No search looks at that: what is added follows its operand.
void GatherOutputs(Graph& graph, std::vector<Region>& regions, const JobConfig& config,
                   Assignment& assignment) {
  if (config.training || config.dataset.kind == DatasetStrategy::Kind::kCuts) {
    return;
  }
  graph = AppendOutputNodes(std::move(graph), regions, StageDevices(config),
                            config.dataset.kind == DatasetStrategy::Kind::kFullBatch);
  regions.resize(graph.nodes.size(), Region::kForward);
  assignment.plans.resize(graph.nodes.size());
}

Result<Assignment> ChooseStrategies(Graph& graph, std::vector<Region>& regions,
                                    const JobConfig& config) {
  if (!CutsOperators(config.mode)) {
    return Assignment{.plans = std::vector<NodePlan>(graph.nodes.size())};
  }
  DRYDOCK_TRY(Assignment assignment, AssignGiven(graph, regions, config));
  if (config.mode == ParallelMode::kAutoParallel) {
    DRYDOCK_RETURN_IF_ERROR(PropagateStrategies(graph, regions, config, assignment));
  }
  GatherOutputs(graph, regions, config, assignment);
  DRYDOCK_RETURN_IF_ERROR(AssignDefaults(graph, regions, config, assignment));
  return assignment;
}

}  // namespace

Result<CompiledProgram> Compile(Graph traced, const JobConfig& config, RankId rank) {
  DRYDOCK_RETURN_IF_ERROR(ValidateJob(config));
  CompiledProgram program{.config = config, .traced = CleanTraced(std::move(traced))};
  DRYDOCK_RETURN_IF_ERROR(CheckNotEmpty(program.traced));
  if (CutsOperators(config.mode)) {
    DRYDOCK_RETURN_IF_ERROR(CheckInputs(program.traced));
    program.traced = InsertDatasetNode(std::move(program.traced));
    DRYDOCK_TRY(program.hand_cuts, TakeHandCuts(program.traced));
    if (config.dataset_repeat_on_right && !program.traced.inputs.empty()) {
      program.traced.nodes.front().attrs["dataset_repeat_dim_right"] = true;
    }
  }
  std::vector<Region> regions = ClassifyNodes(program.traced);
  DRYDOCK_TRY(Assignment assignment, ChooseStrategies(program.traced, regions, config));
  program.plans = std::move(assignment.plans);
  program.diagnostics = std::move(assignment.diagnostics);
  DRYDOCK_RETURN_IF_ERROR(GiveRows(program, rank));
  CountUnknown(program.traced, program.diagnostics);
  DRYDOCK_TRY(LocalProgram local,
              BuildLocalProgram(program.traced, regions, program.plans, config));
  for (Diagnostic& diagnostic : local.diagnostics) {
    AddDiagnostic(program.diagnostics, std::move(diagnostic));
  }
  if (CutsOperators(config.mode)) {
    local.graph = FoldConstantSums(std::move(local.graph));
  }
  Graph simple = MergeEqualNodes(SimplifyGraph(std::move(local.graph)));
  program.local = FuseCollectives(FuseKernels(std::move(simple)), config);
  DRYDOCK_TRY(program.kernels, ScheduleKernels(program.local, config.data_sink));
  program.parameter_layouts = std::move(local.parameter_layouts);
  program.output_layouts = std::move(local.output_layouts);
  program.redistribution_count = local.redistribution_count;
  return program;
}

}  // namespace drydock::strategies
