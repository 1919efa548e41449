#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "strategies/graph/dtype.h"
#include "strategies/graph/fusion_settings.h"
#include "strategies/graph/optimizer_sharding.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

enum class ParallelMode : std::uint8_t {
  kStandAlone,
  kDataParallel,
  kHybridParallel,
  kSemiAutoParallel,
  kAutoParallel,
};

enum class SearchMode : std::uint8_t {
  kRecursiveProgramming,
  kDynamicProgramming,
  kShardingPropagation,
  kOptimal,  ///< Ours: the least modelled time that fits into the memory of a device.
};

/// MindSpore release whose defaults are emulated, the newest known one unless another is asked for.
/// Source: mindspore ccsrc/frontend/parallel/step_parallel.cc.
struct CompatRelease {
  std::int32_t major = 2;
  std::int32_t minor = 10;
  friend auto operator<=>(const CompatRelease&, const CompatRelease&) = default;
};

/// "2.0", "2.7.0", "r2.10" -> release. @error kInvalidArgument  none of 2.0 to 2.10
[[nodiscard]] Result<CompatRelease> ParseCompat(std::string_view text);

/// "2.10".
[[nodiscard]] std::string CompatText(const CompatRelease& release);

/// How the operators between two layouts are chosen.
enum class RedistributionSearch : std::uint8_t {
  kReference,  ///< The reference system's algorithm.
  kOptimal,    ///< The cheapest sequence by bytes sent, never worse than the reference's.
};

/// How the batch is spread over the ranks.
struct DatasetStrategy {
  enum class Kind : std::uint8_t { kDataParallel, kFullBatch, kCuts };
  Kind kind = Kind::kDataParallel;
  std::vector<std::vector<std::int64_t>> cuts = {};  ///< One entry per input for kCuts.
  friend bool operator==(const DatasetStrategy&, const DatasetStrategy&) = default;
};

/// Everything about a job that is not the network: what set_auto_parallel_context and friends say.
struct JobConfig {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::int64_t world_size = 1;
  ParallelMode mode = ParallelMode::kStandAlone;
  SearchMode search_mode = SearchMode::kRecursiveProgramming;
  RedistributionSearch redistribution = RedistributionSearch::kReference;
  DatasetStrategy dataset = {};
  bool dataset_repeat_on_right = false;
  bool training = true;  ///< False: an evaluation or prediction, whose results are gathered.
  std::int64_t pipeline_stages = 1;
  std::string pipeline_scheduler = "1f1b";  ///< Order of micro batches: PipelineScheduler's names.
  bool pipeline_interleave = false;         ///< A stage has several parts of the network.
  bool pipeline_result_broadcast = false;   ///< The last stage gives all others what it returns.
  /// Parts of a batch that run one after the other; their gradients are accumulated. What the
  /// network says where it cuts the batch (MicroBatchesOf), 1 if it does not.
  std::int64_t micro_batches = 1;
  bool gradients_mean = false;
  bool loss_repeated_mean = true;
  bool gradient_fp32_sync = true;
  bool enable_alltoall = false;
  bool enable_parallel_optimizer = false;
  OptimizerSharding optimizer_sharding = {};
  bool elementwise_op_strategy_follow = false;
  /// recursive_programming leaves the strategies that the script gives (MS_INTERFERED_SAPP=1).
  bool pins_strategies = false;
  FusionSettings fusion = {};
  /// How often the script runs its network, as far as memory asks: the tensors of the step before
  /// stay for a while. 1 where it is not known.
  std::int64_t steps = 1;
  bool data_sink = false;         ///< A kernel fetches the data of a step (dataset_sink_mode).
  bool any_device_count = false;  ///< Lift the reference's rule "1, 2, 4 or a multiple of 8".
  std::optional<bool> fully_use_devices = {};  ///< Unset: the default of `compat`.
  CompatRelease compat = {};
  std::string device_target = "Ascend";  ///< "Ascend", "GPU" or "CPU".
  std::string max_device_memory = {};    ///< "58GB" as the script gave it; empty if not.
  std::int64_t search_limit_bytes = 0;   ///< What SearchMode::kOptimal may fill; 0: anything.
  std::int32_t save_graphs = 0;          ///< 0..3
  std::string save_graphs_path = ".";
  std::string jit_level = "O0";    ///< "O0", or "O1": kernels are fused.
  std::string exec_order = "bfs";  ///< Order of kernels: "bfs", or "dfs".
  std::string alloc_conf = {};     ///< MS_ALLOC_CONF of the script's environment.
};

/// Where the operators of a data set that is not cut over all ranks are repeated: along the last
/// axis of the device matrix (since 2.8, or where the network asks for it), else along the first.
[[nodiscard]] bool RepeatsDatasetOnRight(const JobConfig& config);

/// Value in force: the script's, else the release's default (true before 2.5).
[[nodiscard]] bool FullyUseDevices(const JobConfig& config);

/// "hccl", "nccl" or "mccl": the communication library of the device target.
[[nodiscard]] std::string_view BackendName(const JobConfig& config);

/// Ranks of one pipeline stage.
[[nodiscard]] std::int64_t StageDevices(const JobConfig& config);

/// Number of the stage that a rank belongs to.
[[nodiscard]] std::size_t StageOf(const JobConfig& config, RankId rank);

/// Spelling used by set_auto_parallel_context: "semi_auto_parallel".
[[nodiscard]] std::string_view ParallelModeName(ParallelMode mode);
[[nodiscard]] Result<ParallelMode> ParseParallelMode(std::string_view text);
[[nodiscard]] std::string_view SearchModeName(SearchMode mode);
[[nodiscard]] Result<SearchMode> ParseSearchMode(std::string_view text);
/// "reference" or "optimal".
[[nodiscard]] std::string_view RedistributionSearchName(RedistributionSearch search);
[[nodiscard]] Result<RedistributionSearch> ParseRedistributionSearch(std::string_view text);

/// True for the modes in which operators are cut.
[[nodiscard]] bool CutsOperators(ParallelMode mode);

/// Checks sizes and combinations. @error kInvalidArgument / kUnsupported with remedy
[[nodiscard]] Status ValidateJob(const JobConfig& config);

/// Shape the compiler sees for data-set input `index` whose per-rank shape is `local`: local times
/// the cuts of the dataset strategy. Source: mindspore ops_info/virtual_dataset_info.cc.
[[nodiscard]] Result<TensorType> GlobalInputType(const TensorType& local, std::size_t index,
                                                 const JobConfig& config);

/// Cuts of data-set input `index` with `rank` dimensions under the job's dataset strategy.
[[nodiscard]] Result<std::vector<std::int64_t>> DatasetCuts(std::size_t rank, std::size_t index,
                                                            const JobConfig& config);

}  // namespace drydock::strategies
