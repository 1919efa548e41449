#include "strategies/operators/strategy_check.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"

namespace drydock::strategies {
namespace {

std::string Quoted(const OpView& view) {
  return "'" + std::string(view.op) + "'";
}

tl::unexpected<Error> FailStrategy(const OpView& view, std::string_view code, std::string message) {
  return FailInput(std::string(view.op) + ":strategy-" + std::string(code), std::move(message));
}

/// A dimension of a strategy entry, for messages.
struct DimPlace {
  std::size_t entry = 0;
  std::size_t dim = 0;
  std::int64_t extent = 0;

  /// "dimension 1 of input 0 (extent 64)"; entries that do not describe inputs are called entries.
  [[nodiscard]] std::string Text(const ShardRule& rule) const {
    const std::string_view what =
        rule.strategy_entries.empty() ? " of input " : " of strategy entry ";
    return "dimension " + std::to_string(dim) + std::string(what) + std::to_string(entry) +
           " (extent " + std::to_string(extent) + ")";
  }
};

Status CheckShape(const OpView& view, const Strategy& strategy, const StrategyEntries& entries) {
  if (strategy.size() != entries.axes.size()) {
    return tl::unexpected(WithCause(
        FailStrategy(view, "entries",
                     "strategy " + StrategyText(strategy) + " of " + Quoted(view) + " has " +
                         std::to_string(strategy.size()) + " entries, but the operator takes " +
                         std::to_string(entries.axes.size()))
            .value(),
        StrategyCause::kEntries));
  }
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    if (strategy[i].size() != entries.axes[i].size()) {
      return FailStrategy(view, "rank",
                          "entry " + std::to_string(i) + " of strategy " + StrategyText(strategy) +
                              " of " + Quoted(view) + " has " + std::to_string(strategy[i].size()) +
                              " cuts, but the tensor of shape " + TupleText(entries.extents[i]) +
                              " has " + std::to_string(entries.axes[i].size()) + " dimensions");
    }
  }
  return {};
}

/// One cut against its extent and the number of devices (mindspore ops_info/operator_info.cc).
Status CheckCut(const ShardRule& rule, const OpView& view, const DimPlace& where, std::int64_t cut,
                const DeviceContext& devices) {
  const auto begin = [&] {
    return "strategy of " + Quoted(view) + " cuts " + where.Text(rule) + " into " +
           std::to_string(cut) + ", but ";
  };
  if (where.extent % cut != 0) {
    return FailStrategy(view, "divisible",
                        begin() + "the extent is not divisible by " + std::to_string(cut));
  }
  const bool power_of_two_job =
      std::has_single_bit(static_cast<std::uint64_t>(devices.job_devices));
  if (power_of_two_job && !std::has_single_bit(static_cast<std::uint64_t>(cut))) {
    return FailStrategy(view, "power",
                        begin() + std::to_string(devices.job_devices) +
                            " devices are not divisible by " + std::to_string(cut));
  }
  return {};
}

struct AxisUse {
  std::int64_t cut = 0;  ///< 0 = not yet seen.
  DimPlace where = {};
};

Status TieAxis(const ShardRule& rule, const OpView& view, AxisUse& use, std::int64_t cut,
               const DimPlace& where) {
  if (use.cut == 0) {
    use = {.cut = cut, .where = where};
    return {};
  }
  if (use.cut != cut) {
    return FailStrategy(view, "axis",
                        "strategy of " + Quoted(view) + " cuts " + use.where.Text(rule) + " into " +
                            std::to_string(use.cut) + " but " + where.Text(rule) + " into " +
                            std::to_string(cut) + "; the two must be cut alike");
  }
  return {};
}

Status CheckUncut(const OpView& view, const ShardRule& rule, const std::vector<AxisUse>& uses) {
  for (const ShardRule::Uncut& uncut : rule.uncut) {
    const AxisUse& use = uses[static_cast<std::size_t>(uncut.axis)];
    if (use.cut > 1) {
      return FailStrategy(view, "uncut",
                          "strategy of " + Quoted(view) + " cuts " + use.where.Text(rule) +
                              " into " + std::to_string(use.cut) + ", but " + uncut.what +
                              " cannot be cut");
    }
  }
  return {};
}

}  // namespace

std::string CutText(const OpView& view, std::size_t input, std::size_t dim, std::int64_t cut) {
  const bool known = input < view.inputs.size() && dim < view.inputs[input].shape.size();
  return "strategy of " + Quoted(view) + " cuts dimension " + std::to_string(dim) + " of input " +
         std::to_string(input) +
         (known ? " (extent " + std::to_string(view.inputs[input].shape[dim]) + ")" : "") +
         " into " + std::to_string(cut);
}

