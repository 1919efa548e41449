#include "strategies/passes/choose/reshape_choice.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <span>
#include <utility>

#include "strategies/layout/plain_layout.h"
#include "strategies/operators/known_ops.h"

namespace drydock::strategies {
namespace {

constexpr std::size_t kKnownAnswers = 64;

bool IsReshape(const Graph& graph, NodeId id) {
  return graph.at(id).entry->kind == OpKind::kReshape;
}

bool IsParameter(const Graph& graph, ValueId value) {
  return graph.at(value).kind == ValueKind::kParameter;
}

/// Index of the cheapest possible cost, with the reference's sort: it is not stable, so that which
/// of many equal pairs comes first depends on it.
std::optional<std::size_t> Cheapest(const std::vector<EdgeCost>& costs) {
  using Ranked = std::pair<std::size_t, double>;
  std::vector<Ranked> without;
  std::vector<Ranked> with;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].possible) {
      with.emplace_back(i, costs[i].communication);
      if (costs[i].communication == 0) {
        without.emplace_back(i, costs[i].computation);
      }
    }
  }
  std::vector<Ranked>& ranked = without.empty() ? with : without;
  std::sort(ranked.begin(), ranked.end(),
            [](const Ranked& a, const Ranked& b) { return a.second < b.second; });
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().first);
}

}  // namespace

bool SameForm(const TensorLayout& a, const TensorLayout& b) {
  return StandardForm(ExtendedForm(a)) == StandardForm(ExtendedForm(b));
}

ReshapeChoice::ReshapeChoice(const Graph& graph, const PropagationGraph& links,
                             const JobConfig& config, const Assignment& given)
    : graph_(graph),
      links_(links),
      config_(config),
      costs_(config.enable_alltoall, config.compat > kOldSearch) {
  for (const NodePlan& plan : given.plans) {
    given_.push_back(plan.sharding);
  }
}

Status ReshapeChoice::NoteCosts() {
  std::deque<Question> noted;
  for (const bool own : {true, false}) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId id{static_cast<std::int32_t>(n)};
      Question question = IsReshape(graph_, id) ? QuestionOf(id, {}, own) : Question{};
      if (!IsReshape(graph_, id) || std::ranges::find(noted, question) != noted.end()) {
        continue;
      }
      DRYDOCK_TRY(const std::vector<ReshapeLayouts> pairs,
                  own ? OwnPairs(graph_.at(id)) : PairsOf(id));
      for (const ReshapeLayouts& pair : pairs) {
        costs_.Note(pair.input, pair.output, DTypeOf(id));
      }
      noted.push_back(std::move(question));
      if (noted.size() > kKnownAnswers) {
        noted.pop_front();
      }
    }
  }
  return {};
}

DType ReshapeChoice::DTypeOf(NodeId reshape) const {
  return graph_.at(graph_.at(reshape).inputs.front()).type.dtype;
}

std::vector<EdgeCost> ReshapeChoice::CostsOf(NodeId reshape,
                                             const std::vector<ReshapeLayouts>& pairs) {
  std::vector<EdgeCost> costs;
  costs.reserve(pairs.size());
  for (const ReshapeLayouts& pair : pairs) {
    costs.push_back(costs_.Between(pair.input, pair.output, DTypeOf(reshape)));
  }
  return costs;
}

Result<std::optional<ReshapeLayouts>> ReshapeChoice::Choose(NodeId reshape,
                                                            const TensorLayout& fixed,
                                                            bool from_producer) {
  Question question = QuestionOf(reshape, fixed, from_producer);
  for (const Known& known : known_) {
    if (known.question == question) {
      return known.answer;
    }
  }
  DRYDOCK_TRY(const std::optional<ReshapeLayouts> answer, Search(reshape, fixed, from_producer));
  Known known{.question = std::move(question), .answer = answer};
  if (known_.size() < kKnownAnswers) {
    known_.push_back(std::move(known));
  } else {
    known_[oldest_] = std::move(known);
    oldest_ = (oldest_ + 1) % kKnownAnswers;
  }
  return answer;
}

ReshapeChoice::Question ReshapeChoice::QuestionOf(NodeId reshape, const TensorLayout& fixed,
                                                  bool from_producer) const {
  Question question{.from_producer = from_producer,
                    .fixed = fixed,
                    .neighbours = {QuestionAbout(graph_, graph_.at(reshape))}};
  const auto add = [&](const PropagationEdge& edge, NodeId neighbour, bool incoming) {
    DecisionQuestion about = QuestionAbout(graph_, graph_.at(neighbour));
    Connection end{.incoming = incoming,
                   .position = incoming ? edge.output : edge.tensor,
                   .dtype = edge.dtype};
    if (const auto& sharding = given_[ToIndex(neighbour)]) {
      end.identity = true;  // its only candidate
      end.other = incoming ? sharding->outputs[static_cast<std::size_t>(edge.output)]
                           : sharding->inputs[static_cast<std::size_t>(edge.tensor)];
    }
    about.connections.push_back(std::move(end));
    question.neighbours.push_back(std::move(about));
  };
  for (const std::size_t e : links_.predecessors[ToIndex(reshape)]) {
    add(links_.edges[e], links_.edges[e].producer, true);
  }
  for (const std::size_t e : links_.successors[ToIndex(reshape)]) {
    add(links_.edges[e], links_.edges[e].consumer, false);
  }
  return question;
}

