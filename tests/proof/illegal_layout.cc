#include "tests/proof/illegal_layout.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace drydock::strategies::proof {
namespace {

using Layouts = std::vector<TensorLayout>;

/// Operand and dimension.
using Place = std::pair<std::size_t, std::size_t>;

class LayoutBreaker {
 public:
  LayoutBreaker(const LegalLayouts& legal, std::mt19937_64& random)
      : legal_(legal), random_(random), layouts_(legal.layouts) {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      for (std::size_t d = 0; d < layouts_[i].tensor_map.size(); ++d) {
        places_.emplace_back(i, d);
      }
    }
  }

  std::optional<Layouts> Run(LayoutBreak how) && {
    const bool broken = !layouts_.empty() && BreakBy(how);
    return broken ? std::optional(std::move(layouts_)) : std::nullopt;
  }

 private:
  bool BreakBy(LayoutBreak how) {
    switch (how) {
      case LayoutBreak::kFewerLayouts:
        layouts_.pop_back();
        return true;
      case LayoutBreak::kMoreLayouts:
        layouts_.push_back(layouts_.back());
        return true;
      case LayoutBreak::kLowerRank:
      case LayoutBreak::kHigherRank:
        return OtherRank(how == LayoutBreak::kHigherRank);
      case LayoutBreak::kNoSuchAxis:
        return NoSuchAxis();
      case LayoutBreak::kAxisTwice:
        return AxisTwice();
      case LayoutBreak::kNotDividing:
        return NotDividing();
      case LayoutBreak::kOtherProduct:
        return OtherProduct();
      case LayoutBreak::kOtherMatrix:
        return OtherMatrix();
      case LayoutBreak::kTie:
        return Untied();
      case LayoutBreak::kOrder:
        return OtherOrder();
      case LayoutBreak::kUncut:
        return CutWhole();
      case LayoutBreak::kInterleavedCut:
        return InterleavedCut();
      case LayoutBreak::kInterleavedPlace:
        return InterleavedPlace();
    }
    return false;
  }

  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  template <typename Predicate>
  std::optional<Place> AnyPlace(Predicate wanted) {
    std::vector<Place> places;
    std::ranges::copy_if(places_, std::back_inserter(places), wanted);
    return places.empty() ? std::nullopt : std::optional(places[Below(places.size())]);
  }
  std::optional<Place> AnyPlace() {
    return AnyPlace([](const Place&) { return true; });
  }

