#include "strategies/document/json_job.h"

#include <array>

#include "strategies/document/json_fields.h"

namespace drydock::strategies {
namespace {

/// Fields whose text is the member itself.
struct BoolMember {
  std::string_view name = {};
  bool JobConfig::*member = nullptr;
};
struct TextMember {
  std::string_view name = {};
  std::string JobConfig::*member = nullptr;
};

constexpr std::array<BoolMember, 12> kBools = {{
    {"data_sink", &JobConfig::data_sink},
    {"dataset_repeat_on_right", &JobConfig::dataset_repeat_on_right},
    {"training", &JobConfig::training},
    {"gradients_mean", &JobConfig::gradients_mean},
    {"loss_repeated_mean", &JobConfig::loss_repeated_mean},
    {"gradient_fp32_sync", &JobConfig::gradient_fp32_sync},
    {"enable_alltoall", &JobConfig::enable_alltoall},
    {"enable_parallel_optimizer", &JobConfig::enable_parallel_optimizer},
    {"elementwise_op_strategy_follow", &JobConfig::elementwise_op_strategy_follow},
    {"pins_strategies", &JobConfig::pins_strategies},
    {"pipeline_interleave", &JobConfig::pipeline_interleave},
    {"pipeline_result_broadcast", &JobConfig::pipeline_result_broadcast},
}};
constexpr std::array<TextMember, 5> kTexts = {{
    {"alloc_conf", &JobConfig::alloc_conf},
    {"device_target", &JobConfig::device_target},
    {"max_device_memory", &JobConfig::max_device_memory},
    {"pipeline_scheduler", &JobConfig::pipeline_scheduler},
    {"save_graphs_path", &JobConfig::save_graphs_path},
}};

/// Fields whose text is one of a few.
struct ChoiceMember {
  std::string_view name = {};
  std::string JobConfig::*member = nullptr;
  std::array<std::string_view, 2> choices = {};
};
constexpr std::array<ChoiceMember, 2> kChoices = {{
    {"jit_level", &JobConfig::jit_level, {"O0", "O1"}},
    {"exec_order", &JobConfig::exec_order, {"bfs", "dfs"}},
}};

Status ReadChoices(ObjectReader& object, JobConfig& job) {
  for (const ChoiceMember& field : kChoices) {
    std::string& text = job.*field.member;
    DRYDOCK_TRY(text, TextField(object, field.name, text));
    if (text != field.choices[0] && text != field.choices[1]) {
      return FailAtJson(object.object(), "graph:" + std::string(field.name),
                        std::string(field.name) + " '" + text + "' is not known",
                        "use \"" + std::string(field.choices[0]) + "\" or \"" +
                            std::string(field.choices[1]) + "\"");
    }
  }
  return {};
}

/// Field `name` as text, parsed by `parse`; a failure gets the field's place.
template <typename T>
Status ReadParsed(ObjectReader& object, std::string_view name, Result<T> (*parse)(std::string_view),
                  T& target) {
  const std::optional<JsonView> value = object.Find(name);
  if (!value) {
    return {};
  }
  DRYDOCK_TRY(const std::string text, ReadJsonText(*value, name));
  const Result<T> parsed = parse(text);
  if (!parsed) {
    return tl::unexpected(WithPlace(parsed.error(), value->Place()));
  }
  target = *parsed;
  return {};
}

Status ReadDataset(ObjectReader& object, DatasetStrategy& dataset) {
  const std::optional<JsonView> value = object.Find("dataset_strategy");
  if (!value) {
    return {};
  }
  if (value->kind() == JsonKind::kArray) {
    dataset.kind = DatasetStrategy::Kind::kCuts;
    DRYDOCK_TRY(dataset.cuts, ReadJsonStrategy(*value, "dataset_strategy"));
    return {};
  }
  DRYDOCK_TRY(const std::string text, ReadJsonText(*value, "dataset_strategy"));
  if (text != "data_parallel" && text != "full_batch") {
    return FailAtJson(*value, "graph:dataset-strategy",
                      "dataset_strategy '" + text + "' is not known",
                      "use \"data_parallel\", \"full_batch\" or cuts like [[8,1],[8]]");
  }
  dataset = {.kind = text == "full_batch" ? DatasetStrategy::Kind::kFullBatch
                                          : DatasetStrategy::Kind::kDataParallel};
  return {};
}

Status ReadNumbers(ObjectReader& object, JobConfig& job) {
  DRYDOCK_TRY(job.world_size, IntField(object, "world_size", job.world_size));
  DRYDOCK_TRY(job.pipeline_stages, IntField(object, "pipeline_stages", job.pipeline_stages));
  DRYDOCK_TRY(job.steps, IntField(object, "steps", job.steps));
  if (job.steps < 1) {
    return FailAtJson(object.object(), "graph:steps",
                      "steps must be at least 1, but it is " + std::to_string(job.steps));
  }
  DRYDOCK_TRY(const std::int64_t level, IntField(object, "save_graphs", job.save_graphs));
  if (level < 0 || level > 3) {
    return FailAtJson(object.object(), "graph:save-graphs",
                      "save_graphs must be from 0 to 3, but it is " + std::to_string(level));
  }
  job.save_graphs = static_cast<std::int32_t>(level);
  return {};
}

Status ReadFullyUse(ObjectReader& object, JobConfig& job) {
  for (const auto& [name, value] : object.object().Members()) {
    if (name.AsText() == "fully_use_devices" && value.kind() == JsonKind::kNull) {
      job.fully_use_devices.reset();
    }
  }
  if (const auto value = object.Find("fully_use_devices")) {
    DRYDOCK_TRY(job.fully_use_devices, ReadJsonBool(*value, "fully_use_devices"));
  }
  return {};
}

/// Fields of "comm_fusion".
struct FusionSwitch {
  std::string_view name = {};
  bool FusionSettings::*member = nullptr;
};
struct FusionThreshold {
  std::string_view name = {};
  std::int64_t FusionSettings::*member = nullptr;
};
constexpr std::array<FusionSwitch, 3> kFusionSwitches = {{
    {"all_reduce", &FusionSettings::all_reduce},
    {"all_gather", &FusionSettings::all_gather},
    {"reduce_scatter", &FusionSettings::reduce_scatter},
}};
constexpr std::array<FusionThreshold, 4> kFusionThresholds = {{
    {"all_reduce_mb", &FusionSettings::all_reduce_mb},
    {"all_gather_mb", &FusionSettings::all_gather_mb},
    {"reduce_scatter_mb", &FusionSettings::reduce_scatter_mb},
    {"data_parallel_mb", &FusionSettings::data_parallel_mb},
}};

Status CheckSplits(JsonView value, const std::vector<std::int64_t>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < (i == 0 ? 0 : indices[i - 1] + 1)) {
      return FailAtJson(value, "graph:split-indices", "split_indices must ascend from 0 on",
                        "list the last gradient of each part, for instance [1, 3]");
    }
  }
  return {};
}

