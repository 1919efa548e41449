#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies::vectors {

using nlohmann::json;
using Numbers = std::vector<std::int64_t>;

/// Checks one case: given its inputs and what it expects, reports mismatches to GoogleTest.
using Check = std::function<void(const json& inputs, const json& expected)>;
/// The checks by kind of case (docs/sharding.md).
using Checks = std::map<std::string, Check>;

/// Cases about single layouts, groups, names and stages.
[[nodiscard]] Checks LayoutChecks();
/// Cases about pairs of layouts.
[[nodiscard]] Checks RedistributionChecks();
/// Cases about checkpoints and parameters.
[[nodiscard]] Checks ParameterChecks();

/// Layout of an object with device_matrix, tensor_map (numbers or lists) and tensor_shape.
[[nodiscard]] TensorLayout LayoutFrom(const json& object);

/// The same from its parts.
[[nodiscard]] TensorLayout LayoutFrom(const json& device_matrix, const json& tensor_map,
                                      const json& shape);

}  // namespace drydock::strategies::vectors
