#include <algorithm>
#include <limits>
#include <utility>

#include "strategies/passes/choose/cost_graph.h"

/// The six steps that take a graph of choices apart, and how each is undone (cost_graph.cc).
namespace drydock::strategies {

/// The costs of going from one candidate through any of the middle to another.
CostList CostGraph::Join(const std::vector<Half>& halves, const std::vector<CostList>& right) {
  std::vector<Raw> raws;
  for (const Half& half : halves) {
    for (const CostId c : right[half.candidate]) {
      raws.push_back({half.cost + costs_[static_cast<std::size_t>(c)],
                      {.candidates = {static_cast<std::int32_t>(half.candidate), -1, -1},
                       .costs = {half.left, half.middle, c, -1, -1}}});
    }
  }
  return Simplify(std::move(raws));
}

/// The same where one cost per pair is enough.
CostList CostGraph::JoinBest(const std::vector<Half>& halves, const std::vector<CostList>& right) {
  const Half* best = nullptr;
  CostId way = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const Half& half : halves) {
    for (const CostId c : right[half.candidate]) {
      const double now = half.weighed + Weighed(costs_[static_cast<std::size_t>(c)]);
      if (now < least) {
        least = now;
        best = &half;
        way = c;
      }
    }
  }
  return best == nullptr
             ? CostList{}
             : CostList{Keep(best->cost + costs_[static_cast<std::size_t>(way)],
                             {.candidates = {static_cast<std::int32_t>(best->candidate), -1, -1},
                              .costs = {best->left, best->middle, way, -1, -1}})};
}

/// From one candidate to each of the middle.
std::vector<CostGraph::Half> CostGraph::HalvesOf(const std::vector<CostList>& left,
                                                 const std::vector<CostList>& middle) const {
  std::vector<Half> halves;
  for (std::size_t m = 0; m < middle.size(); ++m) {
    for (const CostId a : left[m]) {
      for (const CostId b : middle[m]) {
        halves.push_back(
            {.cost = costs_[static_cast<std::size_t>(a)] + costs_[static_cast<std::size_t>(b)],
             .candidate = m,
             .left = a,
             .middle = b});
      }
    }
  }
  return halves;
}

/// The same for all pairs of candidates; equal ones, of other layers, are known.
CostGraph::Table CostGraph::JoinedTable(const Table& left, const Column& middle,
                                        const Table& right) {
  Table& known = joined_[{left.get(), middle.get(), right.get()}];
  if (known) {
    return known;
  }
  const std::size_t ends = right->empty() ? 0 : right->front().size();
  std::vector<std::vector<CostList>> to_end(ends, std::vector<CostList>(right->size()));
  for (std::size_t m = 0; m < right->size(); ++m) {
    for (std::size_t v = 0; v < ends; ++v) {
      to_end[v][m] = (*right)[m][v];
    }
  }
  std::vector<std::vector<CostList>> table;
  for (const std::vector<CostList>& row : *left) {
    const std::vector<Half> halves = HalvesOf(row, *middle);
    std::vector<CostList>& lists = table.emplace_back(ends);
    for (std::size_t v = 0; v < ends; ++v) {
      lists[v] = best_only_ ? JoinBest(halves, to_end[v]) : Join(halves, to_end[v]);
    }
  }
  known = std::make_shared<const std::vector<std::vector<CostList>>>(std::move(table));
  tables_.insert(tables_.end(), {left, right});
  kept_columns_.push_back(middle);
  return known;
}

void CostGraph::TakeOperator(Step& step) {
  const Connection left = connections_[step.connections[0]];
  const Connection right = connections_[step.connections[1]];
  connections_.push_back(
      {.from = left.from,
       .to = right.to,
       .lists = JoinedTable(left.lists, operators_[step.op].lists, right.lists)});
  step.target = connections_.size() - 1;
  Replace(operators_[left.from].out, step.connections[0], step.target);
  Replace(operators_[right.to].in, step.connections[1], step.target);
}