Status ReadFusion(ObjectReader& job, FusionSettings& fusion) {
  const std::optional<JsonView> value = job.Find("comm_fusion");
  if (!value) {
    return {};
  }
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(*value, "'comm_fusion'"));
  for (const FusionSwitch& field : kFusionSwitches) {
    DRYDOCK_TRY(fusion.*field.member, BoolField(object, field.name, fusion.*field.member));
  }
  for (const FusionThreshold& field : kFusionThresholds) {
    DRYDOCK_TRY(fusion.*field.member, IntField(object, field.name, fusion.*field.member));
  }
  if (const auto indices = object.Find("split_indices")) {
    DRYDOCK_TRY(fusion.split_indices, ReadJsonInts(*indices, "split_indices"));
    DRYDOCK_RETURN_IF_ERROR(CheckSplits(*indices, fusion.split_indices));
  }
  return object.Finish();
}

/// Fields of "optimizer_sharding".
struct ShardingNumber {
  std::string_view name = {};
  std::int64_t OptimizerSharding::*member = nullptr;
};
constexpr std::array<ShardingNumber, 3> kShardingNumbers = {{
    {"shard_size", &OptimizerSharding::shard_size},
    {"threshold_kb", &OptimizerSharding::threshold_kb},
    {"level", &OptimizerSharding::level},
}};

Status ReadOptimizerSharding(ObjectReader& job, OptimizerSharding& sharding) {
  const std::optional<JsonView> value = job.Find("optimizer_sharding");
  if (!value) {
    return {};
  }
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(*value, "'optimizer_sharding'"));
  for (const ShardingNumber& field : kShardingNumbers) {
    DRYDOCK_TRY(sharding.*field.member, IntField(object, field.name, sharding.*field.member));
  }
  return object.Finish();
}

void AppendDataset(std::string& out, const DatasetStrategy& dataset) {
  switch (dataset.kind) {
    case DatasetStrategy::Kind::kDataParallel:
      out += "\"data_parallel\"";
      return;
    case DatasetStrategy::Kind::kFullBatch:
      out += "\"full_batch\"";
      return;
    case DatasetStrategy::Kind::kCuts:
      AppendJsonIntLists(out, dataset.cuts);
      return;
  }
}

