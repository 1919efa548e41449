// Requests in JSON, one object each.
#include "sim/planning/request.h"

#include <array>
#include <utility>

#include "sim/planning/read_model.h"

namespace drydock::sim {
namespace {

/// What a weight costs in known programs. Sources: arXiv 1910.02054 (zero), NVIDIA/Megatron-LM:
/// docs/user-guide/features/dist_optimizer.md (megatron-*), bigscience-workshop/bigscience:
/// train/tr11-176B-ml/README.md (bloom-bf16); MindSpore keeps parameters in the type the script
/// gives and moments in float32.
constexpr std::array<std::pair<std::string_view, Storage>, 7> kSchemes = {
    {{"zero", {.weight = 2, .gradient = 2, .optimizer = 12}},
     {"megatron-bf16", {.weight = 2, .gradient = 4, .optimizer = 12}},
     {"megatron-fp16", {.weight = 2, .gradient = 2, .optimizer = 16}},
     {"fp32", {.weight = 4, .gradient = 4, .optimizer = 8}},
     {"bloom-bf16", {.weight = 2, .gradient = 2, .accumulation = 4, .optimizer = 12}},
     {"mindspore-fp32", {.weight = 4, .gradient = 4, .optimizer = 8, .cut_weights = true}},
     {"mindspore-fp16", {.weight = 2, .gradient = 2, .optimizer = 8, .cut_weights = true}}}};

Status Wrong(const ModelSettings& settings, std::string_view name, std::string message,
             std::string hint) {
  Error error = FailInput("Request:wrong-value", std::move(message), std::move(hint)).value();
  error.place = settings.PlaceOf(name);
  return tl::unexpected(std::move(error));
}

Status ReadStorage(const ModelSettings& settings, Storage& storage) {
  if (const std::string scheme = settings.Text("storage"); !scheme.empty()) {
    const Result<Storage> named = StorageNamed(scheme);
    if (!named) {
      return tl::unexpected(WithPlace(named.error(), settings.PlaceOf("storage")));
    }
    storage = *named;
  }
  DRYDOCK_TRY(storage.weight, settings.Number("storage.weight", storage.weight));
  DRYDOCK_TRY(storage.gradient, settings.Number("storage.gradient", storage.gradient));
  DRYDOCK_TRY(storage.accumulation, settings.Number("storage.accumulation", storage.accumulation));
  DRYDOCK_TRY(storage.optimizer, settings.Number("storage.optimizer", storage.optimizer));
  DRYDOCK_TRY(storage.computed, settings.Number("storage.computed", storage.computed));
  for (const double bytes : {storage.weight, storage.gradient, storage.accumulation,
                             storage.optimizer, storage.computed}) {
    if (!(bytes >= 0 && bytes <= 64)) {
      return Wrong(settings, "storage", "bytes of a weight are not between 0 and 64",
                   "give the bytes that one weight costs");
    }
  }
  return {};
}

Status ReadTensorOverlap(const ModelSettings& settings, TrainingJob& job) {
  constexpr std::array<std::pair<std::string_view, TensorOverlap>, 3> kKnown = {
      {{"none", TensorOverlap::kNone},
       {"gradients", TensorOverlap::kGradients},
       {"products", TensorOverlap::kProducts}}};
  const std::string wanted = settings.Text("overlap_tensor");
  for (const auto& [name, overlap] : kKnown) {
    if (wanted == name || wanted.empty()) {
      job.overlap_tensor = overlap;
      return {};
    }
  }
  return Wrong(settings, "overlap_tensor", "overlap_tensor is '" + wanted + "'",
               "'none', 'gradients' and 'products' are known");
}

Status ReadSwitches(const ModelSettings& settings, TrainingJob& job) {
  const std::string attention = settings.Text("attention");
  if (!attention.empty() && attention != "fused" && attention != "plain") {
    return Wrong(settings, "attention", "attention is '" + attention + "'",
                 "'fused' and 'plain' are known");
  }
  job.attention = attention == "plain" ? AttentionKernel::kPlain : AttentionKernel::kFused;
  DRYDOCK_RETURN_IF_ERROR(ReadTensorOverlap(settings, job));
  DRYDOCK_TRY(job.model.dropout, settings.Switch("dropout", job.model.dropout));
  DRYDOCK_TRY(job.fused_gate, settings.Switch("fused_gate", false));
  DRYDOCK_TRY(job.distributed_tensors, settings.Switch("distributed_tensors", false));
  DRYDOCK_TRY(job.eight_bit_products, settings.Switch("eight_bit", false));
  DRYDOCK_TRY(job.causal, settings.Switch("causal", true));
  DRYDOCK_TRY(job.whole_messages, settings.Switch("whole_messages", false));
  DRYDOCK_TRY(job.separate_messages, settings.Switch("separate_messages", false));
  DRYDOCK_TRY(job.separate_operators, settings.Switch("separate_operators", false));
  DRYDOCK_TRY(job.overlap_data, settings.Switch("overlap_data", true));
  DRYDOCK_TRY(job.one_ring, settings.Switch("one_ring", false));
  DRYDOCK_TRY(job.overlap_experts, settings.Switch("overlap_experts", false));
  return {};
}

Status ReadCosts(const ModelSettings& settings, TrainingJob& job) {
  DRYDOCK_TRY(job.logit_bytes, settings.Number("logit_bytes", job.logit_bytes));
  DRYDOCK_TRY(job.attention_sum_bytes,
              settings.Number("attention_sum_bytes", job.attention_sum_bytes));
  DRYDOCK_TRY(job.memory_passes, settings.Number("memory_passes", 1));
  DRYDOCK_TRY(job.host_layer_seconds, settings.Number("host_layer_seconds", 0));
  DRYDOCK_TRY(job.host_expert_seconds, settings.Number("host_expert_seconds", 0));
  DRYDOCK_TRY(job.eight_bit_bytes, settings.Number("eight_bit_bytes", job.eight_bit_bytes));
  DRYDOCK_TRY(job.weight_copy_bytes, settings.Number("weight_copy_bytes", 0));
  DRYDOCK_TRY(job.optimizer_bytes, settings.Number("optimizer_bytes", 0));
  DRYDOCK_TRY(job.summing_bytes, settings.Number("summing_bytes", 0));
  const std::array<std::pair<std::string_view, double>, 9> costs = {
      {{"logit_bytes", job.logit_bytes},
       {"attention_sum_bytes", job.attention_sum_bytes},
       {"memory_passes", job.memory_passes},
       {"host_layer_seconds", job.host_layer_seconds},
       {"host_expert_seconds", job.host_expert_seconds},
       {"eight_bit_bytes", job.eight_bit_bytes},
       {"weight_copy_bytes", job.weight_copy_bytes},
       {"optimizer_bytes", job.optimizer_bytes},
       {"summing_bytes", job.summing_bytes}}};
  for (const auto& [name, value] : costs) {
    if (!(value >= 0 && value <= 1024)) {
      return Wrong(settings, name, std::string(name) + " is not between 0 and 1024",
                   "docs/planning.md says what it stands for; leave it out for its default");
    }
  }
  return {};
}

}  // namespace

Result<Storage> StorageNamed(std::string_view name) {
  std::string known;
  for (const auto& [scheme, storage] : kSchemes) {
    if (scheme == name) {
      return storage;
    }
    known += (known.empty() ? "" : ", ") + std::string(scheme);
  }
  return FailInput("Request:wrong-value", "storage scheme '" + std::string(name) + "' is not known",
                   "known are " + known);
}

Status CheckJob(const TrainingJob& job) {
  const std::array<std::pair<std::string_view, std::int64_t>, 3> sizes = {
      {{"sequence", job.sequence}, {"batch", job.global_batch}, {"devices", job.devices}}};
  for (const auto& [name, value] : sizes) {
    if (value < 1 || value > (std::int64_t{1} << 32)) {
      return FailInput(
          "Request:out-of-bounds",
          std::string(name) + " is " + std::to_string(value) + ", which is not between 1 and 2^32",
          "correct the number of " + std::string(name == "sequence" ? "tokens"
                                                 : name == "batch"  ? "samples"
                                                                    : name));
    }
  }
  return {};
}

Result<PlanRequest> ReadPlanRequest(std::string_view text, const std::string& place) {
  DRYDOCK_TRY(const ModelSettings settings, ReadJsonSettings(text, place));
  PlanRequest request;
  TrainingJob& job = request.job;
  DRYDOCK_TRY(job.model, ShapeFromHuggingFace(settings.Under("model.")));
  DRYDOCK_TRY(job.sequence, settings.Integer("sequence"));
  DRYDOCK_TRY(job.global_batch, settings.Integer("batch"));
  DRYDOCK_RETURN_IF_ERROR(ReadStorage(settings, job.storage));
  DRYDOCK_RETURN_IF_ERROR(ReadSwitches(settings, job));
  DRYDOCK_RETURN_IF_ERROR(ReadCosts(settings, job));
  const auto placed = [&](const Status& status, std::string_view name) -> Status {
    return status ? status : tl::unexpected(WithPlace(status.error(), settings.PlaceOf(name)));
  };
  DRYDOCK_RETURN_IF_ERROR(placed(CheckShape(job.model), "model"));
  Result<Plan> plan = ParsePlan(settings.Text("plan"));
  if (!plan) {
    return tl::unexpected(WithPlace(plan.error(), settings.PlaceOf("plan")));
  }
  request.plan = *plan;
  request.plan.micro_batch = std::max<std::int64_t>(1, request.plan.micro_batch);
  DRYDOCK_TRY(job.devices, settings.Integer("devices", request.plan.Devices()));
  DRYDOCK_RETURN_IF_ERROR(placed(CheckJob(job), "batch"));
  DRYDOCK_RETURN_IF_ERROR(placed(CheckPlan(job, request.plan), "plan"));
  request.hardware = settings.Text("hardware");
  return request;
}

}  // namespace drydock::sim
