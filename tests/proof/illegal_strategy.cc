#include "tests/proof/illegal_strategy.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/checked.h"
#include "strategies/operators/strategy_check.h"

namespace drydock::strategies::proof {
namespace {

/// Entry and dimension of a strategy.
using Place = std::pair<std::size_t, std::size_t>;

class Breaker {
 public:
  Breaker(const ShardRule& rule, const OpView& view, const Strategy& legal,
          const DeviceContext& devices, std::mt19937_64& random)
      : rule_(rule),
        entries_(EntriesOf(rule, view)),
        extents_(AxisExtents(rule, view)),
        legal_(legal),
        devices_(devices),
        random_(random) {}

  std::optional<Strategy> Run(Break how) {
    switch (how) {
      case Break::kFewerEntries:
      case Break::kMoreEntries:
        return OtherCount(how == Break::kMoreEntries);
      case Break::kLowerRank:
      case Break::kHigherRank:
        return OtherRank(how == Break::kHigherRank);
      case Break::kZero:
        return WithCut(AnyPlace(), 0);
      case Break::kNegative:
        return WithCut(AnyPlace(), -2);
      case Break::kNotDividing:
        return NotDividing();
      case Break::kNotPower:
        return NotPower();
      case Break::kTie:
        return Untied();
      case Break::kUncut:
        return CutWhole();
      case Break::kTooMany:
      case Break::kUnevenDevices:
        return WrongProduct(how == Break::kTooMany);
    }
    return std::nullopt;
  }

 private:
  template <typename T>
  std::optional<T> Any(const std::vector<T>& values) {
    return values.empty() ? std::nullopt : std::optional(values[random_() % values.size()]);
  }

  [[nodiscard]] bool PowerOfTwoJob() const {
    return std::has_single_bit(static_cast<std::uint64_t>(devices_.job_devices));
  }

  [[nodiscard]] std::int64_t ExtentAt(const Place& place) const {
    return entries_.extents[place.first][place.second];
  }

  /// Cuts above 1 that pass the checks of a single dimension.
  [[nodiscard]] std::vector<std::int64_t> CutsFor(std::int64_t extent) const {
    std::vector<std::int64_t> cuts;
    for (std::int64_t cut = 2; cut <= extent; ++cut) {
      const bool power = std::has_single_bit(static_cast<std::uint64_t>(cut));
      if (extent % cut == 0 && (power || !PowerOfTwoJob())) {
        cuts.push_back(cut);
      }
    }
    return cuts;
  }

  template <typename Predicate>
  [[nodiscard]] std::vector<Place> PlacesWhere(Predicate wanted) const {
    std::vector<Place> places;
    for (std::size_t i = 0; i < legal_.size(); ++i) {
      for (std::size_t d = 0; d < legal_[i].size(); ++d) {
        if (wanted(Place(i, d))) {
          places.emplace_back(i, d);
        }
      }
    }
    return places;
  }

  std::optional<Place> AnyPlace() {
    return Any(PlacesWhere([](const Place&) { return true; }));
  }

  std::optional<Strategy> WithCut(const std::optional<Place>& place, std::int64_t cut) const {
    if (!place) {
      return std::nullopt;
    }
    Strategy strategy = legal_;
    strategy[place->first][place->second] = cut;
    return strategy;
  }

  std::optional<Strategy> OtherCount(bool more) const {
    Strategy strategy = legal_;
    if (more) {
      strategy.push_back(strategy.empty() ? std::vector<std::int64_t>{1} : strategy.back());
    } else if (strategy.empty()) {
      return std::nullopt;
    } else {
      strategy.pop_back();
    }
    return strategy;
  }

  std::optional<Strategy> OtherRank(bool higher) {
    Strategy strategy = legal_;
    if (strategy.empty()) {
      return std::nullopt;
    }
    std::vector<std::int64_t>& entry = strategy[random_() % strategy.size()];
    if (higher) {
      entry.push_back(1);
    } else if (entry.empty()) {
      return std::nullopt;
    } else {
      entry.pop_back();
    }
    return strategy;
  }

  std::optional<Strategy> NotDividing() {
    const auto place = AnyPlace();
    if (!place) {
      return std::nullopt;
    }
    const std::int64_t extent = ExtentAt(*place);
    return WithCut(place, extent % 2 != 0 && random_() % 2 == 0 ? 2 : extent + 1);
  }

  std::optional<Strategy> NotPower() {
    if (!PowerOfTwoJob()) {
      return std::nullopt;
    }
    return WithCut(
        Any(PlacesWhere([&](const Place& p) { return ExtentAt(p) > 0 && ExtentAt(p) % 3 == 0; })),
        3);
  }

