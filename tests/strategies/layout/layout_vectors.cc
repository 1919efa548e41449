#include "tests/strategies/layout/layout_vectors.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "strategies/layout/group_name.h"
#include "strategies/layout/plain_layout.h"
#include "tests/strategies/layout/named_layout.h"

namespace drydock::strategies::vectors {
namespace {

/// Members of the rank's group, as entries of the (contiguous) device list.
Numbers Members(const GroupPattern& pattern, const json& inputs) {
  const auto devices = inputs.at("dev_list").get<Numbers>();
  const auto place =
      std::find(devices.begin(), devices.end(), inputs.at("rank").get<std::int64_t>());
  EXPECT_NE(place, devices.end());
  Numbers ranks = GroupRanks(pattern, place - devices.begin(), 0);
  for (std::int64_t& rank : ranks) {
    rank = devices.at(static_cast<std::size_t>(rank));
  }
  return ranks;
}

void CheckAxisGroups(const json& inputs, const json& expected) {
  const auto matrix = inputs.at("dev_matrix").get<Numbers>();
  json groups = json::array();
  for (std::size_t axis = 0; axis < matrix.size(); ++axis) {
    groups.push_back(Members(AxesPattern(matrix, {&axis, 1}), inputs));
  }
  EXPECT_EQ(groups, expected.at("groups_per_dim"));
}

void CheckMapGroup(const json& inputs, const json& expected) {
  const json& map = inputs.at("tensor_map");
  const Shape any_shape(map.size(), 1);  // a group does not depend on the shape
  const TensorLayout layout = LayoutFrom(inputs.at("dev_matrix"), map, any_shape);
  EXPECT_EQ(json(Members(ReplicaPattern(layout), inputs)), expected.at("ranks"));
}

void CheckGroupName(const json& inputs, const json& expected) {
  const auto ranks = inputs.at("ranks").get<Numbers>();
  const auto world_size = inputs.at("world_size").get<std::int64_t>();
  EXPECT_EQ(GroupName(ranks, world_size, inputs.at("backend").get<std::string>()),
            expected.at("group").get<std::string>());
  EXPECT_EQ(GroupRanksText(ranks, world_size), expected.at("group_ranks").get<std::string>());
}

void CheckInstanceName(const json& inputs, const json& expected) {
  EXPECT_EQ(InstanceName(inputs.at("prefix").get<std::string>(),
                         inputs.at("node_fullname").get<std::string>(),
                         inputs.at("index").get<std::int64_t>()),
            expected.at("instance_name").get<std::string>());
}

void CheckStandard(const json& inputs, const json& expected) {
  const TensorLayout layout = LayoutFrom(inputs);
  const PlainLayout standard = StandardForm(ExtendedForm(layout));
  EXPECT_EQ(json(standard.device_matrix), expected.at("device_matrix"));
  EXPECT_EQ(json(standard.tensor_map), expected.at("tensor_map"));
  EXPECT_EQ(json(standard.shape), expected.at("tensor_shape"));
  if (expected.contains("slice_shape")) {
    EXPECT_EQ(json(SliceShape(standard)), expected.at("slice_shape"));
  }
  EXPECT_TRUE(SameOwnership(layout, Standardize(layout)));
}

void CheckSliceShape(const json& inputs, const json& expected) {
  const TensorLayout layout = LayoutFrom(inputs);
  ASSERT_TRUE(ValidateLayout(layout).has_value());
  EXPECT_EQ(json(SliceShape(layout)), expected.at("slice_shape"));
}

void CheckInvalid(const json& inputs, const json& expected) {
  EXPECT_EQ(ValidateLayout(LayoutFrom(inputs)).has_value(), expected.at("ok").get<bool>());
}

void CheckRepeatedGroup(const json& inputs, const json& expected) {
  const TensorLayout layout = LayoutFrom(inputs);
  const auto rank = inputs.at("rank").get<std::int64_t>();
  EXPECT_EQ(json(GroupRanks(ReplicaPattern(layout), rank, 0)), expected.at("ranks"));
}

void CheckRankSlices(const json& inputs, const json& expected) {
  const TensorLayout layout = LayoutFrom(inputs);
  for (const auto& [position, begin_end] : expected.at("begin_end_by_rank_index").items()) {
    json begin = json::array();
    json end = json::array();
    for (const Range& range : SliceOf(layout, std::stoll(position))) {
      begin.push_back(range.begin);
      end.push_back(range.end);
    }
    EXPECT_EQ(json::array({begin, end}), begin_end) << "position " << position;
  }
}

std::vector<NamedDimension> DimensionsFrom(const json& call) {
  std::vector<NamedDimension> dimensions;
  for (const json& entry : call) {
    dimensions.push_back(entry.is_array() ? entry.get<NamedDimension>()
                                          : NamedDimension{entry.get<std::string>()});
  }
  return dimensions;
}

void CheckParameterSlice(const json& inputs, const json& expected) {
  const NamedGrid grid{.device_matrix = inputs.at("device_matrix").get<Numbers>(),
                       .alias_name = inputs.at("alias_name").get<std::vector<std::string>>()};
  const TensorLayout layout = LayoutOnGrid(grid, DimensionsFrom(inputs.at("layout_w")),
                                           inputs.at("weight_shape").get<Shape>());
  EXPECT_EQ(Product(layout.device_matrix), inputs.at("world_size").get<std::int64_t>());
  EXPECT_EQ(json(SliceShape(layout)), expected.at("weight_slice_shape"));
}

void CheckStrategyEqual(const json& inputs, const json& expected) {
  const auto strategy = [&inputs](const char* name) {
    const json& object = inputs.at(name);
    return std::pair(object.at("stage").get<std::int64_t>(),
                     object.at("inputs").get<std::vector<Numbers>>());
  };
  EXPECT_EQ(strategy("a") == strategy("b"), expected.at("equal").get<bool>());
}

}  // namespace

Checks LayoutChecks() {
  return {{"device_matrix_groups", CheckAxisGroups},
          {"device_matrix_by_tensor_map", CheckMapGroup},
          {"group_name", CheckGroupName},
          {"instance_name_hash", CheckInstanceName},
          {"layout_standardize", CheckStandard},
          {"layout_extend", CheckStandard},
          {"layout_slice_shape", CheckSliceShape},
          {"layout_invalid", CheckInvalid},
          {"repeated_group", CheckRepeatedGroup},
          {"rank_slices", CheckRankSlices},
          {"layout_parameter_slice", CheckParameterSlice},
          {"strategy_equal", CheckStrategyEqual}};
}

}  // namespace drydock::strategies::vectors
