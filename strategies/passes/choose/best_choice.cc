#include "strategies/passes/choose/best_choice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "strategies/passes/choose/elimination.h"

/// The best choice within a limit of memory, and a proof of how good it is.
///
/// Without the limit the answer is that of elimination.cc. If it needs too much, memory gets a
/// price per byte: elimination makes cost + price * bytes least, and for every price
///
///   least(price) - price * limit  <=  the cost of every choice that fits
///
/// since such a choice needs no more than the limit (Lagrange). The price is halved and doubled
/// until the choices on both sides of the limit are next to each other; the greatest of these
/// bounds, and the cheapest choice that fits, are kept. That one is then made better operator by
/// operator as long as it still fits. Of many equal layers some get the faster and some the smaller
/// strategy, so that the gap is a fraction of one layer.
///
/// Several parts, each with the limit: the bound takes their sum, against as many limits.
/// Source: H. Everett, "Generalized Lagrange multiplier method" (1963).
namespace drydock::strategies {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class PricedSearch {
 public:
  PricedSearch(const ChoiceGraph& graph, double limit_bytes, const ChoiceEffort& effort)
      : graph_(graph), limit_(limit_bytes), effort_(effort) {
    connections_of_.resize(graph.operators.size());
    for (std::size_t c = 0; c < graph.connections.size(); ++c) {
      connections_of_[graph.connections[c].from].push_back(c);
      connections_of_[graph.connections[c].to].push_back(c);
    }
  }

  std::optional<BestChoice> Run(std::span<const Choice> known) {
    const double free_cost = Try(0);
    for (const Choice& choice : known) {
      Consider(choice);
    }
    if (free_cost == kInfinite || smallest_.empty()) {
      return std::nullopt;
    }
    if (!Fits(last_bytes_)) {
      FindPrice(std::max(1.0, free_cost) / limit_ / kFirst);
    }
    const bool fits = best_.has_value();
    Choice chosen = fits ? *best_ : smallest_;
    if (fits && CostOfChoice(graph_, chosen) > bound_) {
      Improve(chosen);
    }
    BestChoice result = {.chosen = std::move(chosen), .fits = fits};
    result.cost = CostOfChoice(graph_, result.chosen);
    result.bytes = BytesOfChoice(graph_, result.chosen);
    result.lower_bound = std::min(bound_, result.cost);
    return result;
  }

 private:
  [[nodiscard]] bool Fits(double bytes) const { return limit_ <= 0 || bytes <= limit_; }

  void Consider(const Choice& choice) {
    const double cost = CostOfChoice(graph_, choice);
    if (cost == kInfinite) {
      return;
    }
    const double bytes = BytesOfChoice(graph_, choice);
    if (smallest_.empty() || bytes < smallest_bytes_) {
      smallest_ = choice;
      smallest_bytes_ = bytes;
    }
    if (Fits(bytes) && cost < best_cost_) {
      best_ = choice;
      best_cost_ = cost;
    }
  }

  /// What cannot be undercut at a price; bounds and choices are kept.
  double Try(double price) {
    const Eliminated found = Eliminate(graph_, price, effort_);
    if (found.lower_bound == kInfinite) {
      return kInfinite;
    }
    bound_ =
        std::max(bound_, found.lower_bound - price * limit_ * static_cast<double>(graph_.parts));
    last_bytes_ = BytesOfChoice(graph_, found.chosen);
    Consider(found.chosen);
    return found.lower_bound;
  }

  /// The prices below and above which choices need more and less than the limit, ever closer.
  void FindPrice(double price) {
    constexpr int kGrowths = 24;
    constexpr int kHalvings = 12;
    double low = 0;
    for (int i = 0; i < kGrowths && !TryAndFit(price); ++i) {
      low = price;
      price *= 4;
    }
    double high = price;
    for (int i = 0; i < kHalvings && best_ && best_cost_ - bound_ > kEnough * bound_; ++i) {
      const double middle = (low + high) / 2;
      (TryAndFit(middle) ? high : low) = middle;
    }
  }

  [[nodiscard]] bool TryAndFit(double price) {
    Try(price);
    return Fits(last_bytes_);
  }

