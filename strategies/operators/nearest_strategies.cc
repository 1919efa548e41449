#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/checked.h"
#include "strategies/operators/sharding_parts.h"
#include "strategies/operators/strategy_check.h"

/// Legal strategies close to one that was refused.
///
/// A rule ties strategy entries to axes, so what is chosen is one cut per axis; the distance of a
/// choice is the sum over the axes of the entries it changes. The best choices for every product of
/// cuts are kept while the axes are gone through one by one. What comes out is tried on the
/// operator's own rule, nearest first, because rules may refuse more than the mapping says.
namespace drydock::strategies {
namespace {

constexpr std::size_t kKeptPerProduct = 48;
constexpr std::size_t kMaxStrategiesTried = 400;

/// Cuts of the first axes, and how many entries of the wanted strategy they change.
struct Choice {
  std::size_t changed = 0;
  std::vector<std::int64_t> cuts = {};
};

bool Nearer(const Choice& a, const Choice& b) {
  return std::tie(a.changed, b.cuts) < std::tie(b.changed, a.cuts);  // larger cuts first
}

class NearestCuts {
 public:
  NearestCuts(const ShardRule& rule, const OpView& view, const Strategy& wanted,
              const DeviceContext& devices)
      : entries_(EntriesOf(rule, view)),
        extents_(AxisExtents(rule, view)),
        wanted_(wanted),
        devices_(devices),
        cuttable_(extents_.size(), true) {
    for (const ShardRule::Uncut& uncut : rule.uncut) {
      cuttable_[static_cast<std::size_t>(uncut.axis)] = false;
    }
  }

  /// Strategies by rising distance; of equal ones those that use more devices first.
  [[nodiscard]] std::vector<Strategy> Find() const {
    std::map<std::int64_t, std::vector<Choice>> by_product = {{1, {Choice{}}}};
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      by_product = WithAxis(by_product, axis);
    }
    std::vector<std::pair<std::int64_t, Choice>> all;
    for (const auto& [product, choices] : by_product) {
      for (const Choice& choice : choices) {
        all.emplace_back(product, choice);
      }
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
      return std::pair(a.second.changed, -a.first) < std::pair(b.second.changed, -b.first);
    });
    std::vector<Strategy> strategies;
    for (const auto& [product, choice] : all) {
      strategies.push_back(StrategyFromCuts(entries_, choice.cuts));
    }
    return strategies;
  }

 private:
  using Choices = std::map<std::int64_t, std::vector<Choice>>;

  [[nodiscard]] Choices WithAxis(const Choices& before, std::size_t axis) const {
    Choices after;
    for (const std::int64_t cut : CutsOfAxis(axis)) {
      const std::size_t changed = ChangedBy(axis, cut);
      for (const auto& [product, choices] : before) {
        if (devices_.stage_devices % (product * cut) != 0) {
          continue;
        }
        for (const Choice& choice : choices) {
          Choice next{.changed = choice.changed + changed, .cuts = choice.cuts};
          next.cuts.push_back(cut);
          after[product * cut].push_back(std::move(next));
        }
      }
    }
    for (auto& [product, choices] : after) {
      std::ranges::sort(choices, Nearer);
      choices.resize(std::min(choices.size(), kKeptPerProduct));
    }
    return after;
  }

  [[nodiscard]] std::vector<std::int64_t> CutsOfAxis(std::size_t axis) const {
    const bool powers = std::has_single_bit(static_cast<std::uint64_t>(devices_.job_devices));
    std::vector<std::int64_t> cuts = {1};
    for (std::int64_t cut = 2; cuttable_[axis] && cut <= devices_.stage_devices;
         cut = powers ? cut * 2 : cut + 1) {
      if (devices_.stage_devices % cut == 0 && extents_[axis] % cut == 0) {
        cuts.push_back(cut);
      }
    }
    return cuts;
  }

  /// Entries tied to the axis that the wanted strategy cuts otherwise.
  [[nodiscard]] std::size_t ChangedBy(std::size_t axis, std::int64_t cut) const {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < entries_.axes.size(); ++i) {
      for (std::size_t d = 0; d < entries_.axes[i].size(); ++d) {
        const DimAxes& axes = entries_.axes[i][d];
        const bool tied = !axes.empty() && static_cast<std::size_t>(axes.front()) == axis &&
                          entries_.extents[i][d] != 1;
        const bool same = i < wanted_.size() && d < wanted_[i].size() && wanted_[i][d] == cut;
        changed += tied && !same ? 1U : 0U;
      }
    }
    return changed;
  }

  StrategyEntries entries_;
  std::vector<std::int64_t> extents_;
  const Strategy& wanted_;
  const DeviceContext& devices_;
  std::vector<bool> cuttable_;
};

/// Candidates of one form of the rule; forms may depend on the strategy they are asked with.
void AddCandidates(const OpEntry& entry, const OpView& view, const Strategy& wanted,
                   const DeviceContext& devices, bool form_of_wanted,
                   std::vector<Strategy>& candidates) {
  const Result<ShardRule> rule = RuleOf(entry, view, form_of_wanted ? wanted : Strategy{}, devices);
  if (rule && (form_of_wanted || !rule->inputs.empty() || !rule->strategy_entries.empty())) {
    std::vector<Strategy> found = NearestCuts(*rule, view, wanted, devices).Find();
    candidates.insert(candidates.end(), found.begin(), found.end());
  }
}

}  // namespace

std::size_t ChangedEntries(const Strategy& a, const Strategy& b) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::vector<std::int64_t> none;
    const auto& left = i < a.size() ? a[i] : none;
    const auto& right = i < b.size() ? b[i] : none;
    for (std::size_t d = 0; d < std::max(left.size(), right.size()); ++d) {
      changed += d >= left.size() || d >= right.size() || left[d] != right[d] ? 1U : 0U;
    }
  }
  return changed;
}

std::vector<Strategy> NearestLegalStrategies(const OpEntry& entry, const OpView& view,
                                             const Strategy& wanted, const DeviceContext& devices,
                                             std::size_t count) {
  OpView plain = view;
  plain.out_strategy = nullptr;
  plain.device_count = devices.stage_devices;
  std::vector<Strategy> candidates;
  if (entry.shard == nullptr) {
    return candidates;
  }
  AddCandidates(entry, plain, wanted, devices, true, candidates);
  AddCandidates(entry, plain, wanted, devices, false, candidates);
  candidates.push_back(ReplicatedStrategy(entry, plain));
  std::ranges::stable_sort(candidates, {}, [&wanted](const Strategy& candidate) {
    return ChangedEntries(candidate, wanted);
  });
  std::vector<Strategy> legal;
  for (std::size_t i = 0;
       i < std::min(candidates.size(), kMaxStrategiesTried) && legal.size() < count; ++i) {
    const bool is_new = std::ranges::find(legal, candidates[i]) == legal.end();
    if (is_new && TrySharding(entry, plain, candidates[i], devices)) {
      legal.push_back(candidates[i]);
    }
  }
  return legal;
}

}  // namespace drydock::strategies
