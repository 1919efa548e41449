#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/executor.h"
#include "base/text.h"
#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/full_run.h"
#include "launcher/hardware_file.h"
#include "launcher/plan_runs.h"
#include "reports/plan_report.h"
#include "sim/planning/plan_search.h"
#include "sim/planning/read_model.h"
#include "sim/planning/request.h"

namespace drydock::launcher {
namespace {

/// What the flags of `drydock plan` say.
struct PlanOptions {
  std::int64_t devices = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::int64_t devices_per_node = 0;
  std::int64_t top = 10;
  std::int64_t threads = 0;
  std::int64_t memory_gib = 0;
  std::string hardware = "910B";
  std::string storage = {};
  std::string fixed = {};
  std::string explain = {};
  std::string attention = "fused";
  bool closed_form = false;
  bool json = false;
};

bool IsAscend(const sim::HardwareProfile& hardware) {
  return hardware.name.starts_with("910");
}

Result<sim::TrainingJob> JobOf(const PlanOptions& options, const std::string& model_file,
                               const sim::HardwareProfile& hardware) {
  const Result<std::string> text = ReadFile(model_file, sim::kMaxDescriptionBytes);
  if (!text) {
    return FailCommand(FailureCode::kUsage, text.error().message,
                       "give a config.json, a mindformers YAML file or Megatron arguments");
  }
  sim::TrainingJob job;
  DRYDOCK_TRY(job.model, sim::ReadModel(*text, model_file));
  job.model.name = job.model.name.empty() ? model_file : job.model.name;
  job.sequence = options.sequence > 0 ? options.sequence : job.model.sequence;
  if (job.sequence == 0) {
    return FailCommand(FailureCode::kUsage,
                       "the model description does not say how long a sample is",
                       "give --sequence, in tokens");
  }
  job.global_batch = options.batch;
  job.devices = options.devices;
  const bool ascend = IsAscend(hardware);
  DRYDOCK_TRY(job.storage, sim::StorageNamed(options.storage.empty()
                                                 ? (ascend ? "mindspore-fp32" : "megatron-bf16")
                                                 : options.storage));
  job.attention_sum_bytes = ascend ? 64 : 4;
  if (job.storage.cut_weights) {
    // MindSpore's operators one by one: a loss keeps the logits in 16 bits and between four and
    // five times in 32, norms and rotations are more than one pass over memory.
    job.logit_bytes = 20;
    job.separate_operators = true;
    job.memory_passes = 2;
  }
  if (options.attention != "fused" && options.attention != "plain") {
    return FailCommand(FailureCode::kUsage,
                       "argument --attention: '" + options.attention + "' is not known",
                       "'fused' and 'plain' are");
  }
  job.attention =
      options.attention == "plain" ? sim::AttentionKernel::kPlain : sim::AttentionKernel::kFused;
  DRYDOCK_RETURN_IF_ERROR(sim::CheckJob(job));
  return job;
}

/// Axes that --fix pins; words that are no axis pin switches.
Result<sim::SearchSpace> SpaceOf(const PlanOptions& options) {
  sim::SearchSpace space;
  DRYDOCK_TRY(space.fixed, sim::ParsePlan(options.fixed, space.fixed));
  space.fixed_sequence_parallel = space.fixed.sequence_parallel;
  space.fixed_recompute = space.fixed.recompute != sim::Recompute::kNone ||
                          options.fixed.find("none") != std::string::npos;
  return space;
}

/// `drydock plan`: which way of cutting a job is fastest and fits.
class PlanCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "plan"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "find the fastest ways of cutting a model over devices that fit into their memory";
  }
  [[nodiscard]] std::string Usage() const override {
    return "[flags] config.json | mindformers.yaml | megatron_arguments.txt";
  }
  void AddFlags(FlagSet& flags) override {
    PlanOptions& o = options_;
    flags.AddInt({"devices", "N", "devices of the cluster"}, &o.devices);
    flags.AddInt({"batch", "N", "samples of a step"}, &o.batch);
    flags.AddInt({"sequence", "N", "tokens of a sample; else what the model description says"},
                 &o.sequence);
    flags.AddText({"hardware", "NAME|FILE", "device profile (910B)"}, &o.hardware);
    flags.AddInt({"devices_per_node", "N", "devices in a node; else what the profile says"},
                 &o.devices_per_node);
    flags.AddInt({"memory", "GiB", "memory of a device that tensors may use"}, &o.memory_gib);
    flags.AddText({"storage", "SCHEME", "what a weight costs: mindspore-fp32, megatron-bf16, ..."},
                  &o.storage);
    flags.AddText({"attention", "fused|plain", "how attention is computed (fused)"}, &o.attention);
    flags.AddText({"fix", "PLAN", "parts that are given: \"tp8 pp4 full\""}, &o.fixed);
    flags.AddInt({"top", "K", "plans that are compiled for all ranks and printed (10)"}, &o.top);
    flags.AddSwitch({"closed_form", "", "closed forms alone, nothing is compiled"}, &o.closed_form);
    flags.AddText({"explain", "PLAN", "why is this plan slow, or does not fit?"}, &o.explain);
    flags.AddSwitch({"json", "", "print JSON (schema drydock.plan/1)"}, &o.json);
    flags.AddInt({"threads", "N", "threads; the answer does not depend on them"}, &o.threads);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    DRYDOCK_RETURN_IF_ERROR(Check(flags));
    DRYDOCK_TRY(const sim::HardwareProfile hardware,
                LoadHardware(options_.hardware, options_.devices_per_node));
    DRYDOCK_TRY(const sim::TrainingJob job, JobOf(options_, flags.rest().front(), hardware));
    const double limit = options_.memory_gib > 0
                             ? static_cast<double>(options_.memory_gib) * 1024 * 1024 * 1024
                             : static_cast<double>(hardware.usable_bytes);
    return options_.explain.empty() ? Search(job, hardware, limit, context)
                                    : Explain(job, hardware, limit, context);
  }