void CostGraph::TakeConnections(Step& step) {
  const std::size_t from = connections_[step.connections[0]].from;
  const std::size_t to = connections_[step.connections[0]].to;
  std::vector<std::vector<CostList>> joined = *connections_[step.connections[0]].lists;
  for (std::size_t k = 1; k < step.connections.size(); ++k) {
    const std::vector<std::vector<CostList>>& next = *connections_[step.connections[k]].lists;
    for (std::size_t u = 0; u < joined.size(); ++u) {
      for (std::size_t v = 0; v < joined[u].size(); ++v) {
        std::vector<Raw> raws;
        for (const CostId a : joined[u][v]) {
          for (const CostId b : next[u][v]) {
            raws.push_back(
                {costs_[static_cast<std::size_t>(a)] + costs_[static_cast<std::size_t>(b)],
                 {.costs = {a, b, -1, -1, -1}}});
          }
        }
        joined[u][v] = Simplify(std::move(raws));
      }
    }
  }
  connections_.push_back(
      {.from = from,
       .to = to,
       .lists = std::make_shared<const std::vector<std::vector<CostList>>>(std::move(joined))});
  step.target = connections_.size() - 1;
  for (auto* list : {&operators_[from].out, &operators_[to].in}) {
    std::erase_if(*list, [&](std::size_t c) {
      return connections_[c].from == from && connections_[c].to == to;
    });
    list->push_back(step.target);
  }
}

/// An operator at the end goes into its only neighbour.
void CostGraph::Fold(const Step& step, bool into_producer) {
  const std::vector<std::vector<CostList>>& ways = *connections_[step.connections[0]].lists;
  std::vector<CostList> target = *operators_[step.target].lists;
  const std::vector<CostList>& gone = *operators_[step.op].lists;
  for (std::size_t t = 0; t < target.size(); ++t) {
    std::vector<Raw> raws;
    for (std::size_t g = 0; g < gone.size(); ++g) {
      const CostList& between = into_producer ? ways[t][g] : ways[g][t];
      for (const CostId a : gone[g]) {
        for (const CostId b : between) {
          for (const CostId c : target[t]) {
            raws.push_back(
                {costs_[static_cast<std::size_t>(a)] + costs_[static_cast<std::size_t>(b)] +
                     costs_[static_cast<std::size_t>(c)],
                 {.candidates = {static_cast<std::int32_t>(g), static_cast<std::int32_t>(t), -1},
                  .costs = {a, b, c, -1, -1}}});
          }
        }
      }
    }
    target[t] = Simplify(std::move(raws));
  }
  operators_[step.target].lists = std::make_shared<const std::vector<CostList>>(std::move(target));
}

/// The tip goes into the left corner, with what it means for the right one.
// Plain loops over candidates and their costs.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
void CostGraph::TakeTriangle(const Step& step) {
  const std::vector<std::vector<CostList>>& to_left = *connections_[step.connections[0]].lists;
  const std::vector<std::vector<CostList>>& to_right = *connections_[step.connections[1]].lists;
  std::vector<CostList> left = *operators_[step.target].lists;
  const std::vector<CostList>& right = *operators_[connections_[step.connections[1]].to].lists;
  const std::vector<CostList>& tip = *operators_[step.op].lists;
  const auto cost = [this](CostId id) { return costs_[static_cast<std::size_t>(id)]; };
  for (std::size_t l = 0; l < left.size(); ++l) {
    std::vector<Raw> raws;
    for (std::size_t t = 0; t < tip.size(); ++t) {
      for (std::size_t r = 0; r < right.size(); ++r) {
        for (const CostId of_right : right[r]) {
          for (const CostId right_way : to_right[t][r]) {
            for (const CostId of_tip : tip[t]) {
              for (const CostId left_way : to_left[t][l]) {
                for (const CostId of_left : left[l]) {
                  raws.push_back(
                      {cost(of_tip) + cost(left_way) + cost(of_left) + cost(right_way) +
                           cost(of_right),
                       {.candidates = {static_cast<std::int32_t>(t), static_cast<std::int32_t>(l),
                                       static_cast<std::int32_t>(r)},
                        .costs = {of_tip, left_way, of_left, right_way, of_right}}});
                }
              }
            }
          }
        }
      }
    }
    left[l] = Simplify(std::move(raws));
  }
  operators_[step.target].lists = std::make_shared<const std::vector<CostList>>(std::move(left));
}

