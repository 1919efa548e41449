#include "strategies/passes/prepare/stages.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Which stage runs an operator.
///
/// The user says it of cells. An operator outside of all such cells runs where its operands are
/// made, in the highest of their stages; what no such cell comes before (the parts of a batch,
/// masks) is computed by every stage that wants it. Data flows from lower to higher stages only. In
/// an interleaved pipeline a stage has several parts: where data flows back to a lower stage, the
/// next part of that stage begins.
///
/// Example: cells of stages 0 and 1, then Square and ReduceMean of the network itself: both run in
/// stage 1.
/// What a cell writes to a parameter of its own (a counter, a running mean) belongs to its stage,
/// too, although nothing reads the result.
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_transformer.cc
/// (Coloring, BroadCastColoring, ParameterColoring)
namespace drydock::strategies {
namespace {

/// Place of a node along the flow of data: part, then stage. -1 = not said.
std::int64_t FlowOf(const Node& node, const JobConfig& config) {
  return node.stage < 0 ? -1 : node.segment * config.pipeline_stages + node.stage;
}

/// Per node: it is part of what the cells of the network do, effects on parameters included.
std::vector<bool> NodesOfCells(const Graph& traced, const std::vector<Region>& regions) {
  std::vector<bool> of_cells(regions.size(), false);
  const auto gradient = std::ranges::find(regions, Region::kGradient);
  for (std::size_t n = 0; n < regions.size(); ++n) {
    const bool effect = regions[n] == Region::kPost && traced.nodes[n].phase == Phase::kForward &&
                        traced.nodes[n].stage >= 0 &&
                        static_cast<std::ptrdiff_t>(n) < std::distance(regions.begin(), gradient);
    of_cells[n] =
        regions[n] == Region::kForward || effect || traced.nodes[n].attrs.contains(kOwnBackward);
  }
  return of_cells;
}

std::string StageText(const Node& node, const JobConfig& config) {
  const std::string stage = "stage " + std::to_string(node.stage);
  return config.pipeline_interleave ? stage + ", part " + std::to_string(node.segment) : stage;
}

tl::unexpected<Error> At(tl::unexpected<Error> error, const Graph& graph, const Node& node) {
  Error placed = WithPlace(std::move(error.value()), PlaceOf(graph, node));
  return tl::unexpected(WithNote(std::move(placed), "operator " + node.op + " in " + node.scope));
}

Status CheckRange(const Graph& graph, const Node& node, const JobConfig& config) {
  if (node.stage < config.pipeline_stages) {
    return {};
  }
  return At(
      FailInput("pipeline:stage-range",
                "pipeline_stage is " + std::to_string(node.stage) + ", but there are " +
                    std::to_string(config.pipeline_stages) + " stages, from 0 on",
                "give the cell a pipeline_stage below " + std::to_string(config.pipeline_stages)),
      graph, node);
}

/// The operand that is made farthest along the flow; null if no stage makes any.
const Node* LastProducer(const Graph& graph, const Node& node, const JobConfig& config) {
  const Node* last = nullptr;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue || graph.at(input).kind != ValueKind::kOutput) {
      continue;
    }
    const Node& producer = graph.at(graph.at(input).producer);
    if (producer.stage >= 0 &&
        (last == nullptr || FlowOf(producer, config) > FlowOf(*last, config))) {
      last = &producer;
    }
  }
  return last;
}

