#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sim/cluster/node_table.h"
#include "sim/cluster/protocol_version.h"

namespace drydock::sim {

/// Name of an answer in a frame.
[[nodiscard]] std::string_view MetadataAnswerName(bool found, MetadataNumbers numbers);

/// Finds out which numbers the workers of a job understand.
///
/// A worker that asks for the same key again right after it was given the value took the answer for
/// "none": the numbers are changed. One that goes on with something else understood: the numbers
/// are settled. A request of number 10 settles them too. Until then "none" is told as 12, which no
/// release takes for a value. The rule says which numbers come first. Example: read a -> 10, read a
/// -> 11, read b: settled, kSinceAdd.
class MetadataNumberLearner {
 public:
  explicit MetadataNumberLearner(MetadataAnswerRule rule);

  /// A request arrived on a connection; `key` is empty unless it reads metadata.
  void OnRequest(PeerId peer, std::string_view key);
  /// The value of `key` is about to be answered. Call only for values a worker needs: a worker that
  /// misses one of those asks again.
  void OnHit(PeerId peer, std::string_view key);
  /// A request only new releases send.
  void OnAddRequest();
  void OnPeerClosed(PeerId peer) { asked_.erase(static_cast<std::uint64_t>(peer)); }

  /// Name of the answer.
  [[nodiscard]] std::string_view AnswerName(bool found) const;
  /// Nothing more will be learned.
  [[nodiscard]] bool settled() const { return settled_; }
  [[nodiscard]] MetadataNumbers numbers() const { return numbers_; }

 private:
  void Settle(MetadataNumbers numbers);

  struct Asked {
    std::string key = {};
    MetadataNumbers numbers = MetadataNumbers::kUntilAdd;  ///< Of the answer it was given.
  };
  MetadataNumbers numbers_ = MetadataNumbers::kUntilAdd;
  bool settled_ = false;
  std::unordered_map<std::uint64_t, Asked> asked_;  ///< Last value given, by connection.
};

}  // namespace drydock::sim
