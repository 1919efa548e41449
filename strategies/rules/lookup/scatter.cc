#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/lookup/scatter_form.h"
#include "strategies/rules/lookup/scatter_gradients.h"

/// Operators that write rows of a tensor at given places: Scatter* and ScatterNd* in a parameter,
/// TensorScatter* in a copy. Indices are whole on every rank; where the written dimensions are cut,
/// each rank writes what falls into its slice and neutralises the rest, without communication.
/// Source: mindspore ops_info/scatter_ops_info.cc.
namespace drydock::strategies {
namespace {

enum class Combine : std::uint8_t { kUpdate, kAdd, kSub, kMul, kDiv, kMax, kMin };

/// The order in which single updates of one place arrive matters, or foreign ones have no neutral
/// value that leaves the place alone.
constexpr bool NeedsWholePlaces(Combine what) {
  return what == Combine::kUpdate || what == Combine::kMax || what == Combine::kMin;
}

Result<ScatterForm> FormOf(const OpView& op, bool coordinates) {
  return coordinates ? CoordinateForm(op) : Result<ScatterForm>(RowForm(op));
}

template <bool Coordinates>
Result<std::vector<TensorType>> InferScatter(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 1));
  if (op.inputs[0].dtype != op.inputs[2].dtype) {
    return FailOp(op, "dtype-mismatch",
                  "'" + std::string(op.op) + "' writes updates of the tensor's element type " +
                      std::string(DTypeName(op.inputs[0].dtype)) + ", but they are " +
                      std::string(DTypeName(op.inputs[2].dtype)),
                  "cast the updates");
  }
  DRYDOCK_TRY(const ScatterForm form, FormOf(op, Coordinates));
  const Shape wanted = UpdatesShape(form, op.inputs[1].shape, op.inputs[0].shape);
  if (op.inputs[2].shape != wanted) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' at indices of shape " +
                      TupleText(op.inputs[1].shape) + " of a tensor of shape " +
                      TupleText(op.inputs[0].shape) + " takes updates of shape " +
                      TupleText(wanted) + ", but they have shape " + TupleText(op.inputs[2].shape));
  }
  return std::vector<TensorType>{op.inputs[0]};
}

template <bool Coordinates, Combine What>
Result<ShardRule> ShardScatter(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const ScatterForm form, FormOf(op, Coordinates));
  const std::size_t rank = op.inputs[0].shape.size();
  const TensorAxes axes = AxesInOrder(rank);
  TensorAxes updates(form.index_rank);
  updates.insert(updates.end(), axes.begin() + static_cast<std::ptrdiff_t>(form.picked),
                 axes.end());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {axes, TensorAxes(op.inputs[1].shape.size()), std::move(updates)},
                 .outputs = {axes}};
  for (std::size_t d = 0; NeedsWholePlaces(What) && d < form.picked; ++d) {
    rule.uncut.push_back(
        {.axis = static_cast<AxisIndex>(d), .what = "a dimension that the indices name"});
  }
  return rule;
}

/// Own updates as they are, those of other ranks neutral: 0 for sums, 1 for products.
Result<ValueId> EmitOwnUpdates(const LocalizeContext& context, ValueId is_own, bool product) {
  const ValueId updates = context.spec.inputs[2];
  DRYDOCK_TRY(const ValueId mask, EmitMaskFor(context, is_own, updates));
  DRYDOCK_TRY(const ValueId masked, EmitHelper(context, ops::kMul, {updates, mask}));
  if (!product) {
    return masked;
  }
  const ValueId one = context.builder.AddScalar(1, context.builder.TypeOf(updates).dtype);
  DRYDOCK_TRY(const ValueId foreign, EmitHelper(context, "Sub", {one, mask}));
  return EmitHelper(context, ops::kAdd, {masked, foreign});
}

template <bool Coordinates, Combine What>
Result<std::vector<ValueId>> LocalizeScatter(const LocalizeContext& context) {
  DRYDOCK_TRY(const ScatterForm form, FormOf(context.global, Coordinates));
  const Shape local = context.builder.TypeOf(context.spec.inputs[0]).shape;
  const Shape& whole = context.global.inputs[0].shape;
  if (std::equal(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(form.picked),
                 whole.begin())) {
    return EmitLocal(context, context.spec.attrs);
  }
  DRYDOCK_TRY(const OwnPlaces own, EmitOwnPlaces(context, form, context.spec.inputs[1], local));
  NodeSpec spec = context.spec;
  spec.inputs[1] = own.indices;
  DRYDOCK_TRY(spec.inputs[2],
              EmitOwnUpdates(context, own.is_own, What == Combine::kMul || What == Combine::kDiv));
  DRYDOCK_TRY(const ValueId written, context.builder.Emit(std::move(spec)));
  return std::vector<ValueId>{written};
}

