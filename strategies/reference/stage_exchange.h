#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/nd_array.h"
#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// One launch of a collective: a node of a local program, in one micro batch (-1: in none).
struct CollectiveLaunch {
  NodeId node = kNoNode;
  std::int64_t micro = -1;
  friend auto operator<=>(const CollectiveLaunch&, const CollectiveLaunch&) = default;
};

/// Where each launch of a collective stands among those of its kind: messages to one peer, messages
/// from one peer, collectives of one group. Ranks meet by these numbers, as they do on devices,
/// where a message has no name.
[[nodiscard]] std::map<CollectiveLaunch, std::int64_t> LaunchNumbers(const LocalProgram& program);

/// What passes between the ranks of different stages while a job runs.
class StageExchange {
 public:
  /// Message number `number` from one rank to another. False if it was sent before.
  [[nodiscard]] bool Send(std::int64_t from, std::int64_t to, std::int64_t number, NdArray tensor);
  /// The message, which is taken away; nullopt: not sent yet.
  [[nodiscard]] std::optional<NdArray> Receive(std::int64_t from, std::int64_t to,
                                               std::int64_t number);
  /// What a rank gives to collective number `number` of a group that spans stages.
  void Give(const GroupPattern& group, std::int64_t number, std::int64_t rank,
            std::vector<NdArray> tensors);
  /// What a rank gave; null: nothing yet.
  [[nodiscard]] const std::vector<NdArray>* Given(const GroupPattern& group, std::int64_t number,
                                                  std::int64_t rank) const;
  /// Says which message nobody took; empty if all were.
  [[nodiscard]] std::string Left() const;
  void Clear();

 private:
  struct Message {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t number = 0;
    friend auto operator<=>(const Message&, const Message&) = default;
  };
  struct Share {
    GroupPattern group = {};
    std::int64_t number = 0;
    std::int64_t rank = 0;
    friend auto operator<=>(const Share&, const Share&) = default;
  };
  std::map<Message, NdArray> messages_ = {};
  std::map<Share, std::vector<NdArray>> shares_ = {};
};

}  // namespace drydock::strategies
