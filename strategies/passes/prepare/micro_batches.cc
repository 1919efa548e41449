#include "strategies/passes/prepare/micro_batches.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "strategies/graph/place_notes.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Micro batches of a network.
///
/// The script says how many there are where it cuts its batch. The cut takes the whole batch, which
/// is gathered if the data set cuts it. The piece goes on to the operators like any other value.
/// The first operator that reads a trained parameter is marked: when the gradient of that is done,
/// the next micro batch may begin (schedule/unroll_micro.cc).
///
/// Source: mindspore/ccsrc/frontend/parallel/graph_util/pipeline_split_utils.cc
/// (SetStridedSliceStrategy), grad_accumulation_utils.cc (TagMicroBatchBpEndPrim)
namespace drydock::strategies {
namespace {

/// Whether a node cuts an input of the network, not a value.
bool CutsInput(const Graph& traced, const Node& node) {
  return std::ranges::find(traced.inputs, node.inputs.front()) != traced.inputs.end();
}

Status CheckRows(const Graph& traced, const Node& node, std::int64_t count) {
  const std::int64_t rows = traced.at(node.inputs.front()).type.shape.front();
  if (rows % count == 0) {
    return {};
  }
  return tl::unexpected(
      WithPlace(FailInput("micro-batch:rows",
                          "the batch has " + std::to_string(rows) + " rows, which " +
                              std::to_string(count) + " micro batches do not divide",
                          "choose a batch that is a multiple of " + std::to_string(count))
                    .value(),
                PlaceOf(traced, node)));
}

/// A parameter with a gradient.
bool IsTrained(const Graph& traced, ValueId id) {
  return id != kNoValue && traced.at(id).kind == ValueKind::kParameter &&
         traced.parameters[static_cast<std::size_t>(traced.at(id).detail)].requires_grad;
}

void MarkFirstParameterUser(Graph& traced) {
  for (Node& node : traced.nodes) {
    const bool reads =
        std::ranges::any_of(node.inputs, [&traced](ValueId id) { return IsTrained(traced, id); });
    if (reads && node.phase == Phase::kForward && node.entry->kind != OpKind::kUpdate) {
      node.attrs[std::string(kFirstParameterUser)] = true;
      return;
    }
  }
}

/// Gradients of micro batches have to be summed somewhere. What backward begins with, the scale of
/// the loss for instance, has none.
Status CheckAccumulators(const Graph& traced) {
  std::set<ValueId> accumulated;
  for (const Parameter& parameter : traced.parameters) {
    if (parameter.role == ParameterRole::kAccumulatedGradient) {
      accumulated.insert(parameter.state_of);
    }
  }
  for (const Node& node : traced.nodes) {
    for (std::size_t i = 1; node.entry->kind == OpKind::kGradient && i <= node.outputs.size();
         ++i) {
      const Value& weight = traced.at(node.inputs[i]);
      if (weight.kind == ValueKind::kParameter && !accumulated.contains(node.inputs[i])) {
        Error error =
            WithPlace(FailInput("micro-batch:accumulator",
                                "the training step has no parameter in which the gradients of '" +
                                    weight.name + "' are summed over micro batches",
                                "train with Model(net, optimizer=...), or hand the gradients to "
                                "mindspore.parallel.nn.PipelineGradReducer(optimizer.parameters)")
                          .value(),
                      PlaceOf(traced, node));
        const std::optional<std::string> made = MadeNote(traced, node.inputs[i]);
        return tl::unexpected(made ? WithNote(std::move(error), *made) : std::move(error));
      }
    }
  }
  return {};
}

/// Whether a node passes each of its operands on as it is, like the one that names the data set's
/// cut.
bool PassesOn(const Graph& traced, const Node& node) {
  if (node.inputs.size() != node.outputs.size()) {
    return false;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue ||
        traced.at(node.inputs[i]).type != traced.at(node.outputs[i]).type) {
      return false;
    }
  }
  return true;
}

/// The values that hold the whole batch, from the data set to what is cut into micro batches. False
/// if one of them is computed.
bool AddWholeBatch(const Graph& traced, ValueId id, std::set<ValueId>& whole) {
  const Value& value = traced.at(id);
  if (value.type.shape.empty()) {
    return false;
  }
  if (!whole.insert(id).second) {
    return true;
  }
  if (value.kind == ValueKind::kInput) {
    return true;
  }
  if (value.kind != ValueKind::kOutput || !PassesOn(traced, traced.at(value.producer))) {
    return false;
  }
  const Node& producer = traced.at(value.producer);
  whole.insert(producer.outputs.begin(), producer.outputs.end());
  return std::ranges::all_of(producer.inputs,
                             [&](ValueId input) { return AddWholeBatch(traced, input, whole); });
}

}  // namespace

bool MultiplyMicroBatches(Graph& traced, std::int64_t times) {
  std::set<ValueId> whole;
  for (const Node& node : traced.nodes) {
    if (node.entry->per_micro_batch && !AddWholeBatch(traced, node.inputs.front(), whole)) {
      return false;
    }
  }
  // Only what passes the batch on and what cuts it may read it.
  for (const Node& node : traced.nodes) {
    const bool reads =
        std::ranges::any_of(node.inputs, [&whole](ValueId input) { return whole.contains(input); });
    const bool known =
        node.entry->per_micro_batch || std::ranges::all_of(node.outputs, [&whole](ValueId output) {
          return whole.contains(output);
        });
    if (reads && !known) {
      return false;
    }
  }
  if (whole.empty()) {
    return false;
  }
  for (const ValueId id : whole) {
    traced.values[ToIndex(id)].type.shape.front() *= times;
  }
  for (Node& node : traced.nodes) {
    if (node.entry->per_micro_batch) {
      const Result<std::int64_t> count = IntAttr(node.attrs, "micro_size", 1);
      node.attrs["micro_size"] = count.value_or(1) * times;
    }
  }
  return true;
}

Status PrepareMicroBatches(Graph& traced, JobConfig& config) {
  for (Node& node : traced.nodes) {
    if (!node.entry->per_micro_batch) {
      continue;
    }
    DRYDOCK_TRY(const std::int64_t count, IntAttr(node.attrs, "micro_size", 1));
    if (config.micro_batches != 1 && config.micro_batches != count) {
      return tl::unexpected(WithPlace(
          FailInput("micro-batch:count",
                    "the network cuts its batch into " + std::to_string(config.micro_batches) +
                        " micro batches and into " + std::to_string(count),
                    "use one number of micro batches in a network")
              .value(),
          PlaceOf(traced, node)));
    }
    config.micro_batches = count;
    if (CutsInput(traced, node)) {
      const std::size_t rank = traced.at(node.inputs.front()).type.shape.size();
      DRYDOCK_RETURN_IF_ERROR(CheckRows(traced, node, count));
      node.in_strategy = Strategy{std::vector<std::int64_t>(rank, 1)};
    }
  }
  if (config.micro_batches > 1) {
    MarkFirstParameterUser(traced);
    return CheckAccumulators(traced);
  }
  return {};
}

}  // namespace drydock::strategies
