#include "strategies/reference/constant_value.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "strategies/operators/op_entry.h"
#include "strategies/reference/evaluate_node.h"

/// Numbers of constants.
///
/// The graph is walked from the value to the constants that it follows from, without recursion: a
/// script may have computed with a thousand operators. What is found on the way is kept until the
/// value is known, not longer.
namespace drydock::strategies {
namespace {

class Evaluation {
 public:
  Evaluation(const Graph& graph, std::size_t most_elements)
      : graph_(graph), most_elements_(most_elements) {}

  std::optional<NdArray> Of(ValueId wanted) {
    std::vector<ValueId> open = {wanted};
    while (!open.empty()) {
      const ValueId id = open.back();
      if (known_.contains(id)) {
        open.pop_back();
        continue;
      }
      const Value& value = graph_.at(id);
      if (!IsSmall(value.type)) {
        return std::nullopt;
      }
      if (value.kind == ValueKind::kConstant) {
        if (!TakeConstant(id)) {
          return std::nullopt;
        }
        continue;
      }
      if (value.kind != ValueKind::kOutput || !FollowsFromOperands(graph_.at(value.producer)) ||
          !GivesSmall(graph_.at(value.producer))) {
        return std::nullopt;
      }
      const Node& node = graph_.at(value.producer);
      const std::size_t before = open.size();
      std::ranges::copy_if(node.inputs, std::back_inserter(open), [this](ValueId input) {
        return input != kNoValue && !known_.contains(input);
      });
      if (open.size() == before && !Compute(node)) {
        return std::nullopt;
      }
    }
    return std::move(known_.at(wanted));
  }

 private:
  [[nodiscard]] bool IsSmall(const TensorType& type) const {
    const Result<std::int64_t> count = ElementCount(type.shape);
    return count && std::cmp_less_equal(*count, most_elements_);
  }

  [[nodiscard]] bool GivesSmall(const Node& node) const {
    return std::ranges::all_of(node.outputs,
                               [this](ValueId output) { return IsSmall(graph_.at(output).type); });
  }

  static bool FollowsFromOperands(const Node& node) {
    return node.entry != nullptr && node.entry->family != "random" &&
           !node.entry->per_micro_batch && Computes(node.entry->kind);
  }

  static bool Computes(OpKind kind) {
    switch (kind) {
      case OpKind::kCompute:
      case OpKind::kView:
      case OpKind::kTransparent:
      case OpKind::kReshape:
      case OpKind::kNoGradient:
        return true;
      case OpKind::kUpdate:
      case OpKind::kCollective:
      case OpKind::kGradient:
      case OpKind::kDataset:
        return false;
    }
    return false;
  }

  bool TakeConstant(ValueId id) {
    const Value& value = graph_.at(id);
    const Constant& constant = graph_.constants[static_cast<std::size_t>(value.detail)];
    if (constant.number) {
      known_.emplace(id, FilledArray(value.type.shape, *constant.number));
    } else if (constant.data) {
      known_.emplace(id, NdArray{.shape = value.type.shape, .data = *constant.data});
    }
    return known_.contains(id);
  }

  bool Compute(const Node& node) {
    Result<std::vector<NdArray>> results = EvaluateNode(
        graph_, node, node.attrs, [this](ValueId id) -> const NdArray& { return known_.at(id); });
    if (!results || results->size() < node.outputs.size()) {
      return false;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if ((*results)[i].shape != graph_.at(node.outputs[i]).type.shape) {
        return false;
      }
      known_.insert_or_assign(node.outputs[i], std::move((*results)[i]));
    }
    return true;
  }

  const Graph& graph_;
  const std::size_t most_elements_;
  std::map<ValueId, NdArray> known_ = {};
};

}  // namespace

std::optional<NdArray> ConstantValue(const Graph& graph, ValueId value, std::size_t most_elements) {
  return Evaluation(graph, most_elements).Of(value);
}

}  // namespace drydock::strategies
