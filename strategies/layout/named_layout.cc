#include "strategies/layout/named_layout.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/layout/interleave.h"

namespace drydock::strategies {
namespace {

constexpr std::string_view kNone = "None";
constexpr std::string_view kInterleaved = "interleaved_parallel";
constexpr std::int64_t kMaxRankList = std::int64_t{1} << 24U;

Status CheckAliases(const std::vector<std::string>& aliases) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const std::string& alias = aliases[i];
    if (alias.empty() || alias == kNone) {
      return FailInput("Layout:alias", "an axis of Layout cannot be called '" + alias + "'",
                       "give every device axis a name of its own");
    }
    if (std::find(aliases.begin(), aliases.begin() + static_cast<std::ptrdiff_t>(i), alias) !=
        aliases.begin() + static_cast<std::ptrdiff_t>(i)) {
      return FailInput("Layout:alias-twice", "two axes of Layout are called '" + alias + "'",
                       "give every device axis a name of its own");
    }
    if (alias == kInterleaved && i + 1 != aliases.size()) {
      return FailInput("Layout:interleaved", "'interleaved_parallel' is not the last axis",
                       "move 'interleaved_parallel' to the end of alias_name");
    }
  }
  return {};
}

Result<std::int64_t> AxisCalled(const NamedLayout& layout, const std::string& alias) {
  const auto& aliases = layout.alias_name;
  const auto found = std::find(aliases.begin(), aliases.end(), alias);
  if (found == aliases.end()) {
    const std::vector<std::string_view> known(aliases.begin(), aliases.end());
    const std::string near = NearestWord(alias, known);
    return FailInput("Layout:unknown-alias", "Layout has no axis '" + alias + "'",
                     near.empty() ? "" : "did you mean '" + near + "'?");
  }
  return aliases.end() - found - 1;
}

}  // namespace

Result<NamedLayout> MakeNamedLayout(std::vector<std::int64_t> device_matrix,
                                    std::vector<std::string> alias_name,
                                    std::vector<std::int64_t> rank_list) {
  if (device_matrix.empty() || device_matrix.size() != alias_name.size()) {
    return FailInput("Layout:alias-count",
                     "Layout has " + std::to_string(device_matrix.size()) + " device axes but " +
                         std::to_string(alias_name.size()) + " names",
                     "device_matrix and alias_name must have the same length");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckAliases(alias_name));
  DRYDOCK_TRY(const std::int64_t devices, ProductChecked(device_matrix));
  if (std::any_of(device_matrix.begin(), device_matrix.end(),
                  [](std::int64_t extent) { return extent < 1; }) ||
      devices > kMaxRankList) {
    return FailInput("Layout:not-positive", "device_matrix " + TupleText(device_matrix) +
                                                " has an entry below 1 or too many devices");
  }
  if (rank_list.empty()) {
    rank_list.resize(static_cast<std::size_t>(devices));
    std::iota(rank_list.begin(), rank_list.end(), std::int64_t{0});
  }
  if (std::ssize(rank_list) != devices) {
    return FailInput("Layout:rank-list", "rank_list has " + std::to_string(rank_list.size()) +
                                             " entries, device_matrix " + TupleText(device_matrix) +
                                             " has " + std::to_string(devices) + " devices");
  }
  NamedLayout layout{.device_matrix = std::move(device_matrix),
                     .alias_name = std::move(alias_name),
                     .rank_list = std::move(rank_list)};
  layout.interleaved = layout.alias_name.back() == kInterleaved;
  return layout;
}

Result<std::vector<std::vector<std::int64_t>>> TensorMapOf(
    const NamedLayout& layout, const std::vector<NamedDimension>& dimensions) {
  std::vector<std::vector<std::int64_t>> map;
  std::vector<bool> used(layout.alias_name.size());
  for (const NamedDimension& dimension : dimensions) {
    if (dimension.empty()) {
      return FailInput("Layout:empty-dimension", "an empty tuple stands for a dimension",
                       "write \"None\" for a dimension that is not cut");
    }
    auto& axes = map.emplace_back();
    for (const std::string& alias : dimension) {
      if (alias == kNone) {
        axes.push_back(-1);
        continue;
      }
      DRYDOCK_TRY(const std::int64_t axis, AxisCalled(layout, alias));
      if (used[static_cast<std::size_t>(axis)]) {
        return FailInput("Layout:axis-used-twice", "axis '" + alias + "' is used more than once",
                         "use every axis at most once per tensor");
      }
      used[static_cast<std::size_t>(axis)] = true;
      axes.push_back(axis);
    }
  }
  return map;
}

Status SetTensorMap(TensorLayout& layout, std::vector<std::vector<std::int64_t>> map) {
  for (std::vector<std::int64_t>& axes : map) {
    if (!axes.empty() && axes.back() == -1) {
      axes.pop_back();
      if (!axes.empty()) {
        layout.trailing_none.push_back(layout.tensor_map.size());
      }
    }
    if (std::find(axes.begin(), axes.end(), -1) != axes.end()) {
      return FailInput("Layout:none-not-last", "\"None\" stands in front of another axis",
                       "put \"None\" at the end of the tuple or leave it out");
    }
    layout.tensor_map.push_back(std::move(axes));
  }
  return {};
}

Result<TensorLayout> ToTensorLayout(const NamedLayout& layout,
                                    const std::vector<NamedDimension>& dimensions, Shape shape) {
  DRYDOCK_TRY(auto map, TensorMapOf(layout, dimensions));
  TensorLayout result{.device_matrix = layout.device_matrix, .shape = std::move(shape)};
  if (layout.interleaved) {
    result.interleave = layout.device_matrix.back();
  }
  DRYDOCK_RETURN_IF_ERROR(SetTensorMap(result, std::move(map)));
  DRYDOCK_RETURN_IF_ERROR(ValidateLayout(result));
  // Copies inside a device that hold equal slices are no devices and no copies.
  return CopiesDiffer(result) ? result : WithoutCopies(result);
}

}  // namespace drydock::strategies
