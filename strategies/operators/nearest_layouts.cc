#include <algorithm>

#include "base/text.h"
#include "strategies/operators/sharding_parts.h"

/// Legal layouts close to ones that were refused: every way to change one dimension is tried, then
/// every way to change two, and so on. A dimension is left whole or cut like some other dimension
/// of the call, which is what a tie asks for.
namespace drydock::strategies {
namespace {

constexpr std::size_t kMaxLayoutsTried = 2000;
constexpr std::size_t kMaxChanged = 4;

using Layouts = std::vector<TensorLayout>;

class LayoutSearch {
 public:
  LayoutSearch(const OpEntry& entry, const OpView& view, Layouts start,
               const DeviceContext& devices, std::size_t count)
      : entry_(entry), view_(view), layouts_(std::move(start)), devices_(devices), count_(count) {
    maps_.emplace_back();
    for (const TensorLayout& layout : layouts_) {
      for (const auto& axes : layout.tensor_map) {
        if (std::ranges::find(maps_, axes) == maps_.end()) {
          maps_.push_back(axes);
        }
      }
    }
  }

  [[nodiscard]] std::vector<Layouts> Find() && {
    for (std::size_t changed = 0; changed <= kMaxChanged && !Done(); ++changed) {
      Change(0, 0, changed);
    }
    if (legal_.empty()) {
      for (TensorLayout& layout : layouts_) {
        layout.tensor_map.assign(layout.tensor_map.size(), {});
      }
      Change(0, 0, 0);
    }
    return std::move(legal_);
  }

 private:
  [[nodiscard]] bool Done() const { return legal_.size() >= count_ || tried_ >= kMaxLayoutsTried; }

  /// Changes `left` more dimensions, from dimension `d` of tensor `t` on.
  void Change(std::size_t t, std::size_t d, std::size_t left) {
    if (left == 0) {
      ++tried_;
      if (TryLayouts(entry_, view_, layouts_, {}, devices_)) {
        legal_.push_back(layouts_);
      }
      return;
    }
    for (; t < layouts_.size(); ++t, d = 0) {
      for (; d < layouts_[t].tensor_map.size(); ++d) {
        const std::vector<std::int64_t> before = layouts_[t].tensor_map[d];
        for (const auto& map : maps_) {
          if (map != before && !Done()) {
            layouts_[t].tensor_map[d] = map;
            Change(t, d + 1, left - 1);
          }
        }
        layouts_[t].tensor_map[d] = before;
      }
    }
  }

  const OpEntry& entry_;
  const OpView& view_;
  Layouts layouts_;
  const DeviceContext& devices_;
  std::size_t count_ = 0;
  std::vector<std::vector<std::int64_t>> maps_ = {};
  std::vector<Layouts> legal_ = {};
  std::size_t tried_ = 0;
};

/// As many layouts as there are operands, on the first device matrix, with one entry per dimension.
Layouts Completed(const OpView& view, const Layouts& wanted) {
  Layouts start;
  for (std::size_t i = 0; i < view.inputs.size() && !wanted.empty(); ++i) {
    start.push_back(i < wanted.size() ? wanted[i] : TensorLayout{});
    start.back().device_matrix = wanted.front().device_matrix;
    start.back().interleave = wanted.front().interleave;
    start.back().tensor_map.resize(view.inputs[i].shape.size());
    start.back().trailing_none.clear();
    start.back().shape.clear();
  }
  return start;
}

}  // namespace

std::vector<Layouts> NearestLegalLayouts(const OpEntry& entry, const OpView& view,
                                         const Layouts& wanted, const DeviceContext& devices,
                                         std::size_t count) {
  if (!entry.accepts_layout || entry.layouts_as_given) {
    return {};
  }
  return LayoutSearch(entry, view, Completed(view, wanted), devices, count).Find();
}

std::string LayoutsText(const Layouts& layouts) {
  std::string text = "(";
  for (const TensorLayout& layout : layouts) {
    std::string map;
    for (const auto& axes : layout.tensor_map) {
      map += map.empty() ? "" : ", ";
      map += axes.empty()       ? "-1"
             : axes.size() == 1 ? std::to_string(axes.front())
                                : TupleText(axes);
    }
    text += text.size() > 1 ? ", (" : "(";
    text += map + (layout.tensor_map.size() == 1 ? ",)" : ")");
  }
  const std::string matrix = layouts.empty() ? "()" : TupleText(layouts.front().device_matrix);
  return "tensor maps " + text + ") on device matrix " + matrix;
}

}  // namespace drydock::strategies