Status FlowForward(Graph& graph, Node& node, const JobConfig& config) {
  const Node* const last = LastProducer(graph, node, config);
  if (node.stage < 0) {
    node.stage = last == nullptr ? -1 : last->stage;
    node.segment = last == nullptr ? -1 : last->segment;
    return {};
  }
  const std::int32_t part = last == nullptr ? 0 : last->segment;
  if (config.pipeline_interleave) {
    // A V says its parts itself: the way back goes through lower and lower stages.
    const bool v_shape = config.pipeline_scheduler == "zero_bubble_v";
    const bool back = last != nullptr && last->stage > node.stage;
    node.segment = v_shape ? std::max(node.segment, part) : back ? part + 1 : part;
    return {};
  }
  node.segment = 0;
  if (last == nullptr || last->stage <= node.stage) {
    return {};
  }
  const std::string behind = std::to_string(last->stage);
  return At(
      FailInput(
          "pipeline:stage-order",
          "'" + node.op + "' of " + StageText(node, config) + " reads a result of '" + last->op +
              "' of " + StageText(*last, config) + ": data flows from lower to higher stages",
          "give the cell pipeline_stage=" + behind + " or more, or its operands a lower stage"),
      graph, node);
}

/// Of an interleaved stage: what reads weights and constants only, casts of weights for instance,
/// is done in the first part that wants it.
void GoWithReaders(Graph& graph, const std::vector<bool>& of_cells, const JobConfig& config) {
  const std::vector<std::vector<NodeId>> users = UsersOf(graph);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (!of_cells[n] || node.stage < 0 || LastProducer(graph, node, config) != nullptr) {
      continue;
    }
    std::int32_t first = -1;
    for (const ValueId output : node.outputs) {
      for (const NodeId reader : users[ToIndex(output)]) {
        const Node& user = graph.at(reader);
        if (of_cells[ToIndex(reader)] && user.stage == node.stage && user.segment >= 0) {
          first = first < 0 ? user.segment : std::min(first, user.segment);
        }
      }
    }
    node.segment = std::max(node.segment, first);
  }
}

/// Micro batches are for several stages; with one their gradients need another wrapper. Empty if
/// the ranks cannot be divided so.
std::string FewerStages(std::size_t used, const JobConfig& config) {
  const std::size_t stages = std::max<std::size_t>(1, used);
  if (config.world_size % static_cast<std::int64_t>(stages) != 0) {
    return {};
  }
  return ", or set pipeline_stages=" + std::to_string(stages) +
         (stages == 1 && config.micro_batches > 1 ? " and train the network without PipelineCell"
                                                  : "");
}

/// Every stage has something to do. What is said names the last operator of the highest stage that
/// has; any operator of the script if none has.
Status CheckNoneEmpty(const Graph& graph, const std::vector<Region>& regions,
                      const JobConfig& config) {
  std::set<std::int32_t> used;
  const Node* last = nullptr;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] == Region::kForward && node.stage >= 0) {
      used.insert(node.stage);
    }
    const bool named = regions[n] == Region::kForward && PlaceOf(graph, node).has_value();
    last = named && (last == nullptr || node.stage >= last->stage) ? &node : last;
  }
  if (std::ssize(used) == config.pipeline_stages) {
    return {};
  }
  const std::string have =
      used.empty()
          ? "no cell of the network has a pipeline_stage"
          : "cells have pipeline_stage " +
                JoinText(std::vector<std::int64_t>(used.begin(), used.end()), ", ") + " only";
  const bool from_zero = !used.empty() && *used.rbegin() + 1 == std::ssize(used);
  const auto refused =
      FailInput("job:pipeline-stages",
                "pipeline_stages is " + std::to_string(config.pipeline_stages) + ", but " + have,
                "give cells of the network every pipeline_stage from 0 to " +
                    std::to_string(config.pipeline_stages - 1) +
                    (from_zero || used.empty() ? FewerStages(used.size(), config) : ""));
  return last == nullptr ? refused : At(refused, graph, *last);
}

const Parameter* WeightAt(const Graph& graph, ValueId id) {
  if (id == kNoValue || graph.at(id).kind != ValueKind::kParameter) {
    return nullptr;
  }
  const Parameter& parameter = graph.parameters[static_cast<std::size_t>(graph.at(id).detail)];
  return parameter.role == ParameterRole::kWeight ? &parameter : nullptr;
}

