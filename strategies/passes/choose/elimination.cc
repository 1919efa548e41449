#include "strategies/passes/choose/elimination.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

/// Variable elimination: the least sum over a graph of choices, exactly where tables stay small.
///
/// Costs are functions of few operators' candidates. An operator is taken away by adding up the
/// functions that depend on it and keeping, for every combination of its neighbours, the least sum:
/// a function of the neighbours alone. When all are gone a number is left, the least cost, and
/// going back each operator takes the candidate that gave it.
///
///   LayerNorm - MatMul - Add        MatMul away:  LayerNorm - Add, with f(l, a) = min over m of
///                                                 c(m) + c(l, m) + c(m, a)
///
/// Whoever needs the smallest table is next. A network is a chain of layers with few tensors
/// between them, so tables have two or three dimensions however long it is. Functions that are
/// equal for all layers are the same object, and what is made of the same objects is made once.
///
/// Where a table would be too large its functions are added up in groups, each with a candidate of
/// its own choice: what is left is then no more than the least cost (mini-buckets).
/// Source: R. Dechter, "Bucket elimination: a unifying framework for reasoning" (1999); R. Dechter,
/// I. Rish, "Mini-buckets: a general scheme for bounded inference" (2003).
namespace drydock::strategies {
namespace {

using Values = std::shared_ptr<const std::vector<double>>;

/// A function of the candidates of some operators; the last one's change fastest.
struct Function {
  std::vector<std::size_t> scope = {};
  Values values = {};
};

class Elimination {
 public:
  Elimination(const ChoiceGraph& graph, double price, const ChoiceEffort& effort)
      : effort_(effort), functions_of_(graph.operators.size()), place_(graph.operators.size()) {
    for (const ChoiceGraph::Operator& op : graph.operators) {
      extents_.push_back(op.choices->costs.size());
    }
    for (std::size_t op = 0; op < graph.operators.size(); ++op) {
      Add({.scope = {op}, .values = Priced(graph.operators[op].choices, price)});
    }
    for (const ChoiceGraph::Connection& connection : graph.connections) {
      AddConnection(connection);
    }
  }

  Eliminated Run() {
    for (std::size_t op = 0; op < extents_.size(); ++op) {
      Queue(op);
    }
    while (!queue_.empty()) {
      const std::size_t op = queue_.begin()->second;
      queue_.erase(queue_.begin());
      TakeAway(op);
    }
    Eliminated result = {.chosen = Choice(extents_.size(), 0), .lower_bound = constant_};
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      result.chosen[step->first] = BestIn(step->first, step->second, result.chosen);
    }
    return result;
  }

 private:
  using Numbers = std::vector<std::size_t>;

  [[nodiscard]] Values Priced(const std::shared_ptr<const ChoiceCosts>& choices, double price) {
    Values& known = priced_[choices.get()];
    if (!known) {
      std::vector<double> sums = choices->costs;
      for (std::size_t c = 0; price > 0 && c < sums.size(); ++c) {
        sums[c] += price * choices->bytes[c];
      }
      known = std::make_shared<const std::vector<double>>(std::move(sums));
    }
    return known;
  }