  std::vector<std::int64_t>& MapAt(const Place& place) {
    return layouts_[place.first].tensor_map[place.second];
  }
  [[nodiscard]] const std::vector<std::int64_t>& MapAt(const Place& place) const {
    return layouts_[place.first].tensor_map[place.second];
  }
  [[nodiscard]] std::int64_t ExtentAt(const Place& place) const {
    return legal_.view.inputs[place.first].shape[place.second];
  }
  [[nodiscard]] std::int64_t AxisExtent(std::int64_t axis) const {
    const std::vector<std::int64_t>& matrix = layouts_.front().device_matrix;
    return matrix[matrix.size() - 1 - static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int64_t CutAt(const Place& place) const {
    std::int64_t cut = 1;
    for (const std::int64_t axis : MapAt(place)) {
      cut *= AxisExtent(axis);
    }
    return cut;
  }

  /// Device axes of extent above 1 that the operand does not use.
  [[nodiscard]] std::vector<std::int64_t> UnusedAxes(std::size_t operand) const {
    std::vector<std::int64_t> unused;
    for (std::int64_t axis = 0; axis < std::ssize(layouts_.front().device_matrix); ++axis) {
      const bool used = std::ranges::any_of(layouts_[operand].tensor_map, [&](const auto& axes) {
        return std::ranges::find(axes, axis) != axes.end();
      });
      if (!used && AxisExtent(axis) > 1) {
        unused.push_back(axis);
      }
    }
    return unused;
  }

  /// An axis that could cut the dimension further.
  std::optional<std::int64_t> AxisFor(const Place& place) {
    std::vector<std::int64_t> fits = UnusedAxes(place.first);
    std::erase_if(fits, [&](std::int64_t axis) {
      return ExtentAt(place) % (CutAt(place) * AxisExtent(axis)) != 0;
    });
    return fits.empty() ? std::nullopt : std::optional(fits[Below(fits.size())]);
  }

  bool OtherRank(bool higher) {
    TensorLayout& layout = layouts_[Below(layouts_.size())];
    if (higher) {
      layout.tensor_map.emplace_back();
    } else if (layout.tensor_map.empty()) {
      return false;
    } else {
      layout.tensor_map.pop_back();
    }
    return true;
  }

  bool NoSuchAxis() {
    const auto place = AnyPlace();
    if (place) {
      MapAt(*place).push_back(Below(2) == 0 ? -2 : std::ssize(layouts_.front().device_matrix));
    }
    return place.has_value();
  }

  bool AxisTwice() {
    const auto used = AnyPlace([&](const Place& p) { return !MapAt(p).empty(); });
    if (!used) {
      return false;
    }
    const std::int64_t axis = MapAt(*used).front();
    const auto other = AnyPlace([&](const Place& p) { return p.first == used->first; });
    MapAt(*other).push_back(axis);
    return true;
  }

  bool NotDividing() {
    const auto does_not_divide = [&](const Place& place, std::int64_t axis) {
      return ExtentAt(place) % (CutAt(place) * AxisExtent(axis)) != 0;
    };
    const auto place = AnyPlace([&](const Place& p) {
      return std::ranges::any_of(UnusedAxes(p.first),
                                 [&](std::int64_t axis) { return does_not_divide(p, axis); });
    });
    if (!place) {
      return false;
    }
    std::vector<std::int64_t> axes = UnusedAxes(place->first);
    std::erase_if(axes, [&](std::int64_t axis) { return !does_not_divide(*place, axis); });
    MapAt(*place).push_back(axes[Below(axes.size())]);
    return true;
  }

  bool OtherProduct() {
    const std::int64_t factor = Below(2) == 0 ? 2 : 3;
    for (TensorLayout& layout : layouts_) {  // A new outermost axis that cuts nothing.
      layout.device_matrix.insert(layout.device_matrix.begin(), factor);
    }
    return true;
  }

  bool OtherMatrix() {
    if (layouts_.size() < 2) {
      return false;
    }
    std::vector<std::int64_t>& matrix = layouts_[1 + Below(layouts_.size() - 1)].device_matrix;
    matrix.insert(matrix.begin(), 1);
    return true;
  }

  /// The rule axis of a dimension, -1 if it has none.
  [[nodiscard]] AxisIndex RuleAxis(const Place& place) const {
    const DimAxes& axes = legal_.rule->inputs[place.first][place.second];
    return axes.empty() ? -1 : axes.front();
  }

  [[nodiscard]] bool HasTwin(const Place& place) const {
    return RuleAxis(place) >= 0 && std::ranges::any_of(places_, [&](const Place& other) {
             return other != place && RuleAxis(other) == RuleAxis(place);
           });
  }

  bool Untied() {
    const auto place = AnyPlace([&](const Place& p) { return HasTwin(p); });
    if (!place) {
      return false;
    }
    const auto more = AxisFor(*place);
    if (more && (MapAt(*place).empty() || Below(2) == 0)) {
      MapAt(*place).push_back(*more);
      return true;
    }
    const bool cut = !MapAt(*place).empty();
    if (cut) {
      MapAt(*place).pop_back();
    }
    return cut;
  }

  void Clear() {
    for (TensorLayout& layout : layouts_) {
      layout.tensor_map.assign(layout.tensor_map.size(), {});
    }
  }

  /// Gives all dimensions of the place's rule axis the same device axes; false if they do not fit.
  bool GiveAll(const Place& place, const std::vector<std::int64_t>& axes) {
    bool fits = true;
    for (const Place& other : places_) {
      if (other == place || (RuleAxis(place) >= 0 && RuleAxis(other) == RuleAxis(place))) {
        MapAt(other) = axes;
        fits = fits && ExtentAt(other) % CutAt(other) == 0;
      }
    }
    return fits;
  }

  bool OtherOrder() {
    Clear();
    const std::vector<std::int64_t> axes = UnusedAxes(0);
    const auto place = AnyPlace([&](const Place& p) {
      return HasTwin(p) && axes.size() > 1 &&
             ExtentAt(p) % (AxisExtent(axes[0]) * AxisExtent(axes[1])) == 0;
    });
    if (!place || !GiveAll(*place, {axes[0], axes[1]})) {
      return false;
    }
    MapAt(*place) = {axes[1], axes[0]};
    return true;
  }

  /// A dimension without rule axis, or all dimensions of an axis that has to stay whole.
  bool CutWhole() {
    const auto must_be_whole = [&](const Place& p) {
      return RuleAxis(p) < 0 ||
             std::ranges::any_of(legal_.rule->uncut, [&](const ShardRule::Uncut& uncut) {
               return uncut.axis == RuleAxis(p);
             });
    };
    Clear();
    const auto place =
        AnyPlace([&](const Place& p) { return must_be_whole(p) && AxisFor(p).has_value(); });
    return place && GiveAll(*place, {*AxisFor(*place)});
  }

  /// Adds an innermost axis of two copies per rank.
  void AddCopies() {
    for (TensorLayout& layout : layouts_) {
      layout.device_matrix.push_back(2);
      layout.interleave = 2;
      for (auto& axes : layout.tensor_map) {
        std::ranges::for_each(axes, [](std::int64_t& axis) { ++axis; });
      }
    }
  }

  bool InterleavedCut() {
    if (legal_.entry->accepts_interleaved) {
      return false;
    }
    AddCopies();
    const auto place = AnyPlace(
        [&](const Place& p) { return ExtentAt(p) > 0 && ExtentAt(p) % (2 * CutAt(p)) == 0; });
    if (place) {
      MapAt(*place).push_back(0);
    }
    return place.has_value();
  }

  bool InterleavedPlace() {
    AddCopies();
    for (TensorLayout& layout : layouts_) {
      layout.interleave = 3;
    }
    return true;
  }

  const LegalLayouts& legal_;
  std::mt19937_64& random_;
  Layouts layouts_;
  std::vector<Place> places_ = {};
};

}  // namespace

std::string ReasonOf(LayoutBreak how, std::string_view op) {
  const std::string own = std::string(op) + ":layout-";
  switch (how) {
    case LayoutBreak::kFewerLayouts:
    case LayoutBreak::kMoreLayouts:
      return own + "entries";
    case LayoutBreak::kLowerRank:
    case LayoutBreak::kHigherRank:
      return own + "rank";
    case LayoutBreak::kNoSuchAxis:
      return "Layout:no-such-axis";
    case LayoutBreak::kAxisTwice:
      return "Layout:axis-used-twice";
    case LayoutBreak::kNotDividing:
      return "Layout:not-divisible";
    case LayoutBreak::kOtherProduct:
    case LayoutBreak::kOtherMatrix:
      return own + "devices";
    case LayoutBreak::kTie:
    case LayoutBreak::kOrder:
      return own + "axis";
    case LayoutBreak::kUncut:
      return own + "uncut";
    case LayoutBreak::kInterleavedCut:
      return own + "interleaved";
    case LayoutBreak::kInterleavedPlace:
      return "Layout:interleave";
  }
  return "";
}

std::optional<std::vector<TensorLayout>> BreakLayouts(LayoutBreak how, const LegalLayouts& legal,
                                                      std::mt19937_64& random) {
  return LayoutBreaker(legal, random).Run(how);
}

}  // namespace drydock::strategies::proof
