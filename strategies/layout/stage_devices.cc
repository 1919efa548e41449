#include "strategies/layout/stage_devices.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/checked.h"
#include "base/text.h"

namespace drydock::strategies {
namespace {

constexpr std::int64_t kMaxDevices = 4294967295;
constexpr std::int64_t kDevicesPerServer = 8;

Status CheckStages(std::span<const std::int64_t> stage_sizes) {
  for (const std::int64_t devices : stage_sizes) {
    if (devices < 1 || devices > kMaxDevices) {
      return FailInput("Stage:size", "stage sizes " + TupleText(stage_sizes) +
                                         " have an entry that is not a number of devices");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> EqualStages(std::int64_t device_count, std::int64_t stage_count) {
  if (stage_count < 1 || device_count < 1 || device_count % stage_count != 0) {
    return FailInput("Stage:not-divisible",
                     std::to_string(device_count) + " devices cannot be divided equally among " +
                         std::to_string(stage_count) + " pipeline stages",
                     "use a number of stages that divides the number of devices");
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(stage_count),
                                   device_count / stage_count);
}

Result<StagePlace> PlaceInStages(std::span<const std::int64_t> stage_sizes, std::int64_t index) {
  DRYDOCK_RETURN_IF_ERROR(CheckStages(stage_sizes));
  StagePlace place{.stage_count = std::ssize(stage_sizes)};
  if (index < 0) {
    return FailInput("Stage:rank", "rank index " + std::to_string(index) + " is negative");
  }
  for (const std::int64_t devices : stage_sizes) {
    place.stage_end = place.stage_begin + devices;
    if (index < place.stage_end) {
      place.position = index - place.stage_begin;
      return place;
    }
    place.stage_begin = place.stage_end;
    ++place.stage;
  }
  return FailInput("Stage:rank", "rank index " + std::to_string(index) + " is not below the " +
                                     std::to_string(place.stage_end) + " devices of all stages");
}

Result<std::vector<std::vector<std::int64_t>>> DevicesOfStages(
    std::span<const std::int64_t> devices, std::span<const std::int64_t> stage_sizes) {
  DRYDOCK_RETURN_IF_ERROR(CheckStages(stage_sizes));
  std::vector<std::vector<std::int64_t>> stages;
  std::span<const std::int64_t> rest = devices;
  for (const std::int64_t size : stage_sizes) {
    if (size > std::ssize(rest)) {
      break;
    }
    const auto stage = rest.first(static_cast<std::size_t>(size));
    stages.emplace_back(stage.begin(), stage.end());
    rest = rest.subspan(stage.size());
  }
  if (stages.size() != stage_sizes.size() || !rest.empty()) {
    return FailInput("Stage:size", "stage sizes " + TupleText(stage_sizes) + " do not add up to " +
                                       std::to_string(devices.size()) + " devices");
  }
  return stages;
}

std::vector<std::int64_t> SamePositionInAllStages(const StagePlace& place) {
  std::vector<std::int64_t> ranks;
  const std::int64_t per_stage = place.stage_end - place.stage_begin;
  for (std::int64_t stage = 0; stage < place.stage_count; ++stage) {
    ranks.push_back(stage * per_stage + place.position);
  }
  return ranks;
}

Result<std::int64_t> PositionOf(std::int64_t rank, std::span<const std::int64_t> devices) {
  const auto found = std::find(devices.begin(), devices.end(), rank);
  if (found == devices.end()) {
    return FailInput("Stage:rank", "rank " + std::to_string(rank) + " is not in device list " +
                                       TupleText(devices));
  }
  return found - devices.begin();
}

Status CheckDeviceMatrix(std::span<const std::int64_t> device_matrix, std::int64_t device_count) {
  DRYDOCK_TRY(const std::int64_t product, ProductChecked(device_matrix));
  const bool positive = std::all_of(device_matrix.begin(), device_matrix.end(),
                                    [](std::int64_t extent) { return extent > 0; });
  if (!positive || product != device_count) {
    return FailInput("Layout:device-count",
                     "device matrix " + TupleText(device_matrix) + " does not multiply to the " +
                         std::to_string(device_count) + " devices of the stage",
                     "the product of its entries must be the number of devices in one stage");
  }
  return {};
}

Status CheckJobSize(std::int64_t device_count) {
  const bool small = device_count == 1 || device_count == 2 || device_count == 4;
  if (small ||
      (device_count > 0 && device_count <= kMaxDevices && device_count % kDevicesPerServer == 0)) {
    return {};
  }
  return FailInput("Job:size",
                   "a job of " + std::to_string(device_count) + " ranks is not accepted",
                   "use 1, 2, 4 or a multiple of 8 ranks");
}

}  // namespace drydock::strategies