bool Trained(const Graph& graph, ValueId id) {
  const Parameter* const weight = WeightAt(graph, id);
  return weight != nullptr && weight->requires_grad;
}

/// Weights whose gradients are asked for, by value.
std::vector<bool> GradedWeights(const Graph& graph, const std::vector<Region>& regions) {
  std::vector<bool> graded(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (std::size_t i = 1; regions[n] == Region::kGradient && i <= node.outputs.size(); ++i) {
      if (node.inputs[i] != kNoValue) {
        graded[ToIndex(node.inputs[i])] = WeightAt(graph, node.inputs[i]) != nullptr;
      }
    }
  }
  return graded;
}

/// No stage wants what a node computes with weights: only what stands behind the gradients reads
/// it, which the original allows and programs of stages cannot express yet.
tl::unexpected<Error> StrayError(const Node& node) {
  return Fail(ErrorCode::kUnsupported,
              "'" + node.op + "' reads parameters, but no pipeline stage wants its result",
              "if the network reads it, give the cell that calls it a pipeline_stage; else compute "
              "it from a constant or with one stage");
}

/// Forward results outside of all stages that weights with a gradient are computed into. What is
/// computed from other parameters, the scale of the loss for instance, every stage has.
std::vector<bool> StrayResults(const Graph& graph, const std::vector<Region>& regions) {
  std::vector<bool> weighs = GradedWeights(graph, regions);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool reads = node.stage < 0 && std::ranges::any_of(node.inputs, [&](ValueId id) {
                         return id != kNoValue && weighs[ToIndex(id)];
                       });
    for (const ValueId output : node.outputs) {
      weighs[ToIndex(output)] = reads && regions[n] == Region::kForward;
    }
  }
  return weighs;
}

/// Notes that a stage wants the operands of a node, if it is the first to do so.
void WantOperands(const Node& node, std::int64_t flow, std::vector<std::int64_t>& wanted) {
  for (const ValueId input : node.inputs) {
    if (input != kNoValue && flow >= 0) {
      std::int64_t& first = wanted[ToIndex(input)];
      first = first < 0 ? flow : std::min(first, flow);
    }
  }
}

/// What computes with weights but lies in no stage is done by the first stage that wants it.
Status PlaceStray(Graph& graph, const std::vector<Region>& regions, const JobConfig& config) {
  std::vector<std::int64_t> wanted(graph.values.size(), -1);
  const std::vector<bool> stray = StrayResults(graph, regions);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward) {
      continue;
    }
    if (node.stage < 0 && !node.outputs.empty() && stray[ToIndex(node.outputs.front())]) {
      const std::int64_t first = wanted[ToIndex(node.outputs.front())];
      if (first < 0) {
        return At(StrayError(node), graph, node);
      }
      node.stage = static_cast<std::int32_t>(first % config.pipeline_stages);
      node.segment = static_cast<std::int32_t>(first / config.pipeline_stages);
      node.attrs[std::string(kPlacedStray)] = true;
    }
    WantOperands(node, FlowOf(node, config), wanted);
  }
  return {};
}

/// Weights that what lies in no stage reads, so that every stage has one of its own. Where what
/// reads them was placed, one stage computes with them, and the others update theirs with zeros.
std::vector<bool> ReadByAll(const Graph& graph, const std::vector<Region>& regions) {
  std::vector<bool> all(graph.values.size(), false);
  std::vector<bool> of_stage(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool stray = node.stage < 0 || node.attrs.contains(kPlacedStray);
    for (const ValueId input : node.inputs) {
      if (regions[n] == Region::kForward && WeightAt(graph, input) != nullptr) {
        all[ToIndex(input)] = all[ToIndex(input)] || stray;
        // What flows from a stage has a stage, too: then one of them owns the weight.
        of_stage[ToIndex(input)] = of_stage[ToIndex(input)] || !stray;
      }
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (graph.nodes[n].attrs.contains(kPlacedStray) && input != kNoValue &&
          of_stage[ToIndex(input)]) {
        all[ToIndex(input)] = false;
      }
    }
  }
  return all;
}