void AppendName(std::string& out, std::string_view name) {
  out += out.back() == '{' ? "" : ",";
  out += "\"" + std::string(name) + "\":";
}

/// Nothing for a job that fuses nothing.
void AppendFusion(std::string& out, const FusionSettings& fusion) {
  if (fusion == FusionSettings{}) {
    return;
  }
  AppendName(out, "comm_fusion");
  out += '{';
  for (const FusionSwitch& field : kFusionSwitches) {
    AppendName(out, field.name);
    out += fusion.*field.member ? "true" : "false";
  }
  for (const FusionThreshold& field : kFusionThresholds) {
    AppendName(out, field.name);
    out += std::to_string(fusion.*field.member);
  }
  AppendName(out, "split_indices");
  AppendJsonInts(out, fusion.split_indices);
  out += '}';
}

/// Nothing for a job that has the defaults.
void AppendOptimizerSharding(std::string& out, const OptimizerSharding& sharding) {
  if (sharding == OptimizerSharding{}) {
    return;
  }
  AppendName(out, "optimizer_sharding");
  out += '{';
  for (const ShardingNumber& field : kShardingNumbers) {
    AppendName(out, field.name);
    out += std::to_string(sharding.*field.member);
  }
  out += '}';
}

}  // namespace

Result<JobConfig> ReadJsonJob(JsonView value, const JobConfig& base) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "'job'"));
  JobConfig job = base;
  DRYDOCK_RETURN_IF_ERROR(ReadNumbers(object, job));
  DRYDOCK_RETURN_IF_ERROR(ReadParsed(object, "mode", ParseParallelMode, job.mode));
  DRYDOCK_RETURN_IF_ERROR(ReadParsed(object, "search_mode", ParseSearchMode, job.search_mode));
  DRYDOCK_RETURN_IF_ERROR(
      ReadParsed(object, "redistribution", ParseRedistributionSearch, job.redistribution));
  DRYDOCK_RETURN_IF_ERROR(ReadParsed(object, "compat", ParseCompat, job.compat));
  DRYDOCK_RETURN_IF_ERROR(ReadDataset(object, job.dataset));
  DRYDOCK_RETURN_IF_ERROR(ReadFullyUse(object, job));
  DRYDOCK_RETURN_IF_ERROR(ReadFusion(object, job.fusion));
  DRYDOCK_RETURN_IF_ERROR(ReadOptimizerSharding(object, job.optimizer_sharding));
  DRYDOCK_RETURN_IF_ERROR(ReadChoices(object, job));
  for (const BoolMember& field : kBools) {
    DRYDOCK_TRY(job.*field.member, BoolField(object, field.name, job.*field.member));
  }
  for (const TextMember& field : kTexts) {
    DRYDOCK_TRY(job.*field.member, TextField(object, field.name, job.*field.member));
  }
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  return job;
}

void AppendJsonJob(std::string& out, const JobConfig& job) {
  out += '{';
  AppendName(out, "world_size");
  out += std::to_string(job.world_size);
  AppendName(out, "mode");
  AppendJsonText(out, ParallelModeName(job.mode));
  AppendName(out, "search_mode");
  AppendJsonText(out, SearchModeName(job.search_mode));
  AppendName(out, "redistribution");
  AppendJsonText(out, RedistributionSearchName(job.redistribution));
  AppendName(out, "compat");
  AppendJsonText(out, CompatText(job.compat));
  AppendName(out, "dataset_strategy");
  AppendDataset(out, job.dataset);
  AppendName(out, "pipeline_stages");
  out += std::to_string(job.pipeline_stages);
  AppendName(out, "steps");
  out += std::to_string(job.steps);
  AppendName(out, "fully_use_devices");
  out += !job.fully_use_devices ? "null" : *job.fully_use_devices ? "true" : "false";
  AppendName(out, "save_graphs");
  out += std::to_string(job.save_graphs);
  AppendFusion(out, job.fusion);
  AppendOptimizerSharding(out, job.optimizer_sharding);
  for (const ChoiceMember& field : kChoices) {
    AppendName(out, field.name);
    AppendJsonText(out, job.*field.member);
  }
  for (const BoolMember& field : kBools) {
    AppendName(out, field.name);
    out += job.*field.member ? "true" : "false";
  }
  for (const TextMember& field : kTexts) {
    AppendName(out, field.name);
    AppendJsonText(out, job.*field.member);
  }
  out += '}';
}

}  // namespace drydock::strategies
