#include "strategies/passes/choose/cost_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

/// Takes a graph of choices apart until only single operators are left, then goes back.
///
/// Six steps, the first that applies: an operator between two others becomes a connection; parallel
/// connections become one; an operator with one successor goes into it; one with one producer goes
/// into that; the tip of a triangle, and the centre of a star, go into a successor. Every step
/// works out, per candidate of what is left, the costs that are possible, and keeps those that are
/// best for some weight of communication. Steps are undone in the opposite order; a triangle or a
/// star then decides all its members, even those that were decided already.
///
/// That last rule makes the search an approximation where networks have residual connections; it is
/// MindSpore's, and so is the order of everything: ties depend on it.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/dp_algo_costmodel.cc, graph_costmodel.cc
namespace drydock::strategies {

std::size_t CostGraph::AddOperator(const std::vector<std::vector<StepCost>>& candidates,
                                   bool in_front) {
  Numbers numbers;
  for (const std::vector<StepCost>& costs : candidates) {
    auto& row = numbers.emplace_back();
    for (const StepCost& cost : costs) {
      row.push_back({cost.computation, cost.communication, cost.forward});
    }
  }
  Column& column = columns_[numbers];
  if (!column) {
    std::vector<CostList> lists;
    for (const std::vector<StepCost>& costs : candidates) {
      CostList& list = lists.emplace_back();
      for (const StepCost& cost : costs) {
        list.push_back(Keep(cost, {}));
      }
    }
    column = std::make_shared<const std::vector<CostList>>(std::move(lists));
  }
  operators_.push_back({.lists = column, .in_front = in_front});
  return operators_.size() - 1;
}

CostGraph::Table CostGraph::KeepTable(
    const std::vector<std::vector<std::optional<StepCost>>>& costs) {
  std::vector<std::vector<CostList>> table;
  for (const auto& row : costs) {
    std::vector<CostList>& lists = table.emplace_back(row.size());
    for (std::size_t v = 0; v < row.size(); ++v) {
      if (row[v]) {
        lists[v].push_back(Keep(*row[v], {}));
      }
    }
  }
  return std::make_shared<const std::vector<std::vector<CostList>>>(std::move(table));
}

void CostGraph::AddConnection(std::size_t from, std::size_t to, Table costs) {
  connections_.push_back({.from = from, .to = to, .lists = std::move(costs)});
  operators_[from].out.push_back(connections_.size() - 1);
  operators_[to].in.push_back(connections_.size() - 1);
}

CostId CostGraph::Keep(const StepCost& cost, const Decision& decision) {
  costs_.push_back(cost);
  decisions_.push_back(decision);
  return static_cast<CostId>(costs_.size() - 1);
}

/// Those that are best for some weight. The order of equals is that of the reference's sort, which
/// is not stable.
CostList CostGraph::Simplify(std::vector<Raw> raws) {
  if (best_only_) {
    const auto best =
        std::ranges::min_element(raws, {}, [this](const Raw& raw) { return Weighed(raw.cost); });
    return best == raws.end() ? CostList{} : CostList{Keep(best->cost, best->decision)};
  }
  std::vector<std::size_t> order(raws.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return raws[a].cost.computation < raws[b].cost.computation;
  });
  CostList kept;
  for (const std::size_t i : order) {
    if (kept.empty() ||
        raws[i].cost.Partial() < costs_[static_cast<std::size_t>(kept.back())].Partial()) {
      kept.push_back(Keep(raws[i].cost, raws[i].decision));
    }
  }
  return kept;
}

std::vector<std::size_t> CostGraph::AliveOut(std::size_t op) const {
  std::vector<std::size_t> alive;
  for (const bool in_front : {true, false}) {
    for (const std::size_t c : operators_[op].out) {
      const Operator& to = operators_[connections_[c].to];
      if (to.alive && to.in_front == in_front) {
        alive.push_back(c);
      }
    }
  }
  return alive;
}