Status CheckCutRange(const OpView& view, const Strategy& strategy, const ShardRule* rule) {
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    std::int64_t slices = 1;
    for (std::size_t d = 0; d < strategy[i].size(); ++d) {
      const std::int64_t cut = strategy[i][d];
      if (cut < 1) {
        const StrategyEntries entries =
            rule != nullptr ? EntriesOf(*rule, view) : StrategyEntries{};
        const bool other = rule != nullptr && !rule->strategy_entries.empty() &&
                           i < entries.extents.size() && d < entries.extents[i].size();
        const std::string where = other ? "strategy of " + Quoted(view) + " cuts " +
                                              DimPlace{i, d, entries.extents[i][d]}.Text(*rule) +
                                              " into " + std::to_string(cut)
                                        : CutText(view, i, d, cut);
        return FailStrategy(view, "cut", where + ", but a cut must be at least 1");
      }
      if (cut > kMaxSlices / slices) {
        return FailStrategy(view, "product",
                            "strategy " + StrategyText(strategy) + " of " + Quoted(view) +
                                " cuts into too many slices in entry " + std::to_string(i));
      }
      slices *= cut;
    }
  }
  return {};
}

StrategyEntries EntriesOf(const ShardRule& rule, const OpView& view) {
  StrategyEntries entries;
  if (rule.strategy_entries.empty()) {
    entries.axes = rule.inputs;
    for (const TensorType& type : view.inputs) {
      entries.extents.push_back(type.shape);
    }
    return entries;
  }
  const std::vector<std::int64_t> extents = AxisExtents(rule, view);
  entries.axes = rule.strategy_entries;
  for (const TensorAxes& axes : entries.axes) {
    Shape shape;
    for (const DimAxes& dim : axes) {
      shape.push_back(dim.empty() ? 1 : extents[static_cast<std::size_t>(dim.front())]);
    }
    entries.extents.push_back(std::move(shape));
  }
  return entries;
}

std::vector<std::int64_t> AxisExtents(const ShardRule& rule, const OpView& view) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rule.axis_count), 0);
  const auto collect = [&extents](const std::vector<TensorAxes>& tensors,
                                  std::span<const TensorType> types) {
    for (std::size_t t = 0; t < tensors.size() && t < types.size(); ++t) {
      for (std::size_t d = 0; d < tensors[t].size(); ++d) {
        if (tensors[t][d].size() == 1 && d < types[t].shape.size()) {
          std::int64_t& extent = extents[static_cast<std::size_t>(tensors[t][d].front())];
          extent = std::gcd(extent, types[t].shape[d]);
        }
      }
    }
  };
  collect(rule.inputs, view.inputs);
  // Axes that only results carry (classes of a one-hot) take their extent from there.
  std::vector<std::int64_t> from_inputs = extents;
  collect(rule.outputs, view.outputs);
  for (std::size_t a = 0; a < extents.size(); ++a) {
    extents[a] = from_inputs[a] != 0 ? from_inputs[a] : std::max<std::int64_t>(1, extents[a]);
  }
  return extents;
}

Result<std::vector<std::int64_t>> AxisCuts(const ShardRule& rule, const OpView& view,
                                           const Strategy& strategy, const DeviceContext& devices) {
  const StrategyEntries entries = EntriesOf(rule, view);
  DRYDOCK_RETURN_IF_ERROR(CheckShape(view, strategy, entries));
  std::vector<AxisUse> uses(static_cast<std::size_t>(rule.axis_count));
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    for (std::size_t d = 0; d < strategy[i].size(); ++d) {
      const DimPlace where{.entry = i, .dim = d, .extent = entries.extents[i][d]};
      DRYDOCK_RETURN_IF_ERROR(CheckCut(rule, view, where, strategy[i][d], devices));
      const DimAxes& axes = entries.axes[i][d];
      if (!axes.empty()) {
        DRYDOCK_RETURN_IF_ERROR(TieAxis(rule, view, uses[static_cast<std::size_t>(axes.front())],
                                        strategy[i][d], where));
      } else if (strategy[i][d] != 1) {
        return FailStrategy(view, "uncut",
                            "strategy of " + Quoted(view) + " cuts " + where.Text(rule) + " into " +
                                std::to_string(strategy[i][d]) +
                                ", but this dimension cannot be cut");
      }
    }
  }
  DRYDOCK_RETURN_IF_ERROR(CheckUncut(view, rule, uses));
  std::vector<std::int64_t> cuts;
  cuts.reserve(uses.size());
  for (const AxisUse& use : uses) {
    cuts.push_back(std::max<std::int64_t>(1, use.cut));
  }
  const Result<std::int64_t> product = ProductChecked(cuts);
  if (!product || devices.stage_devices % *product != 0) {
    return FailStrategy(view, "product",
                        "strategy " + StrategyText(strategy) + " of " + Quoted(view) +
                            " cuts into " + (product ? std::to_string(*product) : "too many") +
                            " slices, but that does not divide the " +
                            std::to_string(devices.stage_devices) + " devices");
  }
  return cuts;
}

Strategy StrategyFromCuts(const StrategyEntries& entries, const std::vector<std::int64_t>& cuts) {
  Strategy strategy;
  for (std::size_t i = 0; i < entries.axes.size(); ++i) {
    std::vector<std::int64_t> entry;
    for (std::size_t d = 0; d < entries.axes[i].size(); ++d) {
      const DimAxes& axes = entries.axes[i][d];
      const bool cut = !axes.empty() && entries.extents[i][d] != 1;
      entry.push_back(cut ? cuts[static_cast<std::size_t>(axes.front())] : 1);
    }
    strategy.push_back(std::move(entry));
  }
  return strategy;
}

}  // namespace drydock::strategies
