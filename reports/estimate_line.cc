#include "reports/estimate_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "reports/json_writer.h"
#include "sim/planning/memory_model.h"
#include "sim/planning/time_model.h"

namespace drydock::reports {
namespace {

using sim::Plan;
using sim::StageMemory;
using sim::StepTime;
using sim::TrainingJob;

void Bytes(JsonWriter& json, std::string_view name, double bytes) {
  json.Key(name);
  json.Integer(static_cast<std::int64_t>(std::llround(std::min(bytes, 9e18))));
}

void Number(JsonWriter& json, std::string_view name, double value) {
  json.Key(name);
  json.Number(value);
}

void Stage(JsonWriter& json, std::int64_t stage, const StageMemory& memory) {
  json.BeginObject(true);
  json.Key("stage");
  json.Integer(stage);
  const std::array<std::pair<std::string_view, double>, 9> parts = {
      {{"peak_bytes", memory.Sum()},
       {"weight_bytes", memory.weights},
       {"gradient_bytes", memory.gradients},
       {"optimizer_bytes", memory.optimizer},
       {"constant_bytes", memory.constants},
       {"gathered_bytes", memory.gathered},
       {"activation_bytes", memory.activations},
       {"border_bytes", memory.borders},
       {"transient_bytes", memory.transient}}};
  for (const auto& [name, bytes] : parts) {
    Bytes(json, name, bytes);
  }
  json.EndObject();
}

void Memory(JsonWriter& json, const TrainingJob& job, const sim::JobFacts& facts,
            const Plan& plan) {
  json.Key("stages");
  json.BeginArray(true);
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    Stage(json, stage, MemoryOf(job, facts, plan, stage));
  }
  json.EndArray();
}

void Time(JsonWriter& json, const TrainingJob& job, const Plan& plan, const StepTime& step,
          double peak_flops) {
  const std::array<std::pair<std::string_view, double>, 10> parts = {
      {{"step_seconds", step.Sum()},
       {"compute_seconds", step.compute},
       {"recompute_seconds", step.again},
       {"tensor_seconds", step.tensor},
       {"context_seconds", step.context},
       {"expert_seconds", step.expert},
       {"pipeline_seconds", step.pipeline},
       {"bubble_seconds", step.bubble},
       {"data_seconds", step.data},
       {"optimizer_seconds", step.optimizer}}};
  for (const auto& [name, seconds] : parts) {
    Number(json, name, seconds);
  }
  const double device_seconds = step.Sum() * static_cast<double>(job.devices);
  Number(
      json, "tokens_per_second_per_device",
      static_cast<double>(job.global_batch) * static_cast<double>(job.sequence) / device_seconds);
  const auto share = [&](sim::FlopsConvention convention) {
    return StepFlops(job, plan, convention) / device_seconds / peak_flops;
  };
  Number(json, "mfu", share(sim::FlopsConvention::kModel));
  Number(json, "mfu_causal", share(sim::FlopsConvention::kModelCausal));
  Number(json, "hfu", share(sim::FlopsConvention::kHardware));
}

}  // namespace

std::string EstimateLine(const sim::PlanRequest& request, const sim::HardwareProfile* hardware) {
  const TrainingJob& job = request.job;
  const sim::JobFacts facts = FactsOf(job);
  JsonWriter json;
  json.BeginObject(true);
  json.Key("plan");
  json.Text(PlanText(request.plan));
  json.Key("parameters");
  json.Integer(facts.parameters.Sum());
  json.Key("active_parameters");
  json.Integer(ActiveParameters(job.model));
  using enum sim::FlopsConvention;
  for (const auto& [name, convention] :
       {std::pair<std::string_view, sim::FlopsConvention>{"model_flops", kModel},
        {"model_flops_causal", kModelCausal},
        {"hardware_flops", kHardware}}) {
    Number(json, name, StepFlops(job, request.plan, convention));
  }
  Memory(json, job, facts, request.plan);
  if (hardware != nullptr) {
    const double peak = PeakFlops(*hardware, strategies::DType::kBFloat16);
    Time(json, job, request.plan, TimeOf(job, facts, *hardware, request.plan), peak);
    Bytes(json, "context_bytes", static_cast<double>(hardware->context_bytes));
    Bytes(json, "communicator_bytes", static_cast<double>(hardware->communicator_bytes));
    Bytes(json, "usable_bytes", static_cast<double>(hardware->usable_bytes));
  }
  json.EndObject();
  std::string text = std::move(json).Take();
  text.pop_back();
  return text;
}

}  // namespace drydock::reports
