#include "strategies/rules/common/common_rules.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace drydock::strategies {
namespace {

std::string Quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string Number(std::size_t n) {
  return std::to_string(n);
}

/// Extent of dimension d of `shape` after padding with 1 on the left to `rank` dimensions.
std::int64_t AlignedExtent(const Shape& shape, std::size_t rank, std::size_t d) {
  const std::size_t missing = rank - shape.size();
  return d < missing ? 1 : shape[d - missing];
}

/// Cut of the same dimension in a strategy entry; 1 where the entry says nothing.
std::int64_t AlignedCut(const Strategy& strategy, std::size_t input, std::size_t rank,
                        std::size_t operand_rank, std::size_t d) {
  const std::size_t missing = rank - operand_rank;
  if (d < missing || input >= strategy.size() || d - missing >= strategy[input].size()) {
    return 1;
  }
  return strategy[input][d - missing];
}

}  // namespace

// ---- Checks -------------------------------------------------------------------------------------

tl::unexpected<Error> FailOp(const OpView& op, std::string_view code, std::string message,
                             std::string hint) {
  return FailInput(std::string(op.op) + ":" + std::string(code), std::move(message),
                   std::move(hint));
}

tl::unexpected<Error> UnsupportedForm(const OpView& op, std::string message) {
  Error error{.code = ErrorCode::kUnsupported, .message = std::move(message)};
  error.reason = std::string(op.op) + ":unsupported";
  return tl::unexpected(std::move(error));
}

Status ExpectInputs(const OpView& op, std::size_t least, std::size_t most) {
  const std::size_t count = op.inputs.size();
  if (count >= least && count <= most) {
    return {};
  }
  std::string wanted = Number(least);
  if (most != least) {
    wanted += most == std::string::npos ? " or more" : " to " + Number(most);
  }
  return FailOp(
      op, "input-count",
      Quoted(op.op) + " takes " + wanted + " tensors, but " + Number(count) + " are given");
}

Status ExpectFloating(const OpView& op, std::size_t input) {
  const DType dtype = op.inputs[input].dtype;
  if (IsFloating(dtype)) {
    return {};
  }
  return FailOp(op, "dtype",
                Quoted(op.op) + " takes floating-point numbers, but input " + Number(input) +
                    " is " + std::string(DTypeName(dtype)),
                "cast the input to float32 first");
}

Status ExpectInteger(const OpView& op, std::size_t input) {
  const DType dtype = op.inputs[input].dtype;
  if (dtype != DType::kBool && !IsFloating(dtype) && !IsComplex(dtype)) {
    return {};
  }
  return FailOp(op, "dtype",
                Quoted(op.op) + " takes integers, but input " + Number(input) + " is " +
                    std::string(DTypeName(dtype)),
                "cast the input to int32 first");
}

Status ExpectSameShapes(const OpView& op) {
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape != op.inputs[0].shape) {
      return FailOp(op, "shape-mismatch",
                    Quoted(op.op) + " takes tensors of one shape, but input 0 is " +
                        TupleText(op.inputs[0].shape) + " and input " + Number(i) + " is " +
                        TupleText(op.inputs[i].shape));
    }
  }
  return {};
}

Status ExpectIndices(const OpView& op, std::size_t input) {
  const DType dtype = op.inputs[input].dtype;
  if (dtype == DType::kInt32 || dtype == DType::kInt64) {
    return {};
  }
  return FailOp(op, "dtype",
                Quoted(op.op) + " takes int32 or int64 indices in input " + Number(input) +
                    ", but they are " + std::string(DTypeName(dtype)),
                "cast the indices first");
}

Status ExpectSameDType(const OpView& op) {
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].dtype != op.inputs[0].dtype) {
      return FailOp(op, "dtype-mismatch",
                    Quoted(op.op) + " takes tensors of one element type, but input 0 is " +
                        std::string(DTypeName(op.inputs[0].dtype)) + " and input " + Number(i) +
                        " is " + std::string(DTypeName(op.inputs[i].dtype)),
                    "cast one of them");
    }
  }
  return {};
}

Status ExpectRank(const OpView& op, std::size_t input, std::size_t least, std::size_t most) {
  const std::size_t rank = op.inputs[input].shape.size();
  if (rank >= least && rank <= most) {
    return {};
  }
  std::string wanted = Number(least);
  if (most != least) {
    wanted += most == std::string::npos ? " or more" : " to " + Number(most);
  }
  return FailOp(op, "rank",
                Quoted(op.op) + " takes " + wanted + " dimensions in input " + Number(input) +
                    ", but its shape is " + TupleText(op.inputs[input].shape));
}

