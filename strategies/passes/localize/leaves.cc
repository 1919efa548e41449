#include "strategies/passes/localize/leaves.h"

#include <optional>

#include "strategies/layout/interleave.h"
#include "strategies/passes/localize/copies.h"
#include "strategies/passes/localize/weight_shard.h"

/// What a rank holds before the step begins.
///
/// An input is the rank's part of the batch. A parameter lies as its first user wants it, its
/// optimizer states like the parameter if they have its shape or that of its rows or columns; what
/// nobody cuts is whole on every rank. A constant is whole: its users take their slices. A sharded
/// optimizer spreads the rows of a parameter further (weight_shard.cc).
///
/// Example: MatMul(x, w) cut ((2, 4), (4, 1)) on 8 ranks: w of shape (64, 32) is (16, 32) here, and
/// so are its two moments.
/// Source: mindspore/ccsrc/frontend/parallel/parameter_manager.cc
namespace drydock::strategies {
namespace {

Status AddInput(LocalDraft& draft, std::size_t index) {
  const ValueId id = draft.traced.inputs[index];
  const Value& input = draft.traced.at(id);
  DRYDOCK_TRY(const std::vector<std::int64_t> cuts,
              DatasetCuts(input.type.shape.size(), index, draft.config));
  TensorType type = input.type;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    type.shape[d] /= cuts[d];
  }
  DRYDOCK_TRY(draft.Of(id).id, draft.builder.AddInput(input.name, std::move(type)));
  return {};
}

/// Layout of a state that has one element per row or per column of its weight, known by its name as
/// in the reference; that of the weight without the dimension that the state lacks.
std::optional<TensorLayout> LayoutOfRowsOrColumns(const TensorLayout& weight, const Shape& state,
                                                  std::string_view name) {
  const std::size_t rank = weight.shape.size();
  const bool rows = name.starts_with("exp_avg_sq_row_") || name.starts_with("exp_avg_insta_row.");
  const bool columns =
      name.starts_with("exp_avg_sq_col_") || name.starts_with("exp_avg_insta_col.");
  if ((!rows && !columns) || rank < 2 || state.size() + 1 != rank) {
    return std::nullopt;
  }
  const auto lacking = static_cast<std::ptrdiff_t>(rows ? rank - 1 : rank - 2);
  TensorLayout layout = weight;
  layout.shape.erase(layout.shape.begin() + lacking);
  layout.tensor_map.erase(layout.tensor_map.begin() + lacking);
  return layout.shape == state ? std::optional(std::move(layout)) : std::nullopt;
}

/// States come behind their parameter and may take its layout.
TensorLayout LayoutOfParameter(const LocalDraft& draft, const Parameter& parameter) {
  const Shape& shape = draft.traced.at(parameter.value).type.shape;
  const std::int64_t devices = StageDevices(draft.config);
  if (const std::optional<TensorLayout> wanted =
          draft.wanted.OfParameter(parameter.value, draft.regions, devices)) {
    return JoinedLayout(*wanted);
  }
  if (parameter.state_of != kNoValue) {
    const TensorLayout& weight = *draft.Of(parameter.state_of).layout;
    if (weight.shape == shape) {
      return parameter.role == ParameterRole::kAccumulatedGradient
                 ? AccumulatorLayout(draft, parameter.state_of)
                 : weight;
    }
    const std::string_view name = draft.traced.at(parameter.value).name;
    if (std::optional<TensorLayout> part = LayoutOfRowsOrColumns(weight, shape, name)) {
      return *std::move(part);
    }
  }
  return ReplicatedLayout(devices, shape);
}

Status AddParameter(LocalDraft& draft, const Parameter& parameter) {
  const Value& value = draft.traced.at(parameter.value);
  Counterpart& local = draft.Of(parameter.value);
  TensorType type = value.type;
  if (CutsOperators(draft.config.mode)) {
    DRYDOCK_TRY(local.layout, StoredLayout(draft, parameter, LayoutOfParameter(draft, parameter)));
    type.shape = SliceShape(*local.layout);
  }
  Parameter info = parameter;
  info.state_of = parameter.state_of == kNoValue ? kNoValue : draft.Of(parameter.state_of).id;
  DRYDOCK_TRY(local.id, draft.builder.AddParameter(value.name, std::move(type), info));
  return {};
}

Status AddConstant(LocalDraft& draft, const Constant& constant) {
  const Value& value = draft.traced.at(constant.value);
  DRYDOCK_TRY(const ValueId id, draft.builder.AddConstant(value.type, constant.data));
  draft.builder.mutable_graph().values[ToIndex(id)].name = value.name;
  draft.Of(constant.value).id = id;
  return {};
}

}  // namespace

Status PlaceLeaves(LocalDraft& draft) {
  for (std::size_t i = 0; i < draft.traced.inputs.size(); ++i) {
    DRYDOCK_RETURN_IF_ERROR(AddInput(draft, i));
  }
  for (const Parameter& parameter : draft.traced.parameters) {
    DRYDOCK_RETURN_IF_ERROR(AddParameter(draft, parameter));
  }
  for (const Constant& constant : draft.traced.constants) {
    DRYDOCK_RETURN_IF_ERROR(AddConstant(draft, constant));
  }
  return {};
}

}  // namespace drydock::strategies
