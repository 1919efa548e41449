#include "strategies/passes/decision_cache.h"

#include <algorithm>
#include <utility>

namespace drydock::strategies {
namespace {

/// Far more than one operator has different uses in a layer; few enough to be compared one by one.
constexpr std::size_t kAnswersPerOp = 64;

}  // namespace

DecisionQuestion QuestionAbout(const Graph& graph, const Node& node) {
  OpViewStorage storage;
  static_cast<void>(ViewOf(graph, node, storage));
  return {.entry = node.entry,
          .inputs = std::move(storage.inputs),
          .outputs = std::move(storage.outputs),
          .absent = AbsentBits(node.inputs),
          .attrs = node.attrs,
          .out_strategy = node.out_strategy};
}

const SharedValue<OpSharding>* DecisionCache::Find(const DecisionQuestion& question) const {
  const auto ring = rings_.find(question.entry);
  if (ring == rings_.end()) {
    return nullptr;
  }
  const auto answer = std::ranges::find(ring->second.answers, question, &Answer::question);
  return answer == ring->second.answers.end() ? nullptr : &answer->sharding;
}

void DecisionCache::Add(DecisionQuestion question, SharedValue<OpSharding> answer) {
  Ring& ring = rings_[question.entry];
  Answer entry = {.question = std::move(question), .sharding = std::move(answer)};
  if (ring.answers.size() < kAnswersPerOp) {
    ring.answers.push_back(std::move(entry));
    return;
  }
  ring.answers[ring.oldest] = std::move(entry);
  ring.oldest = (ring.oldest + 1) % kAnswersPerOp;
}

}  // namespace drydock::strategies
