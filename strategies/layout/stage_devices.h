#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace drydock::strategies {

/// The pipeline stage a rank belongs to and its place in it.
///
/// Stages own consecutive entries of the job's device list.
/// Source: mindspore ccsrc/frontend/parallel/device_manager.cc.
struct StagePlace {
  std::int64_t stage_count = 0;
  std::int64_t stage = 0;
  std::int64_t stage_begin = 0;  ///< Index of the stage's first entry in the device list.
  std::int64_t stage_end = 0;    ///< One past its last.
  std::int64_t position = 0;     ///< Of the rank in its stage: 0 .. stage size - 1.
  friend bool operator==(const StagePlace&, const StagePlace&) = default;
};

/// Sizes of `stage_count` equal stages of a job of `device_count` ranks.
/// @error kInvalidArgument  a number is below 1 or the job cannot be divided equally
[[nodiscard]] Result<std::vector<std::int64_t>> EqualStages(std::int64_t device_count,
                                                            std::int64_t stage_count);

/// Place of the rank that stands at `index` of the device list.
/// @error kInvalidArgument  a stage is empty, or `index` lies outside the stages
[[nodiscard]] Result<StagePlace> PlaceInStages(std::span<const std::int64_t> stage_sizes,
                                               std::int64_t index);

/// The device list cut into its stages, in list order.
/// @error kInvalidArgument  the sizes do not add up to the length of the list
[[nodiscard]] Result<std::vector<std::vector<std::int64_t>>> DevicesOfStages(
    std::span<const std::int64_t> devices, std::span<const std::int64_t> stage_sizes);

/// Ranks with the same position in every stage: the rank's chain of pipeline peers.
///
/// @param place  of the rank among equally large stages
[[nodiscard]] std::vector<std::int64_t> SamePositionInAllStages(const StagePlace& place);

/// Position of `rank` in a stage's device list. @error kInvalidArgument  it is not listed
[[nodiscard]] Result<std::int64_t> PositionOf(std::int64_t rank,
                                              std::span<const std::int64_t> devices);

/// Checks that a device matrix covers a stage.
/// @error kInvalidArgument  its product is not `device_count`, or an entry is below 1
[[nodiscard]] Status CheckDeviceMatrix(std::span<const std::int64_t> device_matrix,
                                       std::int64_t device_count);

/// Job sizes the reference's start-up accepts: 1, 2, 4 and multiples of 8 up to 2^32 - 1.
///
/// The layout code works for every size; callers that want to accept others skip this check.
/// @error kInvalidArgument  any other size
[[nodiscard]] Status CheckJobSize(std::int64_t device_count);

}  // namespace drydock::strategies