 private:
  [[nodiscard]] Status Check(const FlagSet& flags) const {
    if (flags.rest().size() != 1) {
      return FailCommand(FailureCode::kUsage, "expected one model description",
                         "drydock plan --devices 64 --batch 512 --sequence 4096 config.json");
    }
    if (options_.devices < 1 || options_.batch < 1) {
      return FailCommand(FailureCode::kUsage, "--devices and --batch are needed, both at least 1",
                         "drydock plan --devices 64 --batch 512 " + flags.rest().front());
    }
    if (options_.sequence < 0 || options_.devices_per_node < 0) {
      return FailCommand(FailureCode::kUsage, "--sequence or --devices_per_node is negative",
                         "leave the flag out for what the description and the profile say");
    }
    if (options_.top < 1 || options_.top > 1000) {
      return FailCommand(FailureCode::kUsage, "--top is not between 1 and 1000",
                         "leave the flag out for ten plans, or give --closed_form for none");
    }
    if (options_.threads < 0) {
      return FailCommand(FailureCode::kUsage, "--threads is negative",
                         "leave the flag out for all cores");
    }
    if (options_.memory_gib < 0 || options_.memory_gib > (1 << 20)) {
      return FailCommand(FailureCode::kUsage, "--memory is not between 0 and 1048576 GiB",
                         "leave the flag out for what the profile says of the device");
    }
    return {};
  }

  [[nodiscard]] Result<ExitCode> Explain(const sim::TrainingJob& job,
                                         const sim::HardwareProfile& hardware, double limit,
                                         const Context& context) const {
    DRYDOCK_TRY(sim::Plan plan, sim::ParsePlan(options_.explain));
    plan.micro_batch = std::max<std::int64_t>(1, plan.micro_batch);
    DRYDOCK_RETURN_IF_ERROR(sim::CheckPlan(job, plan));
    context.out << reports::ExplainText(job, hardware, limit, plan)
                << "by hand: " << CommandLineOf(job, plan) << "\n";
    return ExitCode::kOk;
  }

  [[nodiscard]] Result<ExitCode> Search(const sim::TrainingJob& job,
                                        const sim::HardwareProfile& hardware, double limit,
                                        const Context& context) const {
    DRYDOCK_TRY(const sim::SearchSpace space, SpaceOf(options_));
    const auto executor = MakeExecutor(static_cast<std::size_t>(options_.threads));
    const auto begin = std::chrono::steady_clock::now();
    DRYDOCK_TRY(const sim::SearchResult found,
                sim::SearchPlans(job, space, hardware, limit,
                                 static_cast<std::size_t>(options_.top), *executor));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (found.best.empty()) {
      const sim::PlanFigures& least = found.plans[found.smallest];
      return FailCommand(FailureCode::kMemoryLimit,
                         "none of " + std::to_string(found.plans.size()) + " plans fits into " +
                             BytesText(std::llround(limit)) + "; '" + PlanText(least.plan) +
                             "' needs least, " + BytesText(std::llround(least.peak_bytes)),
                         "use more devices, a shorter sequence, or --memory");
    }
    reports::PlanReport report{.job = job, .hardware = hardware.name, .limit_bytes = limit};
    report.possible = std::ssize(found.plans);
    report.fitting = found.fitting;
    report.wanted = std::ssize(found.best);
    report.plans_per_second =
        static_cast<double>(found.plans.size()) / std::max(spent.count(), 1e-9);
    for (const std::size_t index : found.front) {
      report.front.push_back(found.plans[index]);
    }
    if (options_.closed_form) {
      for (const std::size_t index : found.best) {
        report.best.push_back({.figures = found.plans[index]});
      }
    } else {
      report.best = RunBestPlans(job, found, hardware, limit, context,
                                 static_cast<std::size_t>(options_.threads));
    }
    context.out << (options_.json ? reports::PlanJson(report) : reports::PlanText(report));
    return Verdict(report);
  }

  /// Status 7 if everything that was compiled is known not to fit.
  [[nodiscard]] static Result<ExitCode> Verdict(const reports::PlanReport& report) {
    std::int64_t least = -1;
    for (const reports::PlannedRow& row : report.best) {
      if (!row.full || row.full->fits || !row.full->problem.empty()) {
        return ExitCode::kOk;
      }
      least = least < 0 ? row.full->actual_bytes : std::min(least, row.full->actual_bytes);
    }
    return FailCommand(FailureCode::kMemoryLimit,
                       "none of the " + std::to_string(report.best.size()) +
                           " plans that were compiled fits into " +
                           BytesText(std::llround(report.limit_bytes)) +
                           ", and no other is expected to; the smallest needs " + BytesText(least),
                       "use more devices, a shorter sequence, or --memory");
  }

  PlanOptions options_ = {};
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() {
  return std::make_unique<PlanCommand>();
}

}  // namespace drydock::launcher