/// The gradient that a stage sends back stands for that of one of its weights, unless its micro
/// batches call a graph, whose backward pass is there anyhow. Where the first stage has none,
/// nobody wants a gradient of the others, which would wait for it.
/// Source: mindspore/ccsrc/frontend/parallel/graph_util/pipeline_split_utils.cc and, of shared
/// graphs, what MindSpore 2.10 does with frozen stages
Status CheckTrained(const Graph& graph, const std::vector<Region>& regions,
                    const JobConfig& config) {
  if (!config.training || std::ranges::find(regions, Region::kGradient) == regions.end()) {
    return {};
  }
  std::vector<bool> trained(static_cast<std::size_t>(config.pipeline_stages), false);
  std::vector<NodeId> first(trained.size(), kNoNode);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (regions[n] != Region::kForward || node.stage < 0) {
      continue;
    }
    const auto stage = static_cast<std::size_t>(node.stage);
    first[stage] = first[stage] == kNoNode ? NodeId{static_cast<std::int32_t>(n)} : first[stage];
    trained[stage] = trained[stage] || std::ranges::any_of(node.inputs, [&](ValueId id) {
                       return Trained(graph, id);
                     });
  }
  const std::size_t checked = CallsSharedGraph(graph) ? 1 : trained.size();
  for (std::size_t stage = 0; stage < checked; ++stage) {
    if (!trained[stage] && first[stage] != kNoNode) {
      return At(FailInput("pipeline:nothing-to-train",
                          "stage " + std::to_string(stage) +
                              " has no parameter that is trained, so no gradient would " +
                              (stage == 0 ? "reach it" : "leave it"),
                          "give a cell with a trainable parameter pipeline_stage=" +
                              std::to_string(stage)),
                graph, graph.at(first[stage]));
    }
  }
  return {};
}

}  // namespace

Status ColourStages(Graph& traced, const std::vector<Region>& regions, const JobConfig& config) {
  const std::vector<bool> of_cells = NodesOfCells(traced, regions);
  for (std::size_t n = 0; n < traced.nodes.size(); ++n) {
    Node& node = traced.nodes[n];
    if (config.pipeline_stages <= 1 || !of_cells[n]) {
      node.stage = -1;
      continue;
    }
    DRYDOCK_RETURN_IF_ERROR(CheckRange(traced, node, config));
    DRYDOCK_RETURN_IF_ERROR(FlowForward(traced, node, config));
  }
  if (config.pipeline_stages <= 1) {
    return {};
  }
  if (config.pipeline_interleave && config.pipeline_scheduler != "zero_bubble_v") {
    GoWithReaders(traced, of_cells, config);
  }
  DRYDOCK_RETURN_IF_ERROR(CheckNoneEmpty(traced, regions, config));
  DRYDOCK_RETURN_IF_ERROR(PlaceStray(traced, regions, config));
  return CheckTrained(traced, regions, config);
}

std::vector<std::int32_t> OwnersOf(const Graph& traced, const std::vector<Region>& regions,
                                   const JobConfig& config) {
  std::vector<std::int32_t> owners(traced.parameters.size(), -1);
  const std::vector<bool> everywhere = ReadByAll(traced, regions);
  for (std::size_t n = 0; config.training && n < traced.nodes.size(); ++n) {
    const Node& node = traced.nodes[n];
    for (const ValueId input : node.inputs) {
      if (regions[n] != Region::kGradient && node.stage >= 0 &&
          WeightAt(traced, input) != nullptr && !everywhere[ToIndex(input)]) {
        std::int32_t& owner = owners[static_cast<std::size_t>(traced.at(input).detail)];
        owner = owner < 0 ? node.stage : std::min(owner, node.stage);
      }
    }
  }
  return owners;
}

}  // namespace drydock::strategies
