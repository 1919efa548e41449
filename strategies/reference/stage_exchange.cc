#include "strategies/reference/stage_exchange.h"

#include <tuple>

#include "strategies/operators/collective_facts.h"
#include "strategies/operators/known_ops.h"

namespace drydock::strategies {

std::map<CollectiveLaunch, std::int64_t> LaunchNumbers(const LocalProgram& program) {
  // Half of a transfer and its peer; or a group.
  using Kind = std::tuple<PointToPoint, std::int64_t, GroupPattern>;
  std::map<Kind, std::int64_t> next;
  std::map<CollectiveLaunch, std::int64_t> numbers;
  for (const Launch& launch : program.kernels.launches) {
    if (launch.kind != Launch::Kind::kKernel) {
      continue;
    }
    const KernelNode& kernel = program.kernels.at(launch.kernel);
    if (!kernel.communication || kernel.origin == kNoNode ||
        ToIndex(kernel.origin) >= program.local.nodes.size()) {
      continue;
    }
    const Node& node = program.local.at(kernel.origin);
    if (CollectiveOf(node) == nullptr) {
      continue;
    }
    const std::int64_t distance = IntAttr(node.attrs, kRankDistance, 0).value_or(0);
    const Kind kind = PointToPointOf(node) == PointToPoint::kNone
                          ? Kind(PointToPoint::kNone, 0, *node.group)
                          : Kind(PointToPointOf(node), distance, {});
    const auto [place, added] =
        numbers.try_emplace({.node = kernel.origin, .micro = kernel.micro}, next[kind]);
    next[kind] += added ? 1 : 0;
  }
  return numbers;
}

bool StageExchange::Send(std::int64_t from, std::int64_t to, std::int64_t number, NdArray tensor) {
  const auto [message, added] =
      messages_.try_emplace(Message{.from = from, .to = to, .number = number});
  if (added) {
    message->second = std::move(tensor);
  }
  return added;
}

std::optional<NdArray> StageExchange::Receive(std::int64_t from, std::int64_t to,
                                              std::int64_t number) {
  auto taken = messages_.extract({.from = from, .to = to, .number = number});
  return taken ? std::optional(std::move(taken.mapped())) : std::nullopt;
}

void StageExchange::Give(const GroupPattern& group, std::int64_t number, std::int64_t rank,
                         std::vector<NdArray> tensors) {
  const auto [share, added] =
      shares_.try_emplace(Share{.group = group, .number = number, .rank = rank});
  if (added) {
    share->second = std::move(tensors);
  }
}

const std::vector<NdArray>* StageExchange::Given(const GroupPattern& group, std::int64_t number,
                                                 std::int64_t rank) const {
  const auto found = shares_.find({.group = group, .number = number, .rank = rank});
  return found == shares_.end() ? nullptr : &found->second;
}

std::string StageExchange::Left() const {
  if (messages_.empty()) {
    return {};
  }
  const Message& first = messages_.begin()->first;
  return "message " + std::to_string(first.number) + " from rank " + std::to_string(first.from) +
         " to rank " + std::to_string(first.to) + " was never received";
}

void StageExchange::Clear() {
  messages_.clear();
  shares_.clear();
}

}  // namespace drydock::strategies
