#include "strategies/passes/communicate/constant_sums.h"

#include <algorithm>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/prepare/rewrite.h"

/// Backward begins with a constant: 1, divided by the ranks that compute the loss. Where the loss
/// is completed by an AllReduce, the derivative of that is an AllReduce of the constant, and all
/// ranks know its outcome. The same holds for what the front end works out from constants alone:
/// the gradient of a sum is the seed in the shape of the operand. It does not divide a tensor by a
/// number, so the gradient of a mean is constant no longer, and what is summed of it stays. With a
/// seed that comes from outside (sens, loss scale) nothing is constant, and the AllReduce stays.
///
/// Example: mean over 8 ranks without a sens: OnesLike(loss) -> RealDiv(8) -> AllReduce -> Tile
/// becomes OnesLike -> RealDiv(8) -> Mul(8) -> Tile.
/// Source: mindspore/ccsrc/frontend/optimizer/irpass/special_op_eliminate.cc (AllReduceConstElim)
namespace drydock::strategies {
namespace {

bool DependsOnRank(const Attr& attr) {
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    return std::ranges::any_of(*list, DependsOnRank);
  }
  return std::holds_alternative<RankExpr>(attr.value);
}

/// Whether the front end works the result out where it knows the operands (OpEntry::folding): the
/// same numbers in another shape, or element by element from operands of one shape. A quotient of a
/// tensor and a scalar it leaves to a kernel, and so are sums over constants here.
bool IsWorkedOut(const Graph& graph, const Node& node) {
  const OpEntry& entry = *node.entry;
  if (node.outputs.size() != 1 || node.inputs.empty() ||
      std::ranges::any_of(node.attrs,
                          [](const auto& item) { return DependsOnRank(item.second); })) {
    return false;
  }
  return entry.folding == Folding::kSpread ||
         (entry.folding == Folding::kElementwise &&
          std::ranges::all_of(node.inputs, [&](ValueId id) {
            return id != kNoValue &&
                   graph.at(id).type.shape == graph.at(node.outputs.front()).type.shape;
          }));
}

bool IsConstant(const Graph& graph, const Node& node, const std::vector<bool>& constant) {
  if (node.entry == nullptr || node.entry->infer == nullptr) {
    return false;
  }
  return node.entry->knows_result ||
         (IsWorkedOut(graph, node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
            return graph.at(id).kind == ValueKind::kConstant || constant[ToIndex(id)];
          }));
}

/// The product with the number of ranks in place of their sum.
void BecomeProduct(Node& node, ValueId ranks) {
  node.op = ops::kMul;
  node.entry = FindOp(ops::kMul);
  node.inputs.push_back(ranks);
  node.attrs.clear();
  node.instance_name.clear();
  node.group.reset();
  node.reason = CommReason::kNone;
  node.reason_text.clear();
}

}  // namespace

Graph FoldConstantSums(Graph local) {
  std::vector<bool> constant(local.values.size(), false);
  std::vector<bool> keep(local.nodes.size(), true);
  GraphBuilder builder(std::move(local));
  Graph& graph = builder.mutable_graph();
  std::vector<ValueId> replacement(graph.values.size(), kNoValue);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    bool known = IsConstant(graph, node, constant);
    const ValueId operand = node.inputs.empty() ? kNoValue : node.inputs.front();
    const bool reduces = ReducesToAll(node) && operand != kNoValue;
    if (reduces && (constant[ToIndex(operand)] || graph.at(operand).kind == ValueKind::kConstant)) {
      known = graph.at(operand).type.shape.empty();
      if (TextAttr(node.attrs, "op", "sum").value_or("sum") == "sum") {
        const auto ranks = static_cast<double>(GroupSize(*node.group));
        BecomeProduct(node, builder.AddScalar(ranks, graph.at(operand).type.dtype));
      } else {
        replacement[ToIndex(node.outputs.front())] = operand;
        keep[n] = false;
      }
    }
    constant.resize(graph.values.size(), false);
    for (const ValueId output : node.outputs) {
      constant[ToIndex(output)] = known;
    }
  }
  replacement.resize(graph.values.size(), kNoValue);
  return RemoveDeadNodes(Rewrite(std::move(builder).Take(), keep, replacement));
}

}  // namespace drydock::strategies
