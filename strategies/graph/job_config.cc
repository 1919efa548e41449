#include "strategies/graph/job_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"

namespace drydock::strategies {
namespace {

constexpr CompatRelease kNewest = {};
constexpr CompatRelease kOldest = {.major = 2, .minor = 0};
/// First release that repeats the data set on the right; compiled with the wheels.
constexpr CompatRelease kDatasetOnRight = {.major = 2, .minor = 8};
/// First release in which fully_use_devices is off by default. Source: mindspore
/// ops_info/operator_info.cc.
constexpr CompatRelease kPartialDevicesDefault = {.major = 2, .minor = 5};

constexpr std::array<std::string_view, 5> kModeNames = {
    "stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel", "auto_parallel"};
constexpr std::array<std::string_view, 4> kSearchNames = {
    "recursive_programming", "dynamic_programming", "sharding_propagation", "optimal"};

constexpr std::array<std::string_view, 2> kRedistributionNames = {"reference", "optimal"};

template <typename Enum, std::size_t N>
Result<Enum> ParseName(std::string_view text, const std::array<std::string_view, N>& names,
                       std::string_view what) {
  const auto* it = std::ranges::find(names, text);
  if (it != names.end()) {
    return static_cast<Enum>(it - names.begin());
  }
  std::string hint = "use one of";
  for (const std::string_view name : names) {
    hint += (name == names.front() ? " " : ", ") + std::string(name);
  }
  return FailInput("job:" + std::string(what),
                   "'" + std::string(text) + "' is not a " + std::string(what), hint);
}

Status CheckWorldSize(std::int64_t n) {
  if (n <= 0) {
    return FailInput("job:world-size",
                     "worker_num must be greater than 0, but it is " + std::to_string(n),
                     "give the number of ranks of the job, for instance --worker_num=8");
  }
  if (n > std::numeric_limits<std::int32_t>::max()) {
    return FailInput("job:world-size", "worker_num is " + std::to_string(n) +
                                           ", at most 2147483647 ranks are possible");
  }
  return {};
}

/// The reference refuses sizes that are neither 1, 2, 4 nor a multiple of 8 in graph-sharding
/// modes. Source: mindspore ccsrc/frontend/parallel/device_manager.cc.
Status CheckDeviceCount(const JobConfig& config) {
  const std::int64_t n = config.world_size;
  if (config.any_device_count || !CutsOperators(config.mode) || n == 1 || n == 2 || n == 4 ||
      n % 8 == 0) {
    return {};
  }
  // Below 8 the next size up: strategies written for a power of two stay legal there.
  const std::int64_t possible = n < 8 ? (n > 4 ? 8 : 4) : n / 8 * 8;
  return FailInput("job:device-count",
                   std::string(ParallelModeName(config.mode)) + " cannot run on " +
                       std::to_string(n) +
                       " devices: the number must be 1, 2, 4 or a multiple of 8",
                   "use --worker_num=" + std::to_string(possible));
}

}  // namespace

Result<CompatRelease> ParseCompat(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == 'r' || rest.front() == 'v')) {
    rest.remove_prefix(1);
  }
  CompatRelease release = {.major = -1, .minor = -1};
  const char* const end = rest.data() + rest.size();
  const auto major = std::from_chars(rest.data(), end, release.major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, release.minor);
    if (minor.ec != std::errc() || (minor.ptr != end && *minor.ptr != '.')) {
      release.minor = -1;
    }
  }
  if (release >= kOldest && release <= kNewest && release.minor >= 0) {
    return release;
  }
  std::string hint = "use one of " + CompatText(kOldest);
  for (std::int32_t minor = kOldest.minor + 1; minor <= kNewest.minor; ++minor) {
    hint += ", " + CompatText({.major = kNewest.major, .minor = minor});
  }
  return FailInput("job:compat",
                   "'" + std::string(text) + "' is not a MindSpore release that is known", hint);
}

std::string CompatText(const CompatRelease& release) {
  return std::to_string(release.major) + "." + std::to_string(release.minor);
}

bool FullyUseDevices(const JobConfig& config) {
  return config.fully_use_devices.value_or(config.compat < kPartialDevicesDefault);
}

bool RepeatsDatasetOnRight(const JobConfig& config) {
  return config.dataset_repeat_on_right || config.compat >= kDatasetOnRight;
}

std::string_view BackendName(const JobConfig& config) {
  if (config.device_target == "GPU") {
    return "nccl";
  }
  return config.device_target == "CPU" ? "mccl" : "hccl";
}

std::int64_t StageDevices(const JobConfig& config) {
  return config.world_size / std::max<std::int64_t>(1, config.pipeline_stages);
}

std::size_t StageOf(const JobConfig& config, RankId rank) {
  return static_cast<std::size_t>(ToInt(rank) / StageDevices(config));
}

std::string_view ParallelModeName(ParallelMode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}
Result<ParallelMode> ParseParallelMode(std::string_view text) {
  return ParseName<ParallelMode>(text, kModeNames, "parallel_mode");
}
std::string_view SearchModeName(SearchMode mode) {
  return kSearchNames[static_cast<std::size_t>(mode)];
}
Result<SearchMode> ParseSearchMode(std::string_view text) {
  return ParseName<SearchMode>(text, kSearchNames, "search_mode");
}