/// Layouts at the neighbour's end of a connection, one per candidate of the neighbour.
Result<std::vector<TensorLayout>> ReshapeChoice::LayoutsAt(const PropagationEdge& edge,
                                                           bool incoming) const {
  const NodeId neighbour = incoming ? edge.producer : edge.consumer;
  std::vector<Candidate> candidates;
  if (const auto& sharding = given_[ToIndex(neighbour)]) {
    candidates.push_back(DecidedCandidate(*sharding));
  } else {
    DRYDOCK_TRY(candidates, CandidatesOf(graph_, graph_.at(neighbour), config_));
  }
  std::vector<TensorLayout> layouts;
  layouts.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    layouts.push_back(incoming ? candidate.sharding.outputs[static_cast<std::size_t>(edge.output)]
                               : candidate.sharding.inputs[static_cast<std::size_t>(edge.tensor)]);
  }
  return layouts;
}

Result<std::vector<TensorLayout>> ReshapeChoice::Entries(NodeId reshape, bool incoming) const {
  const auto& edges = incoming ? links_.predecessors : links_.successors;
  std::vector<TensorLayout> layouts;
  for (const std::size_t e : edges[ToIndex(reshape)]) {
    const PropagationEdge& edge = links_.edges[e];
    if (edge.from_weight || IsReshape(graph_, incoming ? edge.producer : edge.consumer)) {
      continue;  // two in a row stop the propagation
    }
    DRYDOCK_TRY(const std::vector<TensorLayout> some, LayoutsAt(edge, incoming));
    layouts.insert(layouts.end(), some.begin(), some.end());
  }
  return layouts;
}

/// Any cut of the operand, and a whole result: what a Reshape can do without neighbours.
Result<std::vector<ReshapeLayouts>> ReshapeChoice::OwnPairs(const Node& reshape) const {
  const TensorType& operand = graph_.at(reshape.inputs.front()).type;
  const TensorType& result = graph_.at(reshape.outputs.front()).type;
  const OpEntry& any_cut = *FindOp(ops::kOnesLike);
  const AttrMap none;
  const OpView view{.op = any_cut.name,
                    .inputs = std::span(&operand, 1),
                    .outputs = std::span(&operand, 1),
                    .attrs = &none};
  DRYDOCK_TRY(const std::vector<Strategy> strategies,
              EnumerateStrategies(any_cut, view, DevicesOf(config_),
                                  {.fully_use_devices = FullyUseDevices(config_)}));
  std::vector<ReshapeLayouts> pairs;
  for (const Strategy& strategy : strategies) {
    Result<OpSharding> sharding = TrySharding(any_cut, view, strategy, DevicesOf(config_));
    if (sharding) {
      pairs.push_back({.input = std::move(sharding->inputs.front()),
                       .output = ReplicatedLayout(StageDevices(config_), result.shape)});
    }
  }
  return pairs;
}

/// All pairs in the reference's order: its own, then those of its neighbours' candidates. A
/// parameter in front of it may be cut in any way.
Result<std::vector<ReshapeLayouts>> ReshapeChoice::PairsOf(NodeId reshape) const {
  DRYDOCK_TRY(std::vector<ReshapeLayouts> pairs, OwnPairs(graph_.at(reshape)));
  DRYDOCK_TRY(std::vector<TensorLayout> inputs, Entries(reshape, true));
  if (IsParameter(graph_, graph_.at(reshape).inputs.front())) {
    std::ranges::transform(pairs, std::back_inserter(inputs), &ReshapeLayouts::input);
  }
  DRYDOCK_TRY(const std::vector<TensorLayout> outputs, Entries(reshape, false));
  for (const TensorLayout& input : inputs) {
    for (const TensorLayout& output : outputs) {
      pairs.push_back({.input = input, .output = output});
    }
  }
  return pairs;
}

Result<std::optional<ReshapeLayouts>> ReshapeChoice::Search(NodeId reshape,
                                                            const TensorLayout& fixed,
                                                            bool from_producer) {
  DRYDOCK_TRY(std::vector<ReshapeLayouts> pairs, PairsOf(reshape));
  std::erase_if(pairs, [&](const ReshapeLayouts& pair) {
    return !SameForm(from_producer ? pair.input : pair.output, fixed);
  });
  const auto best = Cheapest(CostsOf(reshape, pairs));
  return best ? std::optional(pairs[*best]) : std::nullopt;
}

}  // namespace drydock::strategies
