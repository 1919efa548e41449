#include "strategies/rules/matmul/nd_product.h"

#include <numeric>
#include <string>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_rules.h"

/// High-dimensional tensor parallelism: a product whose operands and result are all cut over the
/// same devices, in two or three directions, so that no rank keeps more than its share.
///
///   two directions    x [m, k] on (_, (x y))   w [k, n] on (x, y)       result on (_, (y x))
///   three directions  x [m, k] on ((z y), x)   w [k, n] on ((x z), y)   result on ((z x), y)
///
/// In front of the product x is gathered over y, in three directions w over z; behind it the
/// partial sums over x are scattered, along n in two directions, along m (or what
/// ndtp_reduce_scatter_axis says) in three. x may be whole along y. The next product takes the
/// result with the roles of x and y swapped.
///
/// Collectives work on dimension 0: what is gathered along another one is cut into its parts again
/// and joined there, what is scattered along another one is transposed before and behind.
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/matmul_info.cc (CheckNDTPInputLayout,
/// GetInputOutputNodeForNDTP)
namespace drydock::strategies {
namespace {

using DeviceAxes = std::vector<std::int64_t>;

/// What the layouts of a product say.
struct NdForm {
  bool three = false;         ///< Three directions.
  bool gathers = false;       ///< The first operand is cut along y, too.
  std::size_t scattered = 0;  ///< Dimension of the result that takes up x.
};

DeviceAxes WithoutLast(DeviceAxes axes) {
  axes.pop_back();
  return axes;
}

bool EndsWith(const DeviceAxes& axes, const DeviceAxes& last) {
  return last.size() == 1 && !axes.empty() && axes.back() == last.front();
}

tl::unexpected<Error> FailForm(const OpView& op, const std::string& what) {
  return FailInput(std::string(op.op) + ":nd-tp",
                   "'" + std::string(op.op) + "' with enable_nd_tp " + what,
                   "give layouts (.., (x, y)), (x, y) in two directions, or (.., (z, y), x), "
                   "((x, z), y) in three; the last two dimensions change places where they are "
                   "transposed");
}

Result<NdForm> TwoDirections(const OpView& op, const DeviceAxes& a_k, const DeviceAxes& b_k,
                             const DeviceAxes& b_n, std::size_t rank) {
  NdForm form = {.gathers = EndsWith(a_k, b_n), .scattered = rank - 1};
  const DeviceAxes x = form.gathers ? WithoutLast(a_k) : a_k;
  if (x != b_k) {
    return FailForm(op,
                    "wants the summed dimension of input 0 cut along the axis of input 1's "
                    "summed dimension, then along the axis of its other one");
  }
  return form;
}

Result<NdForm> ThreeDirections(const OpView& op, const std::vector<DeviceAxes>& axes,
                               std::size_t rank) {
  const DeviceAxes& a_k = axes[1];
  const DeviceAxes& b_k = axes[2];
  const DeviceAxes& b_n = axes[3];
  constexpr std::size_t kTwo = 2;
  if (a_k.size() != 1 || b_n.size() != 1 || b_k.size() != kTwo || a_k.front() != b_k.front()) {
    return FailForm(op,
                    "wants the summed dimension of input 1 cut along x and z, that of input 0 "
                    "along x and the other one of input 1 along y");
  }
  DRYDOCK_TRY(const std::int64_t given,
              IntAttr(*op.attrs, "ndtp_reduce_scatter_axis", static_cast<std::int64_t>(rank) - 2));
  if (given < 0 || given >= static_cast<std::int64_t>(rank)) {
    return FailInput(std::string(op.op) + ":nd-tp",
                     "ndtp_reduce_scatter_axis is " + std::to_string(given) +
                         ", but the first operand has " + std::to_string(rank) + " dimensions",
                     "use 0 to " + std::to_string(rank - 1));
  }
  return NdForm{.three = true,
                .gathers = EndsWith(axes[0], b_n),
                .scattered = static_cast<std::size_t>(given)};
}

Result<NdForm> FormOf(const OpView& op, const std::vector<TensorLayout>& layouts,
                      const Transposes& transposes) {
  const Roles roles = RolesOf(op.inputs[0].shape, op.inputs[1].shape, transposes);
  const std::vector<DeviceAxes> axes = {
      layouts[0].tensor_map[roles.m], layouts[0].tensor_map[roles.k_a],
      layouts[1].tensor_map[roles.k_b], layouts[1].tensor_map[roles.n]};
  const std::size_t rank = op.inputs[0].shape.size();
  if (axes[2].size() > 1 || axes[3].size() > 1) {
    return ThreeDirections(op, axes, rank);
  }
  return TwoDirections(op, axes[1], axes[2], axes[3], rank);
}

/// All slices of a group, joined along a dimension.
Result<ValueId> Gathered(const LocalizeContext& context, ValueId value, const GroupPattern& group,
                         std::size_t dimension) {
  const std::int64_t parts = GroupSize(group);
  if (parts == 1) {
    return value;
  }
  NodeSpec gather = context.spec;
  gather.op = ops::kAllGather;
  gather.inputs = {value};
  gather.attrs = {{"rank_size", parts}};
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(gather)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.group = group;
  node.reason = CommReason::kRedistribution;
  node.reason_text = "operand of '" + std::string(context.global.op) + "' gathered";
  const ValueId whole = node.outputs.front();
  if (dimension == 0) {
    return whole;
  }
  NodeSpec split = context.spec;
  split.op = ops::kSplit;
  split.inputs = {whole};
  split.attrs = {{"axis", 0}, {"output_num", parts}};
  DRYDOCK_TRY(const NodeId pieces, context.builder.AddNode(std::move(split)));
  NodeSpec concat = context.spec;
  concat.op = ops::kConcat;
  concat.inputs = context.builder.graph().at(pieces).outputs;
  concat.attrs = {{"axis", static_cast<std::int64_t>(dimension)}};
  return context.builder.Emit(std::move(concat));
}

/// Dimension 0 and another one swapped.
Result<ValueId> Swapped(const LocalizeContext& context, ValueId value, std::size_t dimension) {
  if (dimension == 0) {
    return value;
  }
  std::vector<std::int64_t> order(context.builder.TypeOf(value).shape.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[0], order[dimension]);
  NodeSpec transpose = context.spec;
  transpose.op = "Transpose";
  transpose.inputs = {value};
  transpose.attrs = {{"input_perm", std::move(order)}};
  return context.builder.Emit(std::move(transpose));
}

/// The sum over a group, each rank with its part along a dimension.
Result<ValueId> Scattered(const LocalizeContext& context, ValueId value, const GroupPattern& group,
                          std::size_t dimension) {
  if (GroupSize(group) == 1) {
    return value;
  }
  DRYDOCK_TRY(const ValueId first, Swapped(context, value, dimension));
  NodeSpec scatter = context.spec;
  scatter.op = ops::kReduceScatter;
  scatter.inputs = {first};
  scatter.attrs = {{"op", "sum"}, {"rank_size", GroupSize(group)}};
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(scatter)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.group = group;
  node.reason = CommReason::kPartialSum;
  node.reason_text = "partial sum of '" + std::string(context.global.op) + "'";
  return Swapped(context, node.outputs.front(), dimension);
}

}  // namespace

Result<ShardRule> NdProductRule(const OpView& op, const Transposes& transposes) {
  if (op.in_layouts == nullptr) {
    return FailForm(op, "is cut by layouts only");
  }
  DRYDOCK_TRY(const NdForm form, FormOf(op, *op.in_layouts, transposes));
  const Roles roles = RolesOf(op.inputs[0].shape, op.inputs[1].shape, transposes);
  ShardRule rule = ProductRule(op, transposes);
  const ProductAxes axes = ProductAxesOf(rule.outputs[0].size());
  rule.communication.clear();
  if (form.three) {
    const AxisIndex z = rule.axis_count++;
    rule.inputs[1][roles.k_b] = {axes.k, z};
  }
  if (form.gathers) {
    rule.inputs[0][form.three ? roles.m : roles.k_a].push_back(axes.n);
  }
  rule.outputs[0][form.scattered].push_back(axes.k);
  return rule;
}

Result<std::vector<ValueId>> LocalizeNdProduct(const LocalizeContext& context,
                                               const Transposes& transposes) {
  const OpSharding& sharding = context.sharding;
  DRYDOCK_TRY(const NdForm form, FormOf(context.global, sharding.inputs, transposes));
  const Roles roles =
      RolesOf(context.global.inputs[0].shape, context.global.inputs[1].shape, transposes);
  const ProductAxes axes = ProductAxesOf(sharding.outputs[0].shape.size());
  const auto group = [&](AxisIndex axis) -> const GroupPattern& {
    return sharding.axis_groups[static_cast<std::size_t>(axis)];
  };
  NodeSpec product = context.spec;
  if (form.gathers) {
    DRYDOCK_TRY(product.inputs[0], Gathered(context, product.inputs[0], group(axes.n),
                                            form.three ? roles.m : roles.k_a));
  }
  if (form.three) {
    DRYDOCK_TRY(product.inputs[1],
                Gathered(context, product.inputs[1], sharding.axis_groups.back(), roles.k_b));
  }
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(product)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = sharding.strategy;
  DRYDOCK_TRY(const ValueId result,
              Scattered(context, node.outputs.front(), group(axes.k), form.scattered));
  return std::vector<ValueId>{result};
}

}  // namespace drydock::strategies