  void AddConnection(const ChoiceGraph::Connection& connection) {
    Values& known = pairs_[{connection.costs.get(), connection.from < connection.to}];
    const bool in_order = connection.from < connection.to;
    if (!known) {
      std::vector<double> values = connection.costs->costs;
      if (!in_order) {
        const std::size_t rows = extents_[connection.from];
        const std::size_t columns = extents_[connection.to];
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            values[c * rows + r] = connection.costs->At(r, c);
          }
        }
      }
      known = std::make_shared<const std::vector<double>>(std::move(values));
    }
    Add({.scope = {std::min(connection.from, connection.to),
                   std::max(connection.from, connection.to)},
         .values = known});
  }

  void Add(Function function) {
    if (function.scope.empty()) {
      constant_ += function.values->front();
      return;
    }
    for (const std::size_t op : function.scope) {
      functions_of_[op].push_back(functions_.size());
    }
    functions_.push_back(std::move(function));
  }

  /// All operators that the functions depend on, in order.
  [[nodiscard]] Numbers ScopeOf(const Numbers& functions) const {
    std::set<std::size_t> scope;
    for (const std::size_t f : functions) {
      scope.insert(functions_[f].scope.begin(), functions_[f].scope.end());
    }
    return {scope.begin(), scope.end()};
  }

  [[nodiscard]] double EntriesOf(const Numbers& scope) const {
    double entries = 1;
    for (const std::size_t op : scope) {
      entries *= static_cast<double>(extents_[op]);
    }
    return entries;
  }

  void Queue(std::size_t op) {
    if (place_[op]) {
      queue_.erase({*place_[op], op});
    }
    place_[op] = EntriesOf(ScopeOf(functions_of_[op]));
    queue_.insert({*place_[op], op});
  }

  void TakeAway(std::size_t op) {
    const Numbers functions = functions_of_[op];
    Numbers neighbours = ScopeOf(functions);
    std::erase(neighbours, op);
    for (const std::size_t f : functions) {
      for (const std::size_t other : functions_[f].scope) {
        std::erase(functions_of_[other], f);
      }
    }
    for (const Numbers& group : GroupsOf(functions)) {
      Add(WithoutOperator(op, group));
    }
    for (const std::size_t other : neighbours) {
      Queue(other);
    }
    steps_.emplace_back(op, functions);
  }

  /// Which functions are added up together: all of them where the table is small enough.
  [[nodiscard]] std::vector<Numbers> GroupsOf(Numbers functions) const {
    const double most =
        done_entries_ < effort_.entries ? effort_.table_entries : effort_.table_entries / kLess;
    if (EntriesOf(ScopeOf(functions)) <= most) {
      return {functions};
    }
    std::ranges::stable_sort(functions, std::greater<>(),
                             [this](std::size_t f) { return functions_[f].values->size(); });
    std::vector<Numbers> groups;
    for (const std::size_t f : functions) {
      const auto fits = [&](Numbers group) {
        group.push_back(f);
        return EntriesOf(ScopeOf(group)) <= most;
      };
      const auto group = std::ranges::find_if(groups, fits);
      if (group == groups.end()) {
        groups.push_back({f});
      } else {
        group->push_back(f);
      }
    }
    return groups;
  }

  /// Distance between the values of a function for neighbouring candidates of each operator.
  [[nodiscard]] Numbers StridesOf(const Function& function, const Numbers& scope) const {
    Numbers strides(scope.size(), 0);
    std::size_t stride = 1;
    for (std::size_t k = function.scope.size(); k-- > 0;) {
      const auto at = std::ranges::find(scope, function.scope[k]) - scope.begin();
      strides[static_cast<std::size_t>(at)] = stride;
      stride *= extents_[function.scope[k]];
    }
    return strides;
  }

  /// The least sum of some functions over the candidates of an operator.
  [[nodiscard]] Function WithoutOperator(std::size_t op, const Numbers& group) {
    Function result = {.scope = ScopeOf(group)};
    std::erase(result.scope, op);
    Numbers scope = result.scope;
    scope.push_back(op);  // Its candidates change fastest.
    std::vector<const double*> values;
    std::vector<Numbers> strides;
    Key key;
    for (const std::size_t f : group) {
      values.push_back(functions_[f].values->data());
      strides.push_back(StridesOf(functions_[f], scope));
      key.emplace_back(functions_[f].values.get(), strides.back());
    }
    Values& known = made_[key];
    if (!known) {
      known = LeastSums(scope, values, strides);
      done_entries_ += EntriesOf(scope);
    }
    result.values = known;
    return result;
  }

  [[nodiscard]] Values LeastSums(const Numbers& scope, const std::vector<const double*>& values,
                                 const std::vector<Numbers>& strides) const {
    const std::size_t last = scope.size() - 1;
    const std::size_t candidates = extents_[scope[last]];
    std::vector<double> least;
    Numbers at(last, 0);
    std::vector<double> sums(candidates);
    while (true) {
      std::ranges::fill(sums, 0.0);
      for (std::size_t f = 0; f < values.size(); ++f) {
        const double* from = values[f];
        for (std::size_t k = 0; k < last; ++k) {
          from += at[k] * strides[f][k];
        }
        const std::size_t step = strides[f][last];
        for (std::size_t c = 0; c < candidates; ++c) {
          sums[c] += from[c * step];
        }
      }
      least.push_back(*std::ranges::min_element(sums));
      std::size_t k = last;
      while (k > 0 && ++at[k - 1] == extents_[scope[k - 1]]) {
        at[--k] = 0;
      }
      if (k == 0) {
        return std::make_shared<const std::vector<double>>(std::move(least));
      }
    }
  }

  /// The candidate of an operator that its functions like best, everybody else in them decided.
  [[nodiscard]] std::size_t BestIn(std::size_t op, const Numbers& functions,
                                   const Choice& chosen) const {
    std::vector<double> sums(extents_[op], 0.0);
    for (const std::size_t f : functions) {
      const Function& function = functions_[f];
      const Numbers strides = StridesOf(function, function.scope);
      std::size_t from = 0;
      std::size_t step = 0;
      for (std::size_t k = 0; k < function.scope.size(); ++k) {
        const bool own = function.scope[k] == op;
        step = own ? strides[k] : step;
        from += own ? 0 : chosen[function.scope[k]] * strides[k];
      }
      for (std::size_t c = 0; c < sums.size(); ++c) {
        sums[c] += (*function.values)[from + c * step];
      }
    }
    return static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
  }

  /// How much smaller tables have to be once all together are large.
  static constexpr double kLess = 64;
  /// Functions that are added up, by address, and how they lie. Look-up only.
  using Key = std::vector<std::pair<const void*, Numbers>>;

  const ChoiceEffort& effort_;
  std::vector<std::size_t> extents_ = {};
  std::vector<Function> functions_ = {};
  std::vector<Numbers> functions_of_;  ///< That are not added up yet.
  std::vector<std::optional<double>> place_;
  std::set<std::pair<double, std::size_t>> queue_ = {};
  std::vector<std::pair<std::size_t, Numbers>> steps_ = {};
  std::map<const void*, Values> priced_ = {};
  std::map<std::pair<const void*, bool>, Values> pairs_ = {};
  std::map<Key, Values> made_ = {};
  double done_entries_ = 0;
  double constant_ = 0;
};

}  // namespace

Eliminated Eliminate(const ChoiceGraph& graph, double price, const ChoiceEffort& effort) {
  return Elimination(graph, price, effort).Run();
}

}  // namespace drydock::strategies
