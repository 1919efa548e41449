#include "strategies/operators/pynative.h"

#include <string>
#include <string_view>
#include <variant>

/// In PyNative mode operators run one by one as the script calls them: only functions with a
/// shard() are cut, and no pass sums the gradients of what every rank computes whole. The tracer
/// marks the operators; what the mark says is read here alone.
namespace drydock::strategies {
namespace {

/// The attribute; "whole" outside of functions with a shard(), "sharded" inside.
constexpr std::string_view kPyNative = "pynative";

const std::string* ModeOf(const Node& node) {
  const auto it = node.attrs.find(kPyNative);
  return it == node.attrs.end() ? nullptr : std::get_if<std::string>(&it->second.value);
}

}  // namespace

bool RunsInPyNative(const Node& node) {
  return ModeOf(node) != nullptr;
}

bool RunsWhole(const Node& node) {
  const std::string* mode = ModeOf(node);
  return mode != nullptr && *mode == "whole";
}

}  // namespace drydock::strategies
