#include "strategies/operators/op_outline.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_example.h"
#include "strategies/operators/sharding_parts.h"
#include "strategies/operators/strategy_check.h"

/// The axis mapping of an entry is a function of types, attributes and strategy, so what may be cut
/// is found by asking it: the rule of the example's all-ones strategy names the axes, and cutting
/// one axis at a time says whether the operator accepts it and what communication that brings.
namespace drydock::strategies {
namespace {

std::string AxisName(AxisIndex axis) {
  return std::string(1, static_cast<char>('a' + axis % 26));
}

std::int64_t SmallestFactor(std::int64_t extent) {
  for (std::int64_t factor = 2; factor * factor <= extent; ++factor) {
    if (extent % factor == 0) {
      return factor;
    }
  }
  return std::max<std::int64_t>(extent, 1);
}

/// Sharding of the example with one axis cut once; nullopt if that is not legal.
std::optional<OpSharding> CutOneAxis(const OpExample& example, const ShardRule& rule,
                                     AxisIndex axis) {
  const OpView view = example.View();
  const std::int64_t extent = AxisExtents(rule, view)[static_cast<std::size_t>(axis)];
  if (extent < 2) {
    return std::nullopt;
  }
  std::vector<std::int64_t> cuts(static_cast<std::size_t>(rule.axis_count), 1);
  const std::int64_t cut = SmallestFactor(extent);
  cuts[static_cast<std::size_t>(axis)] = cut;
  const Strategy strategy = StrategyFromCuts(EntriesOf(rule, view), cuts);
  const bool cuts_anything = std::ranges::any_of(strategy, [](const auto& entry) {
    return std::ranges::any_of(entry, [](std::int64_t one) { return one > 1; });
  });
  auto sharding =
      TrySharding(*example.entry, view, strategy, {.stage_devices = cut, .job_devices = cut});
  return sharding && cuts_anything ? std::optional(*std::move(sharding)) : std::nullopt;
}

void AddCommunication(OpOutline& outline, OutlineCommunication one) {
  if (std::ranges::find(outline.communication, one) == outline.communication.end()) {
    outline.communication.push_back(std::move(one));
  }
}

void AddCommunicationOf(OpOutline& outline, const OpExample& example, const OpSharding& sharding,
                        AxisIndex axis) {
  using Kind = ForwardCommunication::Kind;
  for (const OpSharding::Communication& one : sharding.communication) {
    const bool all = one.what.kind == Kind::kAllReduce;
    AddCommunication(outline,
                     {.collective = std::string(all ? ops::kAllReduce : ops::kReduceScatter),
                      .reduce = one.what.mean ? "mean" : one.what.reduce_op,
                      .axis = AxisName(axis)});
  }
  const Result<Graph> local = LocalExample(example, sharding);
  for (std::size_t n = 0; local && n < local->nodes.size(); ++n) {
    const Node& node = local->nodes[n];
    if (node.entry->kind == OpKind::kCollective) {
      AddCommunication(outline, {.collective = node.op,
                                 .reduce = TextAttr(node.attrs, "op", "").value_or(""),
                                 .axis = AxisName(axis)});
    }
  }
}

std::vector<std::vector<std::string>> Names(const std::vector<TensorAxes>& tensors,
                                            const std::vector<bool>& may_be_cut) {
  std::vector<std::vector<std::string>> names;
  for (const TensorAxes& axes : tensors) {
    names.emplace_back();
    for (const DimAxes& dim : axes) {
      std::string name;
      for (const AxisIndex axis : dim) {
        name += may_be_cut[static_cast<std::size_t>(axis)] ? AxisName(axis) : "";
      }
      names.back().push_back(name.empty() ? "_" : name);
    }
  }
  return names;
}

std::string Joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += (joined.empty() ? "" : std::string(separator)) + text;
  }
  return joined;
}

std::string TensorsText(const std::vector<std::vector<std::string>>& tensors) {
  std::vector<std::string> texts;
  texts.reserve(tensors.size());
  for (const std::vector<std::string>& dims : tensors) {
    texts.push_back("(" + Joined(dims, ", ") + ")");
  }
  return Joined(texts, ", ");
}

}  // namespace

GradientSupport GradientSupportOf(const OpEntry& entry) {
  if (entry.gradient == nullptr) {
    return GradientSupport::kMissing;
  }
  if (entry.gradient == &NoBackward) {
    return GradientSupport::kNo;
  }
  return entry.gradient == &GradientNotNeeded ? GradientSupport::kNotNeeded : GradientSupport::kYes;
}

OpOutline OutlineOf(const OpEntry& entry) {
  const auto example = ExampleOf(entry);
  if (!example || entry.shard == nullptr) {
    return {};
  }
  const OpView view = example->View();
  const auto rule = RuleOf(entry, view, ReplicatedStrategy(entry, view), {});
  if (!rule) {
    return {};
  }
  OpOutline outline{.known = true};
  std::vector<bool> may_be_cut;
  for (AxisIndex axis = 0; axis < rule->axis_count; ++axis) {
    const auto sharding = CutOneAxis(*example, *rule, axis);
    may_be_cut.push_back(sharding.has_value());
    if (sharding) {
      AddCommunicationOf(outline, *example, *sharding, axis);
    }
  }
  outline.inputs = Names(rule->inputs, may_be_cut);
  outline.entries = Names(rule->strategy_entries, may_be_cut);
  outline.outputs = Names(rule->outputs, may_be_cut);
  return outline;
}

std::string CutsText(const OpOutline& outline) {
  if (!outline.known) {
    return "-";
  }
  const std::string text = TensorsText(outline.inputs) + (outline.inputs.empty() ? "-> " : " -> ") +
                           TensorsText(outline.outputs);
  return outline.entries.empty() ? text : "strategy " + TensorsText(outline.entries) + ": " + text;
}

std::string CommunicationText(const OpOutline& outline) {
  std::vector<std::pair<std::string, std::string>> axes_of;
  for (const OutlineCommunication& one : outline.communication) {
    const std::string what = one.collective + (one.reduce.empty() ? "" : " " + one.reduce);
    const auto same = std::ranges::find(axes_of, what, [](const auto& pair) { return pair.first; });
    if (same == axes_of.end()) {
      axes_of.emplace_back(what, one.axis);
    } else if (same->second.find(one.axis) == std::string::npos) {
      same->second += ", " + one.axis;
    }
  }
  std::vector<std::string> texts;
  texts.reserve(axes_of.size());
  for (const auto& [what, axes] : axes_of) {
    texts.emplace_back(what).append(" over ").append(axes);
  }
  return texts.empty() ? "-" : Joined(texts, "; ");
}

}  // namespace drydock::strategies
