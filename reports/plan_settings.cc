// The same plan in the words of three programs, and of our own script.
//
// Sources: mindspore-lab/mindformers: docs (parallel_config, recompute_config);
// mindspore.set_auto_parallel_context; NVIDIA/Megatron-LM: megatron/training/arguments.py.
#include "reports/plan_settings.h"

#include <string_view>
#include <utility>

namespace drydock::reports {
namespace {

using sim::Plan;
using sim::Recompute;
using sim::TrainingJob;

std::string Number(std::int64_t value) {
  return std::to_string(value);
}

std::string Flag(std::string_view name, std::int64_t value) {
  return " --" + std::string(name) + " " + Number(value);
}

std::string Bool(bool value) {
  return value ? "True" : "False";
}

std::string_view PositionsName(sim::Positions positions) {
  switch (positions) {
    case sim::Positions::kRotary:
      return "rotary";
    case sim::Positions::kLearned:
      return "learned";
    case sim::Positions::kNone:
      break;
  }
  return "none";
}

template <class Value>
using Named = std::vector<std::pair<std::string_view, Value>>;

/// Sizes of the model and of the plan by the names of our script's arguments; 0 is its default.
Named<std::int64_t> ScriptNumbers(const TrainingJob& job, const Plan& plan) {
  const sim::ModelShape& model = job.model;
  Named<std::int64_t> numbers = {{"layers", model.layers},
                                 {"hidden", model.hidden},
                                 {"heads", model.heads},
                                 {"kv_heads", model.kv_heads},
                                 {"head_width", model.head_width},
                                 {"ffn", model.ffn},
                                 {"vocabulary", model.vocabulary},
                                 {"position_rows", model.position_rows},
                                 {"prediction_layers", model.prediction_layers},
                                 {"sequence", job.sequence},
                                 {"tensor", plan.tensor},
                                 {"stages", plan.pipeline},
                                 {"interleave", plan.interleave},
                                 {"context", plan.context},
                                 {"micro_batch", plan.micro_batch},
                                 {"micro_batches", MicroBatches(job, plan)},
                                 {"optimizer_level", plan.optimizer_level}};
  if (model.experts.count > 0) {
    const sim::Experts& experts = model.experts;
    numbers.insert(numbers.end(), {{"experts", experts.count},
                                   {"experts_per_token", experts.per_token},
                                   {"expert_width", experts.width},
                                   {"shared_width", experts.shared_width},
                                   {"sparse_layers", experts.layers},
                                   {"expert", plan.expert}});
  }
  if (model.latent.key_rank > 0) {
    const sim::LatentAttention& latent = model.latent;
    numbers.insert(numbers.end(), {{"query_rank", latent.query_rank},
                                   {"key_rank", latent.key_rank},
                                   {"plain_width", latent.plain_width},
                                   {"rotary_width", latent.rotary_width},
                                   {"value_width", latent.value_width}});
  }
  return numbers;
}

Named<bool> ScriptSwitches(const sim::ModelShape& model, const Plan& plan) {
  return {{"gated", model.gated},
          {"norm_bias", model.norm_bias},
          {"query_bias", model.query_bias},
          {"output_bias", model.output_bias},
          {"mlp_bias", model.mlp_bias},
          {"tied", model.tied},
          {"head_norm", model.head_norm},
          {"embedding_norm", model.embedding_norm},
          {"no_final_norm", !model.final_norm},
          {"dropout", model.dropout},
          {"router_bias", model.experts.router_bias},
          {"shared_gate", model.experts.shared_gate},
          {"sequence_parallel", plan.sequence_parallel}};
}

}  // namespace

std::string MindformersYaml(const TrainingJob& job, const Plan& plan) {
  std::string text = "parallel:\n  parallel_mode: 1\n  enable_parallel_optimizer: " +
                     Bool(plan.optimizer_level > 0) + "\n";
  if (plan.optimizer_level > 0) {
    text += "  parallel_optimizer_config:\n    optimizer_level: \"level" +
            Number(plan.optimizer_level) + "\"\n";
  }
  text += plan.expert > 1 ? "  enable_alltoall: True\n" : "";
  if (plan.interleave > 1) {
    text += "  pipeline_config:\n    pipeline_interleave: True\n    pipeline_scheduler: \"1f1b\"\n";
  }
  text += "parallel_config:\n  data_parallel: " + Number(plan.data) +
          "\n  model_parallel: " + Number(plan.tensor) +
          "\n  pipeline_stage: " + Number(plan.pipeline) +
          "\n  context_parallel: " + Number(plan.context) +
          "\n  expert_parallel: " + Number(plan.expert) +
          "\n  use_seq_parallel: " + Bool(plan.sequence_parallel) +
          // Else the table and the logits of the loss are whole on every tensor part.
          "\n  vocab_emb_dp: False\n  micro_batch_num: " +
          Number(plan.pipeline > 1 ? MicroBatches(job, plan) : 1) + "\n";
  text += "recompute_config:\n  recompute: " + Bool(plan.recompute == Recompute::kFull) +
          "\n  select_recompute: " + Bool(plan.recompute == Recompute::kSelective) + "\n";
  text += "runner_config:\n  batch_size: " + Number(plan.micro_batch) + "\n";
  // Without a pipeline mindformers takes micro batches for accumulation from here.
  if (plan.pipeline == 1 && MicroBatches(job, plan) > 1) {
    text += "  gradient_accumulation_steps: " + Number(MicroBatches(job, plan)) + "\n";
  }
  if (plan.interleave > 1) {
    text += "model:\n  model_config:\n    pp_interleave_num: " + Number(plan.interleave) + "\n";
  }
  const std::string_view type = job.storage.weight >= 4 ? "float32" : "bfloat16";
  text += "# the plan counts weights of " + std::string(type) +
          ": model_config.param_init_type, or params_dtype where a configuration has that\n";
  return text;
}

std::string AutoParallelContext(const TrainingJob& job, const Plan& plan) {
  std::string text =
      "mindspore.set_auto_parallel_context(parallel_mode=\"semi_auto_parallel\", device_num=" +
      Number(job.devices) + ", pipeline_stages=" + Number(plan.pipeline) +
      ", gradients_mean=True, enable_parallel_optimizer=" + Bool(plan.optimizer_level > 0);
  if (plan.optimizer_level > 0) {
    text += ", parallel_optimizer_config={\"optimizer_level\": \"level" +
            Number(plan.optimizer_level) + "\"}";
  }
  text += plan.expert > 1 ? ", enable_alltoall=True" : "";
  if (plan.interleave > 1) {
    text += ", pipeline_config={\"pipeline_interleave\": True, \"pipeline_scheduler\": \"1f1b\"}";
  }
  return text + ")\n# micro batches of a step: " + Number(MicroBatches(job, plan)) +
         ", samples in each: " + Number(plan.micro_batch) + "; cut products ((" +
         Number(plan.data * plan.context) + ", 1), (1, " + Number(plan.tensor) + "))\n";
}

std::string MegatronFlags(const TrainingJob& job, const Plan& plan) {
  std::string text = Flag("tensor-model-parallel-size", plan.tensor) +
                     Flag("pipeline-model-parallel-size", plan.pipeline) +
                     Flag("context-parallel-size", plan.context) +
                     Flag("micro-batch-size", plan.micro_batch) +
                     Flag("global-batch-size", job.global_batch);
  if (plan.interleave > 1) {
    text += Flag("num-layers-per-virtual-pipeline-stage",
                 job.model.layers / (plan.pipeline * plan.interleave));
  }
  text += plan.expert > 1 ? Flag("expert-model-parallel-size", plan.expert) : "";
  text += plan.sequence_parallel ? " --sequence-parallel" : "";
  text += plan.optimizer_level > 0 ? " --use-distributed-optimizer" : "";
  if (plan.optimizer_level >= 2) {
    text += " --use-megatron-fsdp --data-parallel-sharding-strategy ";
    text += plan.optimizer_level == 2 ? "optim_grads" : "optim_grads_params";
  }
  if (plan.recompute == Recompute::kFull) {
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  } else if (plan.recompute == Recompute::kSelective) {
    text += " --recompute-granularity selective";
  }
  return text.substr(1) + "\n";
}

std::vector<std::string> ScriptArguments(const TrainingJob& job, const Plan& plan) {
  std::vector<std::string> words;
  for (const auto& [name, value] : ScriptNumbers(job, plan)) {
    if (value != 0) {
      words.push_back("--" + std::string(name) + "=" + Number(value));
    }
  }
  words.push_back("--recompute=" + std::string(RecomputeName(plan.recompute)));
  words.push_back("--attention=" +
                  std::string(job.attention == sim::AttentionKernel::kFused ? "fused" : "plain"));
  words.push_back("--positions=" + std::string(PositionsName(job.model.positions)));
  words.push_back(
      "--parameter_type=" +
      std::string(job.storage.weight < 4 && job.storage.cut_weights ? "float16" : "float32"));
  if (job.model.experts.router_bias) {
    words.emplace_back("--router=sigmoid");
  }
  for (const auto& [name, on] : ScriptSwitches(job.model, plan)) {
    if (on) {
      words.push_back("--" + std::string(name));
    }
  }
  return words;
}

}  // namespace drydock::reports
