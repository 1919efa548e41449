#include "strategies/rules/matmul/matmul_form.h"

#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {
namespace {

tl::unexpected<Error> FailContraction(const OpView& op, const Roles& roles) {
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' cannot multiply " + TupleText(a) + " by " +
                    TupleText(b) + ": dimension " + std::to_string(roles.k_a) + " of input 0 is " +
                    std::to_string(a[roles.k_a]) + ", dimension " + std::to_string(roles.k_b) +
                    " of input 1 is " + std::to_string(b[roles.k_b]));
}

std::int64_t CutAt(const Strategy& strategy, std::size_t input, std::size_t dim) {
  return input < strategy.size() && dim < strategy[input].size() ? strategy[input][dim] : 1;
}

/// Operand axes: batch dimensions right-aligned to axes 0.., then the two matrix dimensions.
TensorAxes OperandAxes(const Shape& shape, std::size_t out_rank, AxisIndex second_last,
                       AxisIndex last) {
  TensorAxes axes = {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto axis = static_cast<AxisIndex>(out_rank - shape.size() + d);
    if (d + 2 == shape.size()) {
      axis = second_last;
    } else if (d + 1 == shape.size()) {
      axis = last;
    }
    axes.push_back(shape[d] == 1 ? DimAxes{} : DimAxes{axis});
  }
  return axes;
}

}  // namespace

Result<Transposes> TransposesOf(const AttrMap& attrs, std::string_view a_name,
                                std::string_view b_name) {
  DRYDOCK_TRY(const bool a, BoolAttr(attrs, a_name, false));
  DRYDOCK_TRY(const bool b, BoolAttr(attrs, b_name, false));
  return Transposes{.a = a, .b = b};
}

Roles RolesOf(const Shape& a, const Shape& b, const Transposes& transposes) {
  const std::size_t last_a = a.size() - 1;
  const std::size_t last_b = b.size() - 1;
  return {.m = transposes.a ? last_a : last_a - 1,
          .k_a = transposes.a ? last_a - 1 : last_a,
          .k_b = transposes.b ? last_b : last_b - 1,
          .n = transposes.b ? last_b - 1 : last_b};
}

Result<Shape> ProductShape(const OpView& op, const Transposes& transposes) {
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  const Roles roles = RolesOf(a, b, transposes);
  if (a[roles.k_a] != b[roles.k_b]) {
    return FailContraction(op, roles);
  }
  DRYDOCK_TRY(Shape shape,
              BroadcastShapes(op, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  shape.push_back(a[roles.m]);
  shape.push_back(b[roles.n]);
  return shape;
}

ProductAxes ProductAxesOf(std::size_t rank) {
  const auto m = static_cast<AxisIndex>(rank - 2);
  return {.m = m, .k = m + 1, .n = m + 2};
}

ShardRule ProductRule(const OpView& op, const Transposes& transposes) {
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  const std::size_t rank = op.outputs[0].shape.size();
  const auto [m, k, n] = ProductAxesOf(rank);
  ShardRule rule{.axis_count = n + 1};
  rule.inputs = {transposes.a ? OperandAxes(a, rank, k, m) : OperandAxes(a, rank, m, k),
                 transposes.b ? OperandAxes(b, rank, n, k) : OperandAxes(b, rank, k, n)};
  TensorAxes out = AxesInOrder(rank);
  out[rank - 1] = {n};
  rule.outputs = {std::move(out)};
  rule.communication.push_back({.axes = {k}});
  return rule;
}

Status ApplyOutStrategy(const OpView& op, const Strategy& strategy, const Transposes& transposes,
                        ShardRule& rule) {
  const Roles roles = RolesOf(op.inputs[0].shape, op.inputs[1].shape, transposes);
  const std::string name = "'" + std::string(op.op) + "'";
  if (op.inputs[0].shape.size() != 2 || op.inputs[1].shape.size() != 2) {
    return UnsupportedForm(
        op, name + " takes an output strategy only if both inputs have 2 dimensions");
  }
  const std::int64_t m = CutAt(strategy, 0, roles.m);
  const std::int64_t k = CutAt(strategy, 0, roles.k_a);
  const std::int64_t n = CutAt(strategy, 1, roles.n);
  const Strategy& out = *op.out_strategy;
  const Strategy all_reduce = {{m, n}};
  const Strategy reduce_scatter = {{m * k, n}};
  if (out != all_reduce && out != reduce_scatter) {
    return FailOp(op, "strategy-out",
                  "output strategy " + StrategyText(out) + " of " + name + " fits neither " +
                      StrategyText(all_reduce) + " nor " + StrategyText(reduce_scatter),
                  "use " + StrategyText(all_reduce) + " for an AllReduce or " +
                      StrategyText(reduce_scatter) + " for a ReduceScatter");
  }
  if (out == all_reduce) {
    return {};
  }
  const std::int64_t rows = op.outputs[0].shape[0];
  if (rows % (m * k) != 0) {
    return FailOp(op, "strategy-out",
                  "output strategy " + StrategyText(out) + " of " + name +
                      " cuts dimension 0 of the output into " + std::to_string(m * k) +
                      ", but its extent " + std::to_string(rows) + " is not divisible by that",
                  "use " + StrategyText(all_reduce));
  }
  rule.outputs[0][0] = {0, 1};
  rule.communication[0].kind = ForwardCommunication::Kind::kReduceScatter;
  return {};
}

NdArray MatrixOf(const NdArray& array, bool transposed) {
  if (!transposed) {
    return array;
  }
  std::vector<std::size_t> permutation(array.shape.size());
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    permutation[d] = d;
  }
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return TransposeArray(array, permutation);
}

Result<ValueId> EmitSwappedLast(const GradientContext& context, ValueId value) {
  std::vector<std::int64_t> order(context.TypeOf(value).shape.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.Emit("Transpose", {value}, {{"input_perm", order}});
}

double ProductFlops(const OpView& op, const Transposes& transposes) {
  const Roles roles = RolesOf(op.inputs[0].shape, op.inputs[1].shape, transposes);
  return 2.0 * Elements(op.outputs[0]) * static_cast<double>(op.inputs[0].shape[roles.k_a]);
}

}  // namespace drydock::strategies