/// The centre goes into its first successor, with what it means for all others. These are added one
/// after the other, and only what is best for some weight goes on.
// Plain loops over candidates and their costs.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
void CostGraph::TakeStar(const Step& step) {
  std::vector<CostList> first = *operators_[step.target].lists;
  const std::vector<CostList>& centre = *operators_[step.op].lists;
  const auto cost = [this](CostId id) { return costs_[static_cast<std::size_t>(id)]; };
  std::vector<CostList> others(centre.size());
  for (std::size_t c = 0; c < centre.size(); ++c) {
    CostList sums = {Keep({}, {})};
    for (std::size_t k = 1; k < step.connections.size(); ++k) {
      const Connection& way = connections_[step.connections[k]];
      const std::vector<CostList>& successor = *operators_[way.to].lists;
      std::vector<Raw> raws;
      for (const CostId before : sums) {
        for (std::size_t s = 0; s < successor.size(); ++s) {
          for (const CostId own : successor[s]) {
            for (const CostId on_way : (*way.lists)[c][s]) {
              raws.push_back({cost(before) + cost(on_way) + cost(own),
                              {.candidates = {static_cast<std::int32_t>(s), -1, -1},
                               .costs = {own, on_way, -1, -1, -1},
                               .before = before}});
            }
          }
        }
      }
      sums = Simplify(std::move(raws));
    }
    others[c] = std::move(sums);
  }
  const Connection& to_first = connections_[step.connections[0]];
  for (std::size_t f = 0; f < first.size(); ++f) {
    std::vector<Raw> raws;
    for (std::size_t c = 0; c < centre.size(); ++c) {
      for (const CostId rest : others[c]) {
        for (const CostId own : first[f]) {
          for (const CostId on_way : (*to_first.lists)[c][f]) {
            for (const CostId of_centre : centre[c]) {
              raws.push_back(
                  {cost(of_centre) + cost(on_way) + cost(own) + cost(rest),
                   {.candidates = {static_cast<std::int32_t>(c), static_cast<std::int32_t>(f), -1},
                    .costs = {of_centre, on_way, own, -1, -1},
                    .before = rest}});
            }
          }
        }
      }
    }
    first[f] = Simplify(std::move(raws));
  }
  operators_[step.target].lists = std::make_shared<const std::vector<CostList>>(std::move(first));
}

void CostGraph::Recover(const Step& step) {
  if (step.kind == Kind::kConnections) {
    RecoverConnections(step);
    return;
  }
  if (step.kind == Kind::kOperator) {
    const Decision decision = DecisionOf(connections_[step.target].cost);
    Choose(step.op, decision.candidates[0], decision.costs[1]);
    connections_[step.connections[0]].cost = decision.costs[0];
    connections_[step.connections[1]].cost = decision.costs[2];
    return;
  }
  if (step.kind == Kind::kStar) {
    RecoverStar(step);
    return;
  }
  const Decision decision = DecisionOf(operators_[step.target].cost);
  Choose(step.op, decision.candidates[0], decision.costs[0]);
  Choose(step.target, decision.candidates[1], decision.costs[2]);
  connections_[step.connections[0]].cost = decision.costs[1];
  if (step.kind == Kind::kTriangle) {
    connections_[step.connections[1]].cost = decision.costs[3];
    Choose(connections_[step.connections[1]].to, decision.candidates[2], decision.costs[4]);
  }
}

void CostGraph::RecoverConnections(const Step& step) {
  CostId cost = connections_[step.target].cost;
  for (std::size_t k = step.connections.size() - 1; k > 0; --k) {
    const Decision decision = DecisionOf(cost);
    connections_[step.connections[k]].cost = decision.costs[1];
    cost = decision.costs[0];
  }
  connections_[step.connections[0]].cost = cost;
}

void CostGraph::RecoverStar(const Step& step) {
  const Decision decision = DecisionOf(operators_[step.target].cost);
  Choose(step.op, decision.candidates[0], decision.costs[0]);
  Choose(step.target, decision.candidates[1], decision.costs[2]);
  connections_[step.connections[0]].cost = decision.costs[1];
  CostId rest = decision.before;
  for (std::size_t k = step.connections.size() - 1; k > 0; --k) {
    const Decision of_other = DecisionOf(rest);
    Choose(connections_[step.connections[k]].to, of_other.candidates[0], of_other.costs[0]);
    connections_[step.connections[k]].cost = of_other.costs[1];
    rest = of_other.before;
  }
}

}  // namespace drydock::strategies
