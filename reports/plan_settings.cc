// The same plan in the words of three programs, and of our own script.
//
// Sources: mindspore-lab/mindformers: docs (parallel_config, recompute_config);
// mindspore.set_auto_parallel_context; NVIDIA/Megatron-LM: megatron/training/arguments.py.
#include "reports/plan_settings.h"

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

tl::unexpected<Error> NoScript(std::string what) {
  return Fail(ErrorCode::kUnsupported, "the full run has no " + std::move(what) + " yet",
              "the closed form stands alone for this plan");
}

}  // namespace

std::string MindformersYaml(const TrainingJob& job, const Plan& plan) {
  std::string text = "parallel:\n  parallel_mode: 1\n  enable_parallel_optimizer: " +
                     Bool(plan.optimizer_level > 0) + "\n";
  if (plan.optimizer_level > 0) {
    text += "  parallel_optimizer_config:\n    optimizer_level: \"level" +
            Number(plan.optimizer_level) + "\"\n";
  }
  if (plan.interleave > 1) {
    text += "  pipeline_config:\n    pipeline_interleave: True\n    pipeline_scheduler: \"1f1b\"\n";
  }
  text += "parallel_config:\n  data_parallel: " + Number(plan.data) +
          "\n  model_parallel: " + Number(plan.tensor) +
          "\n  pipeline_stage: " + Number(plan.pipeline) +
          "\n  context_parallel: " + Number(plan.context) +
          "\n  expert_parallel: " + Number(plan.expert) +
          "\n  use_seq_parallel: " + Bool(plan.sequence_parallel) +
          "\n  micro_batch_num: " + Number(MicroBatches(job, plan)) + "\n";
  text += "recompute_config:\n  recompute: " + Bool(plan.recompute == Recompute::kFull) +
          "\n  select_recompute: " + Bool(plan.recompute == Recompute::kSelective) + "\n";
  text += "runner_config:\n  batch_size: " + Number(plan.micro_batch) + "\n";
  if (plan.interleave > 1) {
    text += "model:\n  model_config:\n    pp_interleave_num: " + Number(plan.interleave) + "\n";
  }
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
    text += " --data-parallel-sharding-strategy ";
    text += plan.optimizer_level == 2 ? "optim_grads" : "optim_grads_params";
  }
  if (plan.recompute == Recompute::kFull) {
    text += " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  } else if (plan.recompute == Recompute::kSelective) {
    text += " --recompute-granularity selective";
  }
  return text.substr(1) + "\n";
}

Result<std::vector<std::string>> ScriptArguments(const TrainingJob& job, const Plan& plan) {
  const sim::ModelShape& model = job.model;
  if (model.experts.count > 0) {
    return NoScript("experts");
  }
  if (model.latent.key_rank > 0) {
    return NoScript("latent attention");
  }
  if (plan.context > 1) {
    return NoScript("cut sequences (cp)");
  }
  std::vector<std::string> words;
  const auto add = [&](const char* name, std::int64_t value) {
    words.push_back("--" + std::string(name) + "=" + Number(value));
  };
  add("layers", model.layers);
  add("hidden", model.hidden);
  add("heads", model.heads);
  add("kv_heads", model.kv_heads);
  add("head_width", model.head_width);
  add("ffn", model.ffn);
  add("vocabulary", model.vocabulary);
  add("sequence", job.sequence);
  add("tensor", plan.tensor);
  add("stages", plan.pipeline);
  add("interleave", plan.interleave);
  add("micro_batch", plan.micro_batch);
  add("micro_batches", MicroBatches(job, plan));
  add("optimizer_level", plan.optimizer_level);
  words.push_back("--recompute=" + std::string(RecomputeName(plan.recompute)));
  words.emplace_back(job.attention == sim::AttentionKernel::kFused ? "--attention=fused"
                                                                   : "--attention=plain");
  const auto add_switch = [&](const char* name, bool on) {
    if (on) {
      words.emplace_back("--" + std::string(name));
    }
  };
  add_switch("gated", model.gated);
  add_switch("rotary", model.positions == sim::Positions::kRotary);
  add_switch("norm_bias", model.norm_bias);
  add_switch("query_bias", model.query_bias);
  add_switch("output_bias", model.output_bias);
  add_switch("mlp_bias", model.mlp_bias);
  add_switch("sequence_parallel", plan.sequence_parallel);
  return words;
}

}  // namespace drydock::reports