Result<std::size_t> NormalisedAxis(const OpView& op, std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return FailOp(op, "axis-out-of-range",
                  "axis " + std::to_string(axis) + " of " + Quoted(op.op) +
                      " is outside a tensor of " + Number(rank) + " dimensions",
                  rank == 0 ? "" : "use a value in [-" + Number(rank) + ", " + Number(rank) + ")");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::vector<std::size_t>> NormalisedAxes(const OpView& op,
                                                std::span<const std::int64_t> axes,
                                                std::size_t rank) {
  std::vector<std::size_t> result = {};
  for (const std::int64_t axis : axes) {
    DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, axis, rank));
    result.push_back(normal);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Result<std::vector<std::size_t>> ReducedAxesAttr(const OpView& op, std::string_view name,
                                                 std::size_t rank) {
  DRYDOCK_TRY(const auto axes, IntListAttr(*op.attrs, name));
  if (!axes.has_value() || axes->empty()) {
    std::vector<std::size_t> all(rank);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  return NormalisedAxes(op, *axes, rank);
}

Result<std::vector<std::int64_t>> RequiredListAttr(const OpView& op, std::string_view name) {
  DRYDOCK_TRY(auto list, IntListAttr(*op.attrs, name));
  if (!list.has_value()) {
    return FailOp(op, "attribute",
                  Quoted(op.op) + " needs attribute " + Quoted(name) + ", a list of integers");
  }
  return *std::move(list);
}

// ---- Shape inference ----------------------------------------------------------------------------

Result<Shape> BroadcastShapes(const OpView& op, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent_a = AlignedExtent(a, rank, d);
    const std::int64_t extent_b = AlignedExtent(b, rank, d);
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1) {
      const std::size_t from_right = rank - d;
      return FailOp(op, "shape-mismatch",
                    Quoted(op.op) + " cannot broadcast " + TupleText(a) + " with " + TupleText(b) +
                        ": dimension " + Number(a.size() - from_right) + " of the first is " +
                        std::to_string(extent_a) + ", dimension " + Number(b.size() - from_right) +
                        " of the second is " + std::to_string(extent_b),
                    "shapes are aligned at the right; extents must be equal, or one of them 1");
    }
    out[d] = extent_a == 1 ? extent_b : extent_a;
  }
  return out;
}

Shape ReducedShape(const Shape& shape, std::span<const std::size_t> axes, bool keep_dims) {
  Shape out = {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (std::ranges::find(axes, d) == axes.end()) {
      out.push_back(shape[d]);
    } else if (keep_dims) {
      out.push_back(1);
    }
  }
  return out;
}

Result<std::vector<TensorType>> InferSame(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<TensorType>> InferEach(const OpView& op) {
  return std::vector<TensorType>(op.inputs.begin(), op.inputs.end());
}

Result<std::vector<TensorType>> InferSameFloating(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<TensorType>> InferToFloat(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  const DType dtype = op.inputs[0].dtype;
  const bool keeps = IsFloating(dtype) || IsComplex(dtype);
  return std::vector<TensorType>{
      {.shape = op.inputs[0].shape, .dtype = keeps ? dtype : DType::kFloat32}};
}

Result<std::vector<TensorType>> InferBool(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  return std::vector<TensorType>{{.shape = op.inputs[0].shape, .dtype = DType::kBool}};
}

Result<std::vector<TensorType>> InferFirst(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, std::string::npos));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<TensorType>> InferBroadcast(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_TRY(Shape shape, BroadcastShapes(op, op.inputs[0].shape, op.inputs[1].shape));
  auto dtype = PromoteDTypes(op.inputs[0].dtype, op.inputs[1].dtype);
  if (!dtype) {
    Error error = std::move(dtype).error();
    error.reason = std::string(op.op) + ":dtype-mismatch";
    return tl::unexpected(WithNote(std::move(error), "in the operands of " + Quoted(op.op)));
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = *dtype}};
}

Result<std::vector<TensorType>> InferBroadcastSameFloating(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  return types;
}

Result<std::vector<TensorType>> InferBroadcastInteger(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_RETURN_IF_ERROR(ExpectInteger(op, 0));
  return types;
}

Result<std::vector<TensorType>> InferBroadcastToFloat(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  if (!IsFloating(types[0].dtype) && !IsComplex(types[0].dtype)) {
    types[0].dtype = DType::kFloat32;
  }
  return types;
}

Result<std::vector<TensorType>> InferBroadcastBool(const OpView& op) {
  DRYDOCK_TRY(auto types, InferBroadcast(op));
  types[0].dtype = DType::kBool;
  return types;
}

// ---- Axis rules ---------------------------------------------------------------------------------

TensorAxes AxesInOrder(std::size_t rank, AxisIndex first) {
  TensorAxes axes(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    axes[d] = {first + static_cast<AxisIndex>(d)};
  }
  return axes;
}

Result<ShardRule> ShardElementwise(const OpView& op, const Strategy& /*strategy*/) {
  return AxisLocalRule(op, {}, "");
}

Result<ShardRule> ShardWhole(const OpView& op, const Strategy& /*strategy*/) {
  ShardRule rule = {};
  const auto uncut = [](const TensorType& type) { return TensorAxes(type.shape.size()); };
  std::ranges::transform(op.inputs, std::back_inserter(rule.inputs), uncut);
  std::ranges::transform(op.outputs, std::back_inserter(rule.outputs), uncut);
  return rule;
}

