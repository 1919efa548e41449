#include "strategies/passes/choose/decision_cache.h"

#include <utility>

namespace drydock::strategies {

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
  const auto answers = answers_.find(question.entry);
  if (answers == answers_.end()) {
    return nullptr;
  }
  const Answer* answer =
      answers->second.FindIf([&](const Answer& one) { return one.question == question; });
  return answer == nullptr ? nullptr : &answer->sharding;
}

void DecisionCache::Add(DecisionQuestion question, SharedValue<OpSharding> answer) {
  Recent<Answer>& answers = answers_[question.entry];
  answers.Add({.question = std::move(question), .sharding = std::move(answer)});
}

}  // namespace drydock::strategies
