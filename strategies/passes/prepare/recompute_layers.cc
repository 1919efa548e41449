// A graph as if its layers were recomputed: one of the changes that are tried when a job does not
// fit.
//
// Layers are what repeats: scopes beside one another whose names differ in their digits only, each
// of which reads a weight. `net/layers/0-Block` to `net/layers/95-Block` are 96 layers; what
// repeats within one of them (its experts, its two normalizations) is part of it. All that a layer
// applies is marked by its scope, as a script does with recompute(); what makes its results is
// kept, as the rest of the network reads it.
#include "strategies/passes/prepare/recompute_layers.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {
namespace {

/// "0-Block" and "17-Block" are both "#-Block".
std::string WithoutNumbers(std::string_view segment) {
  std::string kind;
  for (const char c : segment) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || !kind.ends_with('#')) {
      kind += digit ? '#' : c;
    }
  }
  return kind;
}

/// The word that names layers: "Block" of "#-Block", "layer" of "layer#".
std::string NameOf(std::string_view kind) {
  std::string name;
  for (const char c : kind) {
    if (c != '#' && (c != '-' || !name.empty())) {
      name += c;
    }
  }
  return name.empty() ? "layer" : name;
}

/// Whether a scope is one of `scopes`, or inside of one.
bool IsBelow(const std::string& scope, const std::set<std::string>& scopes) {
  for (std::size_t end = scope.find('/'); true; end = scope.find('/', end + 1)) {
    if (scopes.contains(scope.substr(0, end))) {
      return true;
    }
    if (end == std::string::npos) {
      return false;
    }
  }
}

/// As the scopes of Cells begin that a script recomputes; see IsInRecomputedScope.
void MarkRecomputed(Node& node) {
  node.scope.insert(0, "recompute_");
}

class Layers {
 public:
  explicit Layers(Graph& graph) : graph_(graph) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.phase == Phase::kForward && node.entry->kind != OpKind::kGradient &&
          !IsInRecomputedScope(node)) {
        nodes_.push_back(n);
      }
    }
  }

  std::string Run() {
    Find("", nodes_, 0);
    if (!texts_.empty()) {
      KeepResults();
      for (const auto& [n, layer] : layer_of_) {
        MarkRecomputed(graph_.nodes[n]);
      }
    }
    std::string text;
    for (const std::string& found : texts_) {
      text += (text.empty() ? "" : " and ") + found;
    }
    return text;
  }

 private:
  using Members = std::vector<std::size_t>;
  static constexpr int kMaxDepth = 64;  ///< Layers are not looked for in deeper scopes.

  /// The outermost layers in a scope: `prefix` is its name with a slash behind it.
  void Find(const std::string& prefix, const Members& members, int depth) {
    std::map<std::string, std::map<std::string, Members>> kinds;
    for (const std::size_t n : members) {
      const std::string_view scope = graph_.nodes[n].scope;
      if (scope.size() > prefix.size()) {
        const std::string_view rest = scope.substr(prefix.size());
        const std::string segment(rest.substr(0, rest.find('/')));
        kinds[WithoutNumbers(segment)][segment].push_back(n);
      }
    }
    for (const auto& [kind, scopes] : kinds) {
      const auto layers = std::ranges::count_if(
          scopes, [&](const auto& scope) { return ReadsWeight(scope.second); });
      for (const auto& [segment, inside] : scopes) {
        if (layers > 1) {
          Mark(inside);
        } else if (depth < kMaxDepth) {
          Find(prefix + segment + "/", inside, depth + 1);
        }
      }
      if (layers > 1) {
        texts_.push_back("the " + std::to_string(layers) + " " + NameOf(kind) + "s in '" +
                         prefix.substr(0, std::max<std::size_t>(prefix.size(), 1) - 1) + "'");
      }
    }
  }

  void Mark(const Members& layer) {
    if (!ReadsWeight(layer)) {
      return;
    }
    for (const std::size_t n : layer) {
      layer_of_[n] = layer.front();
    }
  }

  [[nodiscard]] bool ReadsWeight(const Members& members) const {
    return std::ranges::any_of(members, [&](std::size_t n) {
      return std::ranges::any_of(graph_.nodes[n].inputs, [&](ValueId input) {
        return input != kNoValue && graph_.at(input).kind == ValueKind::kParameter;
      });
    });
  }

  /// What the rest of the forward network reads of a layer is kept.
  void KeepResults() {
    for (const std::size_t n : nodes_) {
      const auto reader = layer_of_.find(n);
      for (const ValueId input : graph_.nodes[n].inputs) {
        const NodeId producer = input == kNoValue ? kNoNode : graph_.at(input).producer;
        const auto made = producer == kNoNode ? layer_of_.end() : layer_of_.find(ToIndex(producer));
        if (made != layer_of_.end() &&
            (reader == layer_of_.end() || reader->second != made->second)) {
          graph_.nodes[made->first].attrs.insert_or_assign(std::string(kRecompute), false);
        }
      }
    }
  }

  Graph& graph_;
  Members nodes_ = {};  ///< Forward nodes that are not recomputed yet.
  std::map<std::size_t, std::size_t> layer_of_ = {};  ///< Of a node: the first node of its layer.
  std::vector<std::string> texts_ = {};
};

}  // namespace

std::string RecomputeLayers(Graph& graph) {
  return Layers(graph).Run();
}

void RecomputeScopes(Graph& graph, const std::set<std::string>& outer,
                     const std::set<std::string>& apart) {
  for (Node& node : graph.nodes) {
    if (IsBelow(node.scope, outer) && !IsBelow(node.scope, apart)) {
      MarkRecomputed(node);
    }
  }
}

}  // namespace drydock::strategies