std::vector<std::size_t> CostGraph::AliveIn(std::size_t op) const {
  std::vector<std::size_t> alive;
  std::ranges::copy_if(operators_[op].in, std::back_inserter(alive),
                       [this](std::size_t c) { return operators_[connections_[c].from].alive; });
  return alive;
}

std::optional<CostGraph::Step> CostGraph::FindOperator() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (operators_[op].alive && operators_[op].in_count == 1 && operators_[op].out_count == 1) {
      return Step{
          .kind = Kind::kOperator, .op = op, .connections = {AliveIn(op)[0], AliveOut(op)[0]}};
    }
  }
  return std::nullopt;
}

std::optional<CostGraph::Step> CostGraph::FindConnections() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (!operators_[op].alive || operators_[op].out_count < 2) {
      continue;
    }
    const std::vector<std::size_t> out = AliveOut(op);
    for (const std::size_t c : out) {
      std::vector<std::size_t> parallel;
      std::ranges::copy_if(out, std::back_inserter(parallel), [&](std::size_t other) {
        return connections_[other].to == connections_[c].to;
      });
      if (parallel.size() > 1) {
        return Step{.kind = Kind::kConnections, .op = op, .connections = parallel};
      }
    }
  }
  return std::nullopt;
}

std::optional<CostGraph::Step> CostGraph::FindMerge() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (operators_[op].alive && operators_[op].in_count == 0 && operators_[op].out_count == 1) {
      const std::vector<std::size_t> out = AliveOut(op);
      if (out.size() == 1) {
        return Step{
            .kind = Kind::kMerge, .op = op, .target = connections_[out[0]].to, .connections = out};
      }
    }
  }
  return std::nullopt;
}

std::optional<CostGraph::Step> CostGraph::FindContract() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (operators_[op].alive && operators_[op].out_count == 0 && operators_[op].in_count == 1) {
      const std::vector<std::size_t> in = AliveIn(op);
      if (in.size() == 1) {
        return Step{.kind = Kind::kContract,
                    .op = op,
                    .target = connections_[in[0]].from,
                    .connections = in};
      }
    }
  }
  return std::nullopt;
}

std::optional<CostGraph::Step> CostGraph::FindTriangle() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (!operators_[op].alive || operators_[op].in_count > 0 || operators_[op].out_count != 2) {
      continue;
    }
    const std::vector<std::size_t> out = AliveOut(op);
    if (out.size() != 2) {
      continue;
    }
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      const std::size_t left = connections_[out[first]].to;
      const std::size_t right = connections_[out[1 - first]].to;
      for (const std::size_t c : AliveOut(left)) {
        if (connections_[c].to == right) {
          return Step{.kind = Kind::kTriangle,
                      .op = op,
                      .target = left,
                      .connections = {out[first], out[1 - first]}};
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<CostGraph::Step> CostGraph::FindStar() const {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (operators_[op].alive && operators_[op].in_count == 0 && operators_[op].out_count > 1) {
      const std::vector<std::size_t> out = AliveOut(op);
      if (out.size() > 1) {
        return Step{
            .kind = Kind::kStar, .op = op, .target = connections_[out[0]].to, .connections = out};
      }
    }
  }
  return std::nullopt;
}

/// One step. False if none is possible any more.
bool CostGraph::TakeApart() {
  std::optional<Step> step = FindOperator();
  for (const auto find :
       {&CostGraph::FindConnections, &CostGraph::FindMerge, &CostGraph::FindContract,
        &CostGraph::FindTriangle, &CostGraph::FindStar}) {
    step = step ? step : (this->*find)();
  }
  if (step) {
    Apply(*step);
    steps_.push_back(*std::move(step));
    return true;
  }
  return false;
}

void CostGraph::Apply(Step& step) {
  switch (step.kind) {
    case Kind::kOperator:
      TakeOperator(step);
      break;
    case Kind::kConnections:
      TakeConnections(step);
      CountConnections(connections_[step.target].from);
      CountConnections(connections_[step.target].to);
      return;  // All operators stay.
    case Kind::kMerge:
      Fold(step, false);
      break;
    case Kind::kContract:
      Fold(step, true);
      break;
    case Kind::kTriangle:
      if (best_only_) {
        step.kind = Kind::kStar;  // The same of two successors, with one sum per candidate.
        TakeStar(step);
      } else {
        TakeTriangle(step);
      }
      break;
    case Kind::kStar:
      TakeStar(step);
      break;
  }
  operators_[step.op].alive = false;
  CountAround(step.op);
}

void CostGraph::Replace(std::vector<std::size_t>& list, std::size_t old_one,
                        std::size_t new_one) const {
  std::ranges::replace(list, old_one, new_one);
}

void CostGraph::Choose(std::size_t op, std::int32_t candidate, CostId cost) {
  operators_[op].chosen = static_cast<std::size_t>(candidate);
  operators_[op].cost = cost;
}

/// What is left are operators without connections: each takes its least cost.
bool CostGraph::ChooseLast() {
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    if (!operators_[op].alive) {
      continue;
    }
    std::vector<Raw> raws;
    for (std::size_t i = 0; i < operators_[op].lists->size(); ++i) {
      for (const CostId cost : (*operators_[op].lists)[i]) {
        raws.push_back({costs_[static_cast<std::size_t>(cost)],
                        {.candidates = {static_cast<std::int32_t>(i), -1, -1},
                         .costs = {cost, -1, -1, -1, -1}}});
      }
    }
    const auto weighed = [&](CostId id) { return Weighed(costs_[static_cast<std::size_t>(id)]); };
    const CostList list = Simplify(std::move(raws));
    const auto best = std::ranges::min_element(list, {}, weighed);
    if (best == list.end()) {
      return false;
    }
    Choose(op, DecisionOf(*best).candidates[0], DecisionOf(*best).costs[0]);
  }
  return true;
}