  /// Operator after operator takes the cheapest candidate with which all still fits.
  void Improve(Choice& chosen) const {
    std::vector<double> bytes(graph_.parts, 0.0);
    for (std::size_t op = 0; op < chosen.size(); ++op) {
      bytes[graph_.operators[op].part] += graph_.operators[op].choices->bytes[chosen[op]];
    }
    constexpr int kRounds = 4;
    bool changed = true;
    for (int round = 0; changed && round < kRounds; ++round) {
      changed = false;
      for (std::size_t op = 0; op < chosen.size(); ++op) {
        const std::size_t better = BetterOf(op, chosen, bytes[graph_.operators[op].part]);
        if (better != chosen[op]) {
          const std::vector<double>& need = graph_.operators[op].choices->bytes;
          bytes[graph_.operators[op].part] += need[better] - need[chosen[op]];
          chosen[op] = better;
          changed = true;
        }
      }
    }
  }

  [[nodiscard]] std::size_t BetterOf(std::size_t op, const Choice& chosen,
                                     double part_bytes) const {
    const ChoiceCosts& choices = *graph_.operators[op].choices;
    const double others = part_bytes - choices.bytes[chosen[op]];
    std::size_t best = chosen[op];
    double least = CostAround(op, best, chosen);
    for (std::size_t c = 0; c < choices.costs.size(); ++c) {
      if (Fits(others + choices.bytes[c])) {
        const double cost = CostAround(op, c, chosen);
        if (cost < least * (1 - kRounding)) {
          best = c;
          least = cost;
        }
      }
    }
    return best;
  }

  [[nodiscard]] double CostAround(std::size_t op, std::size_t candidate,
                                  const Choice& chosen) const {
    double cost = graph_.operators[op].choices->costs[candidate];
    for (const std::size_t c : connections_of_[op]) {
      const ChoiceGraph::Connection& connection = graph_.connections[c];
      cost += connection.from == op ? connection.costs->At(candidate, chosen[connection.to])
                                    : connection.costs->At(chosen[connection.from], candidate);
    }
    return cost;
  }

  static constexpr double kFirst = 1024;  ///< How far below one limit for all costs prices begin.
  static constexpr double kRounding = 1e-12;
  static constexpr double kEnough = 1e-9;

  const ChoiceGraph& graph_;
  double limit_ = 0;
  const ChoiceEffort& effort_;
  std::vector<std::vector<std::size_t>> connections_of_ = {};
  double bound_ = 0;
  double last_bytes_ = 0;
  std::optional<Choice> best_ = {};
  double best_cost_ = kInfinite;
  Choice smallest_ = {};
  double smallest_bytes_ = kInfinite;
};

}  // namespace

double CostOfChoice(const ChoiceGraph& graph, const Choice& choice) {
  double cost = 0;
  for (std::size_t op = 0; op < choice.size(); ++op) {
    cost += graph.operators[op].choices->costs[choice[op]];
  }
  for (const ChoiceGraph::Connection& connection : graph.connections) {
    cost += connection.costs->At(choice[connection.from], choice[connection.to]);
  }
  return cost;
}

Choice Completed(const ChoiceGraph& graph, const std::vector<std::optional<std::size_t>>& decided) {
  Choice choice;
  for (const std::optional<std::size_t>& candidate : decided) {
    choice.push_back(candidate.value_or(0));
  }
  std::vector<std::vector<double>> sums(decided.size());
  for (std::size_t op = 0; op < decided.size(); ++op) {
    sums[op] = decided[op] ? std::vector<double>() : graph.operators[op].choices->costs;
  }
  for (const ChoiceGraph::Connection& connection : graph.connections) {
    const auto [from, to, costs] = connection;
    for (std::size_t c = 0; decided[to] && c < sums[from].size(); ++c) {
      sums[from][c] += costs->At(c, choice[to]);
    }
    for (std::size_t c = 0; decided[from] && c < sums[to].size(); ++c) {
      sums[to][c] += costs->At(choice[from], c);
    }
  }
  for (std::size_t op = 0; op < decided.size(); ++op) {
    if (!sums[op].empty()) {
      choice[op] = static_cast<std::size_t>(std::ranges::min_element(sums[op]) - sums[op].begin());
    }
  }
  return choice;
}

double BytesOfChoice(const ChoiceGraph& graph, const Choice& choice) {
  std::vector<double> bytes(graph.parts, 0.0);
  for (std::size_t op = 0; op < choice.size(); ++op) {
    bytes[graph.operators[op].part] += graph.operators[op].choices->bytes[choice[op]];
  }
  return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

std::optional<BestChoice> ChooseBest(const ChoiceGraph& graph, double limit_bytes,
                                     std::span<const Choice> known, const ChoiceEffort& effort) {
  return PricedSearch(graph, limit_bytes, effort).Run(known);
}

}  // namespace drydock::strategies