ShardRule AxisLocalRule(const OpView& op, std::span<const std::size_t> whole,
                        const std::string& what) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(axes.size()), .inputs = {axes}};
  rule.outputs.assign(op.outputs.size(), axes);
  for (const std::size_t d : whole) {
    rule.uncut.push_back({.axis = static_cast<AxisIndex>(d), .what = what});
  }
  return rule;
}

Result<ShardRule> ShardBroadcast(const OpView& op, const Strategy& strategy) {
  const std::size_t rank = op.outputs[0].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank), .outputs = {AxesInOrder(rank)}};
  std::vector<std::int64_t> cut(rank, 1);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    for (std::size_t d = 0; d < rank; ++d) {
      cut[d] = std::max(cut[d], AlignedCut(strategy, i, rank, op.inputs[i].shape.size(), d));
    }
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i].shape;
    TensorAxes axes = {};
    for (std::size_t d = rank - shape.size(); d < rank; ++d) {
      // Without a strategy (candidate generation) only real extents may decide about an axis.
      const bool may_be_cut = strategy.empty() ? op.outputs[0].shape[d] != 1 : cut[d] > 1;
      const bool broadcast = AlignedExtent(shape, rank, d) == 1 && may_be_cut;
      axes.push_back(broadcast ? DimAxes{} : DimAxes{static_cast<AxisIndex>(d)});
    }
    rule.inputs.push_back(std::move(axes));
  }
  return rule;
}

Result<ShardRule> ShardSameShape(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  ShardRule rule{.axis_count = static_cast<std::int32_t>(axes.size())};
  rule.inputs.assign(op.inputs.size(), axes);
  rule.outputs.assign(op.outputs.size(), axes);
  return rule;
}

ShardRule ReduceRule(const OpView& op, std::span<const std::size_t> reduced, bool keep_dims,
                     std::string reduce_op, bool mean) {
  const std::size_t rank = op.inputs[0].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank), .inputs = {AxesInOrder(rank)}};
  ForwardCommunication communication{.reduce_op = std::move(reduce_op), .mean = mean};
  TensorAxes out = {};
  for (std::size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<AxisIndex>(d);
    if (std::ranges::find(reduced, d) == reduced.end()) {
      out.push_back({axis});
      continue;
    }
    communication.axes.push_back(axis);
    if (keep_dims) {
      out.emplace_back();
    }
  }
  rule.outputs.assign(op.outputs.size(), out);
  for (std::size_t i = 0; i < op.outputs.size() && !communication.axes.empty(); ++i) {
    communication.output = static_cast<std::int32_t>(i);
    rule.communication.push_back(communication);
  }
  return rule;
}

// ---- Default strategies -------------------------------------------------------------------------

Strategy WholeStrategy(const OpView& op) {
  Strategy strategy = {};
  for (const TensorType& input : op.inputs) {
    strategy.emplace_back(input.shape.size(), 1);
  }
  return strategy;
}

Strategy BatchStrategy(const OpView& op, std::int64_t device_count,
                       const std::vector<bool>& listed) {
  Strategy strategy = WholeStrategy(op);
  std::int64_t cut = device_count;
  const auto is_cut = [&](std::size_t i) {
    return i < listed.size() && listed[i] && !strategy[i].empty();
  };
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    if (is_cut(i)) {
      cut = std::gcd(cut, op.inputs[i].shape[0]);
    }
  }
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    if (is_cut(i)) {
      strategy[i][0] = cut;
    }
  }
  return strategy;
}

Result<Strategy> DefaultBatchAll(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, std::vector<bool>(op.inputs.size(), true));
}

Result<Strategy> DefaultBroadcast(const OpView& op, std::int64_t device_count) {
  std::size_t rank = 0;
  for (const TensorType& input : op.inputs) {
    rank = std::max(rank, input.shape.size());
  }
  std::vector<bool> listed = {};
  for (const TensorType& input : op.inputs) {
    listed.push_back(rank > 0 && AlignedExtent(input.shape, rank, 0) != 1);
  }
  return BatchStrategy(op, device_count, listed);
}

Result<Strategy> DefaultWhole(const OpView& op, std::int64_t /*device_count*/) {
  return WholeStrategy(op);
}

// ---- Local program ------------------------------------------------------------------------------

Result<std::vector<ValueId>> EmitLocal(const LocalizeContext& context, AttrMap attrs) {
  NodeSpec spec = context.spec;
  spec.attrs = std::move(attrs);
  return EmitLocal(context, std::move(spec));
}

Result<std::vector<ValueId>> EmitLocal(const LocalizeContext& context, NodeSpec spec) {
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = context.sharding.strategy;
  return node.outputs;
}

// ---- Arithmetic ---------------------------------------------------------------------------------

double Elements(const TensorType& type) {
  double count = 1;
  for (const std::int64_t extent : type.shape) {
    count *= static_cast<double>(extent);
  }
  return count;
}

}  // namespace drydock::strategies
