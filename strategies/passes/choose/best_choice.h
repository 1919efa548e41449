#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace drydock::strategies {

/// An operator of a graph of choices: what each of its candidates costs and needs.
struct ChoiceCosts {
  std::vector<double> costs = {};
  std::vector<double> bytes = {};  ///< Memory, added up over the operators of a part.
};

/// Costs of pairs of candidates, row after row; infinite where they do not go together.
struct PairCosts {
  std::size_t columns = 0;
  std::vector<double> costs = {};
  [[nodiscard]] double At(std::size_t row, std::size_t column) const {
    return costs[row * columns + column];
  }
};

/// Operators of which each takes one candidate, and what that costs: the sum over operators and
/// over connections. Equal costs are shared, so that what layers have in common is worked out once.
struct ChoiceGraph {
  struct Operator {
    std::shared_ptr<const ChoiceCosts> choices = {};
    std::size_t part = 0;  ///< Whose memory it needs: a pipeline stage.
  };
  struct Connection {
    std::size_t from = 0;
    std::size_t to = 0;
    std::shared_ptr<const PairCosts> costs = {};  ///< Rows: candidates of `from`.
  };
  std::vector<Operator> operators = {};
  std::vector<Connection> connections = {};
  std::size_t parts = 1;
};

/// A candidate for every operator.
using Choice = std::vector<std::size_t>;

struct BestChoice {
  Choice chosen = {};
  double cost = 0;
  double bytes = 0;        ///< Of the part that needs most.
  double lower_bound = 0;  ///< No choice that fits costs less.
  bool fits = true;        ///< False: none was found that fits; this one needs little.
};

/// Limits of ChooseBest; beyond them the lower bound is less than the cost.
struct ChoiceEffort {
  double table_entries = 1 << 25;  ///< Greatest table of sums.
  double entries = 4e9;            ///< Of all tables together.
};

/// The choice of least cost whose parts need at most `limit_bytes` each; with a bound that proves
/// how far from the best it is. See the source.
///
/// @param limit_bytes  0: anything fits
/// @param known        choices that are there already: the answer is never worse than one that fits
/// @return nullopt if no choice goes together
[[nodiscard]] std::optional<BestChoice> ChooseBest(const ChoiceGraph& graph, double limit_bytes,
                                                   std::span<const Choice> known = {},
                                                   const ChoiceEffort& effort = {});

/// What a choice costs; infinite if it does not go together.
[[nodiscard]] double CostOfChoice(const ChoiceGraph& graph, const Choice& choice);
/// A choice with what is decided; each other operator costs least next to decided neighbours.
[[nodiscard]] Choice Completed(const ChoiceGraph& graph,
                               const std::vector<std::optional<std::size_t>>& decided);
/// What the part that needs most needs.
[[nodiscard]] double BytesOfChoice(const ChoiceGraph& graph, const Choice& choice);

}  // namespace drydock::strategies
