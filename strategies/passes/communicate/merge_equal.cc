#include "strategies/passes/communicate/merge_equal.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/overloaded.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/prepare/rewrite.h"

/// Common operators of the program of one rank, forward and backward together. Two redistributions
/// of one value that begin alike share what they have in common, and so do the exchanges that
/// differentiation makes of one gradient. Before differentiation nothing is merged: operators that
/// the script applies twice have two gradients, each with its own collectives.
///
/// Two nodes are the same if operator, operands, attributes and group are. Of AllReduces only
/// operand and group count, as in the reference. A parameter that was written in between is another
/// operand; constants with the same numbers are one. Operators with effects (updates, random
/// numbers) stay as they are. The first of the equal nodes remains where it is.
///
/// Example: x (8, 1) wanted whole by one operator and as (1, 8) by another: AllGather, and
/// AllGather with Split behind it, become one AllGather with a Split. Source:
/// mindspore/ccsrc/utils/cse.cc; the running reference.
namespace drydock::strategies {
namespace {

/// Two equal applications of these operators have different results.
constexpr std::string_view kRandomFamily = "random";
/// Numbers that follow from the rank: constants, though nodes make them.
constexpr std::string_view kRankFamily = "rank";

void Mix(std::size_t& hash, std::size_t more) {
  constexpr std::size_t kSpread = 0x9e3779b97f4a7c15U;
  hash ^= more + kSpread + (hash << 6U) + (hash >> 2U);
}

void MixAttr(std::size_t& hash, const Attr& attr) {
  Mix(hash, attr.value.index());
  std::visit(
      Overloaded{[](std::monostate) {}, [&](bool v) { Mix(hash, v ? 1 : 0); },
                 [&](std::int64_t v) { Mix(hash, std::hash<std::int64_t>()(v)); },
                 [&](double v) { Mix(hash, std::hash<double>()(v)); },
                 [&](const std::string& v) { Mix(hash, std::hash<std::string>()(v)); },
                 [&](const Attr::List& list) {
                   for (const Attr& item : list) {
                     MixAttr(hash, item);
                   }
                 },
                 [&](const RankExpr& v) { Mix(hash, std::hash<std::int64_t>()(v.constant)); }},
      attr.value);
}

class Merger {
 public:
  Merger(Graph graph, bool recomputed)
      : graph_(std::move(graph)),
        recomputed_(recomputed),
        keep_(graph_.nodes.size(), true),
        replacement_(graph_.values.size(), kNoValue),
        version_(graph_.values.size(), 0) {
    MergeConstants();
  }

  Graph Run() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      for (ValueId& input : node.inputs) {
        if (input != kNoValue && replacement_[ToIndex(input)] != kNoValue) {
          input = replacement_[ToIndex(input)];
        }
      }
      if (MayMerge(node)) {
        Visit(n);
      }
      for (const std::size_t written : WrittenOperands(*node.entry)) {
        if (written < node.inputs.size() && node.inputs[written] != kNoValue) {
          ++version_[ToIndex(node.inputs[written])];
        }
      }
    }
    return RemoveDeadNodes(Rewrite(std::move(graph_), keep_, replacement_));
  }

 private:
  /// Earlier nodes with one hash, and the versions of their operands when they ran.
  struct Seen {
    std::size_t node = 0;
    std::vector<std::int32_t> versions = {};
  };

  void MergeConstants() {
    std::unordered_map<std::size_t, std::vector<ValueId>> by_hash;
    for (const Constant& constant : graph_.constants) {
      if (!constant.data && !constant.number) {
        continue;
      }
      const TensorType& type = graph_.at(constant.value).type;
      std::size_t hash = static_cast<std::size_t>(type.dtype);
      Mix(hash, std::hash<std::optional<double>>()(constant.number));
      for (const double number : constant.data.value_or(std::vector<double>{})) {
        Mix(hash, std::hash<double>()(number));
      }
      std::vector<ValueId>& candidates = by_hash[hash];
      const auto same = std::ranges::find_if(candidates, [&](ValueId id) {
        const Constant& other = graph_.constants[static_cast<std::size_t>(graph_.at(id).detail)];
        return graph_.at(id).type == type && other.data == constant.data &&
               other.number == constant.number;
      });
      if (same == candidates.end()) {
        candidates.push_back(constant.value);
      } else {
        replacement_[ToIndex(constant.value)] = *same;
      }
    }
  }

  [[nodiscard]] bool MayMerge(const Node& node) const {
    return (recomputed_ || !IsInRecomputedScope(node)) && node.entry != nullptr &&
           node.entry->infer != nullptr && !node.outputs.empty() &&
           node.entry->kind != OpKind::kUpdate && node.entry->writes.empty() &&
           node.entry->family != kRandomFamily &&
           (!node.inputs.empty() || node.entry->family == kRankFamily);
  }

  static bool OnlyGroupCounts(const Node& node) { return ReducesToAll(node); }

  static std::size_t HashOf(const Node& node) {
    std::size_t hash = std::hash<const OpEntry*>()(node.entry);
    for (const ValueId input : node.inputs) {
      Mix(hash, static_cast<std::size_t>(ToInt(input)));
    }
    if (!OnlyGroupCounts(node)) {
      for (const auto& [name, attr] : node.attrs) {
        MixAttr(hash, attr);
      }
    }
    return hash;
  }

  [[nodiscard]] bool Same(const Node& a, const Node& b) const {
    if (a.entry != b.entry || a.inputs != b.inputs || a.group != b.group ||
        (!OnlyGroupCounts(a) && a.attrs != b.attrs) || a.outputs.size() != b.outputs.size()) {
      return false;
    }
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      if (graph_.at(a.outputs[i]).type != graph_.at(b.outputs[i]).type) {
        return false;
      }
    }
    return true;
  }

  void Visit(std::size_t n) {
    const Node& node = graph_.nodes[n];
    Seen now{.node = n};
    for (const ValueId input : node.inputs) {
      now.versions.push_back(input == kNoValue ? 0 : version_[ToIndex(input)]);
    }
    std::vector<Seen>& candidates = seen_[HashOf(node)];
    const auto same = std::ranges::find_if(candidates, [&](const Seen& one) {
      return one.versions == now.versions && Same(graph_.nodes[one.node], node);
    });
    if (same == candidates.end()) {
      candidates.push_back(std::move(now));
      return;
    }
    keep_[n] = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      replacement_[ToIndex(node.outputs[i])] = graph_.nodes[same->node].outputs[i];
    }
  }

  Graph graph_;
  bool recomputed_;
  std::vector<bool> keep_;
  std::vector<ValueId> replacement_;
  std::vector<std::int32_t> version_;  ///< Per value: how often it was written so far.
  std::unordered_map<std::size_t, std::vector<Seen>> seen_ = {};
};

}  // namespace

Graph MergeEqualNodes(Graph local, bool recomputed) {
  return Merger(std::move(local), recomputed).Run();
}

}  // namespace drydock::strategies