// ---- Evaluation ---------------------------------------------------------------------------------

double Combined(Combine what, double old, double update) {
  switch (what) {
    case Combine::kUpdate:
      return update;
    case Combine::kAdd:
      return old + update;
    case Combine::kSub:
      return old - update;
    case Combine::kMul:
      return old * update;
    case Combine::kDiv:
      return old / update;
    case Combine::kMax:
      return std::max(old, update);
    case Combine::kMin:
      return std::min(old, update);
  }
  return old;
}

template <Combine What>
double CombineTwo(double old, double update) {
  return Combined(What, old, update);
}

template <bool Coordinates, Combine What>
Result<std::vector<NdArray>> EvaluateScatter(const EvaluateContext& context) {
  const OpView view{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const ScatterForm form, FormOf(view, Coordinates));
  return std::vector<NdArray>{
      ScatterRows(form, context.inputs[0], context.inputs[1], context.inputs[2], CombineTwo<What>)};
}

/// One operation for each element of the updates, none for plain writing.
template <Combine What>
double ScatterFlops(const OpView& op) {
  return What == Combine::kUpdate ? 0 : Elements(op.inputs[2]);
}

// ---- Entries ------------------------------------------------------------------------------------

template <bool Coordinates>
constexpr std::string_view kScatterExample =
    Coordinates ? "()((8, 4, 6), int32(3, 2), (3, 6))" : "()((8, 6), int32(3), (3, 6))";

#define DRYDOCK_SCATTER(id, coordinates, what, gradient_fn, constructor, written)              \
  DRYDOCK_OP(id, .family = "scatter",                                                          \
             .signature = #id "(" constructor ")(input_x, indices, updates)",                  \
             .infer = InferScatter<coordinates>, .shard = ShardScatter<coordinates, what>,     \
             .default_strategy = DefaultWhole, .localize = LocalizeScatter<coordinates, what>, \
             .gradient = gradient_fn, .evaluate = EvaluateScatter<coordinates, what>,          \
             .flops = ScatterFlops<what>, .cost = CostFamily::kGather, .reads_part = true,     \
             .writes = written, .example = kScatterExample<coordinates>)

#define DRYDOCK_SCATTER_ROWS(id, what, gradient_fn) \
  DRYDOCK_SCATTER(id, false, what, gradient_fn, "use_locking=False", "0")
#define DRYDOCK_SCATTER_ND(id, what, gradient_fn) \
  DRYDOCK_SCATTER(id, true, what, gradient_fn, "use_locking=False", "0")
#define DRYDOCK_SCATTER_COPY(id, what, gradient_fn) \
  DRYDOCK_SCATTER(id, true, what, gradient_fn, "", "")

DRYDOCK_SCATTER_ROWS(ScatterUpdate, Combine::kUpdate, GradientOfRowUpdate);
DRYDOCK_SCATTER_ROWS(ScatterAdd, Combine::kAdd, GradientOfRowAdd);
DRYDOCK_SCATTER_ROWS(ScatterSub, Combine::kSub, GradientOfRowSub);
DRYDOCK_SCATTER_ROWS(ScatterMul, Combine::kMul, GradientOfRowMul);
DRYDOCK_SCATTER_ROWS(ScatterDiv, Combine::kDiv, GradientOfRowDiv);
DRYDOCK_SCATTER_ROWS(ScatterMax, Combine::kMax, GradientOfRowExtreme);
DRYDOCK_SCATTER_ROWS(ScatterMin, Combine::kMin, GradientOfRowExtreme);

DRYDOCK_SCATTER_ND(ScatterNdUpdate, Combine::kUpdate, GradientOfPlaceUpdate);
DRYDOCK_SCATTER_ND(ScatterNdAdd, Combine::kAdd, GradientOfPlaceAdd);
DRYDOCK_SCATTER_ND(ScatterNdSub, Combine::kSub, GradientOfPlaceSub);

DRYDOCK_SCATTER_COPY(TensorScatterUpdate, Combine::kUpdate, GradientOfCopyUpdate);
DRYDOCK_SCATTER_COPY(TensorScatterAdd, Combine::kAdd, GradientOfPlaceAdd);
DRYDOCK_SCATTER_COPY(TensorScatterSub, Combine::kSub, GradientOfPlaceSub);
DRYDOCK_SCATTER_COPY(TensorScatterMul, Combine::kMul, GradientOfPlaceMul);
DRYDOCK_SCATTER_COPY(TensorScatterDiv, Combine::kDiv, GradientOfPlaceDiv);
DRYDOCK_SCATTER_COPY(TensorScatterMax, Combine::kMax, GradientOfPlaceExtreme);
DRYDOCK_SCATTER_COPY(TensorScatterMin, Combine::kMin, GradientOfPlaceExtreme);

}  // namespace
}  // namespace drydock::strategies