/// With many candidates per operator lists of costs would be long; the least cost of each is
/// enough, since only one weight of communication is asked for. Ties may then end in another way.
void CostGraph::KeepBestOnly() {
  constexpr std::size_t kMany = 64;
  best_only_ =
      std::ranges::any_of(operators_, [](const Operator& op) { return op.lists->size() > kMany; });
  if (!best_only_) {
    return;
  }
  std::map<const void*, Column> best;
  for (Operator& op : operators_) {
    Column& column = best[op.lists.get()];
    if (!column) {
      kept_columns_.push_back(op.lists);
      std::vector<CostList> lists = *op.lists;
      for (CostList& list : lists) {
        const auto least = std::ranges::min_element(
            list, {}, [this](CostId id) { return Weighed(costs_[static_cast<std::size_t>(id)]); });
        list = least == list.end() ? CostList{} : CostList{*least};
      }
      column = std::make_shared<const std::vector<CostList>>(std::move(lists));
    }
    op.lists = column;
  }
}

void CostGraph::CountConnections(std::size_t op) {
  operators_[op].in_count = AliveIn(op).size();
  operators_[op].out_count = AliveOut(op).size();
}

/// After an operator, or one of its connections, is gone.
void CostGraph::CountAround(std::size_t op) {
  CountConnections(op);
  for (const std::size_t c : operators_[op].in) {
    CountConnections(connections_[c].from);
  }
  for (const std::size_t c : operators_[op].out) {
    CountConnections(connections_[c].to);
  }
}

std::optional<std::vector<std::size_t>> CostGraph::Solve(double communication_weight) {
  communication_weight_ = communication_weight;
  KeepBestOnly();
  for (std::size_t op = 0; op < operators_.size(); ++op) {
    CountConnections(op);
  }
  while (TakeApart()) {
  }
  if (!ChooseLast()) {
    return std::nullopt;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    Recover(*step);
  }
  std::vector<std::size_t> chosen;
  for (const Operator& op : operators_) {
    chosen.push_back(op.chosen);
  }
  return chosen;
}

}  // namespace drydock::strategies