  [[nodiscard]] std::vector<Place> PlacesOf(AxisIndex axis) const {
    return PlacesWhere([&](const Place& p) {
      const DimAxes& axes = entries_.axes[p.first][p.second];
      return !axes.empty() && axes.front() == axis;
    });
  }

  std::optional<Strategy> Untied() {
    std::vector<std::pair<Place, std::int64_t>> changes;
    for (AxisIndex axis = 0; axis < rule_.axis_count; ++axis) {
      std::vector<Place> places = PlacesOf(axis);
      std::erase_if(places, [&](const Place& p) { return ExtentAt(p) == 1; });  // May broadcast.
      for (const Place& place : places) {
        std::vector<std::int64_t> cuts = CutsFor(ExtentAt(place));
        cuts.push_back(1);
        for (const std::int64_t cut : cuts) {
          if (places.size() > 1 && cut != legal_[place.first][place.second]) {
            changes.emplace_back(place, cut);
          }
        }
      }
    }
    const auto change = Any(changes);
    return change ? WithCut(change->first, change->second) : std::nullopt;
  }

  /// A dimension without axis, or all dimensions of an axis that the rule wants whole.
  std::optional<Strategy> CutWhole() {
    std::vector<std::pair<std::vector<Place>, std::int64_t>> changes;
    const auto consider = [&](std::vector<Place> places) {
      for (std::int64_t cut = 2; cut <= 4 && !places.empty(); ++cut) {
        const bool fits = std::ranges::all_of(places, [&](const Place& p) {
          const std::vector<std::int64_t> cuts = CutsFor(ExtentAt(p));
          return std::ranges::find(cuts, cut) != cuts.end();
        });
        if (fits) {
          changes.emplace_back(places, cut);
        }
      }
    };
    for (const Place& place :
         PlacesWhere([&](const Place& p) { return entries_.axes[p.first][p.second].empty(); })) {
      consider({place});
    }
    for (const ShardRule::Uncut& uncut : rule_.uncut) {
      consider(PlacesOf(uncut.axis));
    }
    const auto change = Any(changes);
    if (!change) {
      return std::nullopt;
    }
    Strategy strategy = legal_;
    for (const Place& place : change->first) {
      strategy[place.first][place.second] = change->second;
    }
    return strategy;
  }

  std::optional<Strategy> WrongProduct(bool too_many) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::vector<std::int64_t> cuts;
      for (AxisIndex axis = 0; axis < rule_.axis_count; ++axis) {
        const bool whole = std::ranges::any_of(
            rule_.uncut, [&](const ShardRule::Uncut& uncut) { return uncut.axis == axis; });
        std::vector<std::int64_t> choices = whole || PlacesOf(axis).empty()
                                                ? std::vector<std::int64_t>{}
                                                : CutsFor(extents_[static_cast<std::size_t>(axis)]);
        choices.push_back(1);
        cuts.push_back(*Any(choices));
      }
      const std::int64_t product = Product(cuts);
      const bool broken =
          too_many ? product > devices_.stage_devices
                   : product < devices_.stage_devices && devices_.stage_devices % product != 0;
      if (broken) {
        return StrategyFromCuts(entries_, cuts);
      }
    }
    return std::nullopt;
  }

  const ShardRule& rule_;
  StrategyEntries entries_;
  std::vector<std::int64_t> extents_;
  const Strategy& legal_;
  const DeviceContext& devices_;
  std::mt19937_64& random_;
};

}  // namespace

std::string_view CodeOf(Break how) {
  switch (how) {
    case Break::kFewerEntries:
    case Break::kMoreEntries:
      return "entries";
    case Break::kLowerRank:
    case Break::kHigherRank:
      return "rank";
    case Break::kZero:
    case Break::kNegative:
      return "cut";
    case Break::kNotDividing:
      return "divisible";
    case Break::kNotPower:
      return "power";
    case Break::kTie:
      return "axis";
    case Break::kUncut:
      return "uncut";
    case Break::kTooMany:
    case Break::kUnevenDevices:
      return "product";
  }
  return "";
}

std::optional<Strategy> BreakStrategy(Break how, const ShardRule& rule, const OpView& view,
                                      const Strategy& legal, const DeviceContext& devices,
                                      std::mt19937_64& random) {
  return Breaker(rule, view, legal, devices, random).Run(how);
}

}  // namespace drydock::strategies::proof
