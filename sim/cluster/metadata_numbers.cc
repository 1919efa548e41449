#include "sim/cluster/metadata_numbers.h"

#include <utility>

namespace drydock::sim {
namespace {

// Names of the answers of a release with and without the request to add.
constexpr std::string_view kFoundUntilAdd = "10";
constexpr std::string_view kNoneUntilAdd = "11";
constexpr std::string_view kFoundSinceAdd = "11";
constexpr std::string_view kNoneSinceAdd = "12";

}  // namespace

std::string_view MetadataAnswerName(bool found, MetadataNumbers numbers) {
  if (numbers == MetadataNumbers::kUntilAdd) {
    return found ? kFoundUntilAdd : kNoneUntilAdd;
  }
  return found ? kFoundSinceAdd : kNoneSinceAdd;
}

MetadataNumberLearner::MetadataNumberLearner(MetadataAnswerRule rule)
    : numbers_(rule == MetadataAnswerRule::kSinceAdd || rule == MetadataAnswerRule::kLearnSinceAdd
                   ? MetadataNumbers::kSinceAdd
                   : MetadataNumbers::kUntilAdd),
      settled_(rule == MetadataAnswerRule::kUntilAdd || rule == MetadataAnswerRule::kSinceAdd) {}

void MetadataNumberLearner::Settle(MetadataNumbers numbers) {
  numbers_ = numbers;
  settled_ = true;
  asked_.clear();
}

void MetadataNumberLearner::OnRequest(PeerId peer, std::string_view key) {
  if (settled_) {
    return;
  }
  const auto it = asked_.find(static_cast<std::uint64_t>(peer));
  if (it == asked_.end()) {
    return;
  }
  const Asked asked = std::move(it->second);
  asked_.erase(it);
  if (key != asked.key) {
    return Settle(asked.numbers);
  }
  numbers_ = asked.numbers == MetadataNumbers::kUntilAdd ? MetadataNumbers::kSinceAdd
                                                         : MetadataNumbers::kUntilAdd;
}

void MetadataNumberLearner::OnHit(PeerId peer, std::string_view key) {
  if (!settled_) {
    asked_[static_cast<std::uint64_t>(peer)] = {.key = std::string(key), .numbers = numbers_};
  }
}

void MetadataNumberLearner::OnAddRequest() {
  if (!settled_) {
    Settle(MetadataNumbers::kSinceAdd);
  }
}

std::string_view MetadataNumberLearner::AnswerName(bool found) const {
  return MetadataAnswerName(found, found || settled_ ? numbers_ : MetadataNumbers::kSinceAdd);
}

}  // namespace drydock::sim