std::string_view RedistributionSearchName(RedistributionSearch search) {
  return kRedistributionNames[static_cast<std::size_t>(search)];
}
Result<RedistributionSearch> ParseRedistributionSearch(std::string_view text) {
  return ParseName<RedistributionSearch>(text, kRedistributionNames, "redistribution");
}

bool CutsOperators(ParallelMode mode) {
  return mode == ParallelMode::kSemiAutoParallel || mode == ParallelMode::kAutoParallel;
}

Status CheckOptimizerSharding(const OptimizerSharding& optimizer) {
  if (optimizer.shard_size != -1 && optimizer.shard_size < 1) {
    return FailInput("job:parallel-optimizer",
                     "the shard size of the optimizer is " + std::to_string(optimizer.shard_size),
                     "use -1, which means all ranks that hold the same slice, or 2 and more");
  }
  if (optimizer.threshold_kb < 0 || optimizer.level < 1 || optimizer.level > 3) {
    return FailInput("job:parallel-optimizer",
                     "the sharded optimizer has threshold " +
                         std::to_string(optimizer.threshold_kb) + " KB and level " +
                         std::to_string(optimizer.level),
                     "use a threshold from 0 on and a level from 1 to 3");
  }
  return {};
}

namespace {

/// A number of ranks that the stages divide, in words.
std::string MoreRanks(const JobConfig& config) {
  constexpr std::int64_t kRanksOfNode = 8;
  constexpr std::int64_t kMostStages = 1024;
  if (config.pipeline_stages < 1 || config.pipeline_stages > kMostStages) {
    return {};
  }
  return ", or start " + std::to_string(std::lcm(config.pipeline_stages, kRanksOfNode)) + " ranks";
}

/// The next smaller number of stages that divides the ranks.
std::int64_t StagesThatDivide(const JobConfig& config) {
  std::int64_t stages = std::clamp<std::int64_t>(config.pipeline_stages, 1, config.world_size);
  while (config.world_size % stages != 0) {
    --stages;
  }
  return stages;
}

}  // namespace

Status ValidateJob(const JobConfig& config) {
  DRYDOCK_RETURN_IF_ERROR(CheckWorldSize(config.world_size));
  if (config.pipeline_stages < 1 || config.world_size % config.pipeline_stages != 0) {
    return FailInput("job:pipeline-stages",
                     "pipeline_stages is " + std::to_string(config.pipeline_stages) +
                         ", which does not divide " + std::to_string(config.world_size) + " ranks",
                     "set pipeline_stages to a number that divides " +
                         std::to_string(config.world_size) + ", for instance " +
                         std::to_string(StagesThatDivide(config)) + MoreRanks(config));
  }
  if (config.pipeline_stages > 1 && !CutsOperators(config.mode)) {
    return FailInput("job:pipeline-stages",
                     "pipeline_stages needs semi_auto_parallel or auto_parallel, but parallel_mode "
                     "is " +
                         std::string(ParallelModeName(config.mode)),
                     "set parallel_mode=\"semi_auto_parallel\", or pipeline_stages=1");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckOptimizerSharding(config.optimizer_sharding));
  if (config.dataset.kind == DatasetStrategy::Kind::kFullBatch && !CutsOperators(config.mode)) {
    return FailInput("job:full-batch",
                     "full_batch needs semi_auto_parallel or auto_parallel, but parallel_mode is " +
                         std::string(ParallelModeName(config.mode)),
                     "use dataset_strategy=\"data_parallel\" or another parallel_mode");
  }
  return CheckDeviceCount(config);
}

Result<std::vector<std::int64_t>> DatasetCuts(std::size_t rank, std::size_t index,
                                              const JobConfig& config) {
  std::vector<std::int64_t> cuts(rank, 1);
  if (!CutsOperators(config.mode)) {
    return cuts;
  }
  switch (config.dataset.kind) {
    case DatasetStrategy::Kind::kFullBatch:
      return cuts;
    case DatasetStrategy::Kind::kDataParallel:
      if (rank > 0) {
        cuts[0] = StageDevices(config);
      }
      return cuts;
    case DatasetStrategy::Kind::kCuts:
      break;
  }
  const auto& given = config.dataset.cuts;
  if (index >= given.size() || given[index].size() != rank) {
    return FailInput("dataset_strategy:entries",
                     index >= given.size()
                         ? "dataset_strategy has " + std::to_string(given.size()) +
                               " entries, but the network has an input " + std::to_string(index)
                         : "dataset_strategy entry " + std::to_string(index) + " is " +
                               TupleText(given[index]) + ", but input " + std::to_string(index) +
                               " has " + std::to_string(rank) + " dimensions",
                     "give one cut per dimension of every network input");
  }
  if (std::ranges::any_of(given[index], [](std::int64_t cut) { return cut < 1; })) {
    return FailInput("dataset_strategy:cut", "dataset_strategy entry " + std::to_string(index) +
                                                 " is " + TupleText(given[index]) +
                                                 ": cuts must be at least 1");
  }
  return given[index];
}

Result<TensorType> GlobalInputType(const TensorType& local, std::size_t index,
                                   const JobConfig& config) {
  DRYDOCK_TRY(const std::vector<std::int64_t> cuts, DatasetCuts(local.shape.size(), index, config));
  TensorType global = local;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    DRYDOCK_TRY(global.shape[d], MulChecked(global.shape[d], cuts[d]));
  }
  return global;
}

}  // namespace drydock::strategies
