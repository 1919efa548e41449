#include "strategies/passes/localize/localize.h"

#include <map>

#include "strategies/passes/backward/expand_gradients.h"
#include "strategies/passes/localize/behind_gradients.h"
#include "strategies/passes/localize/copies.h"
#include "strategies/passes/localize/dumps.h"
#include "strategies/passes/localize/forward.h"
#include "strategies/passes/localize/leaves.h"
#include "strategies/passes/localize/local_draft.h"
#include "strategies/passes/localize/result_broadcast.h"
#include "strategies/passes/localize/stage_programs.h"

/// From a traced program to the program of one rank.
///
///   leaves             what the rank holds before the step            leaves.cc
///   then, in the order of the script, part by part:
///     forward          on slices, with its communication              forward.cc
///     gradient         the derivative of what stands there            backward/expand_gradients.cc
///     behind it        averaging, clipping, optimizers                behind_gradients.cc
///   pipeline stages part: one program for each                    stage_programs.cc
///     their result goes to all of them, if asked for              result_broadcast.cc
///   helpers that only steer these passes are removed                  prepare/rewrite.cc
///
/// Most scripts have each part once; one that trains two networks in turn has them twice. A pass
/// that works on a finished forward part stands between it and its gradient.
namespace drydock::strategies {
namespace {

Status LocalizePart(LocalDraft& draft, const NodeRange& part) {
  switch (part.region) {
    case Region::kForward:
      return LocalizeForward(draft, part);
    case Region::kGradient:
      return ExpandGradients(draft, part);
    case Region::kPost:
      return LocalizeBehindGradients(draft, part);
  }
  return {};
}

/// Local counterparts of what the network returns.
Result<std::vector<ValueId>> LocalOutputs(LocalDraft& draft) {
  std::vector<ValueId> outputs;
  for (const ValueId output : draft.traced.outputs) {
    DRYDOCK_RETURN_IF_ERROR(JoinCopies(draft, output));
    outputs.push_back(draft.Of(output).id);
    if (outputs.back() == kNoValue) {
      return Fail(ErrorCode::kInternal,
                  "'" + NameOf(draft, output) + "' is returned, but no rank has it");
    }
  }
  return outputs;
}

/// Data of a step that no node of a stage reads does not reach it.
void DropUnreadInputs(Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        read[ToIndex(input)] = true;
      }
    }
  }
  std::erase_if(graph.inputs, [&read](ValueId id) { return !read[ToIndex(id)]; });
}

/// The program of a stage, with the layouts of what is left of its leaves.
LocalProgram Finish(const LocalDraft& draft, Graph graph, StageId stage) {
  LocalProgram program{.stage = stage,
                       .local = CleanLocal(std::move(graph), false),
                       .redistribution_count = draft.redistribution_count,
                       .diagnostics = draft.diagnostics};
  if (draft.config.pipeline_stages > 1) {
    DropUnreadInputs(program.local);
  }
  for (const ValueId output : draft.traced.outputs) {
    const SharedValue<TensorLayout>& layout = draft.Of(output).layout;
    program.output_layouts.push_back(layout ? std::optional(JoinedLayout(*layout)) : std::nullopt);
  }
  std::map<std::string, TensorLayout> by_name;
  for (const Parameter& parameter : draft.traced.parameters) {
    by_name[draft.traced.at(parameter.value).name] = *LayoutOf(draft, parameter.value);
  }
  for (const Parameter& parameter : program.local.parameters) {
    program.parameter_layouts.push_back(by_name[program.local.at(parameter.value).name]);
  }
  return program;
}

}  // namespace

Result<std::vector<LocalProgram>> BuildLocalPrograms(const TracedPlan& plan,
                                                     const std::vector<Region>& regions) {
  LocalDraft draft = StartDraft(plan, regions);
  DRYDOCK_RETURN_IF_ERROR(PlaceLeaves(draft));
  for (const NodeRange& part : PartsOf(regions)) {
    DRYDOCK_RETURN_IF_ERROR(LocalizePart(draft, part));
  }
  DRYDOCK_RETURN_IF_ERROR(PlaceDumps(draft.builder));
  DRYDOCK_TRY(std::vector<ValueId> outputs, LocalOutputs(draft));
  std::vector<Graph> graphs;
  if (plan.config.pipeline_stages > 1) {
    DRYDOCK_TRY(graphs, PartStages(draft, outputs));
  } else {
    draft.builder.SetOutputs(std::move(outputs));
    graphs.push_back(std::move(draft.builder).Take());
  }
  std::vector<LocalProgram> programs;
  for (Graph& graph : graphs) {
    BroadcastResults(graph, plan.config);
    const StageId stage{static_cast<std::int32_t>(programs.size())};
    programs.push_back(Finish(draft, std::move(graph), stage));
  }
  return programs;
}

Result<Graph> BuildForwardProgram(const TracedPlan& plan, const std::vector<Region>& regions) {
  LocalDraft draft = StartDraft(plan, regions);
  DRYDOCK_RETURN_IF_ERROR(PlaceLeaves(draft));
  std::vector<ValueId> losses;
  for (const NodeRange& part : PartsOf(regions)) {
    if (part.region == Region::kForward) {
      DRYDOCK_RETURN_IF_ERROR(LocalizeForward(draft, part));
    }
    for (std::size_t n = part.first; part.region == Region::kGradient && n < part.end; ++n) {
      const ValueId loss = plan.traced.nodes[n].inputs.front();
      DRYDOCK_RETURN_IF_ERROR(JoinCopies(draft, loss));
      losses.push_back(draft.Of(loss).id);
    }
  }
  if (losses.empty()) {
    DRYDOCK_TRY(losses, LocalOutputs(draft));
  }
  DRYDOCK_RETURN_IF_ERROR(PlaceDumps(draft.builder));
  std::erase(losses, kNoValue);
  draft.builder.SetOutputs(std::move(losses));
  return RemoveDeadNodes(std::move(draft.builder).Take());
}

}  // namespace drydock::strategies
