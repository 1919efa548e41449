// Plans as values: what makes one possible, and how it is written.
#include "sim/planning/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace drydock::sim {
namespace {

constexpr std::array<std::pair<std::string_view, Recompute>, 4> kRecomputes = {
    {{"none", Recompute::kNone},
     {"selective", Recompute::kSelective},
     {"products", Recompute::kProducts},
     {"full", Recompute::kFull}}};

/// The numbers of a plan, as they are written.
struct Axis {
  std::string_view name;
  std::int64_t Plan::*member;
  std::int64_t absent;
};
constexpr std::array<Axis, 8> kAxes = {{{"dp", &Plan::data, 1},
                                        {"tp", &Plan::tensor, 1},
                                        {"pp", &Plan::pipeline, 1},
                                        {"vpp", &Plan::interleave, 1},
                                        {"cp", &Plan::context, 1},
                                        {"ep", &Plan::expert, 1},
                                        {"mb", &Plan::micro_batch, 0},
                                        {"op", &Plan::optimizer_level, 0}}};

Status Divides(std::int64_t whole, std::string_view what, std::int64_t part,
               std::string_view parts) {
  if (part >= 1 && whole % part == 0) {
    return {};
  }
  return FailInput("Plan:not-divisible",
                   std::to_string(whole) + " " + std::string(what) + " cannot be divided by " +
                       std::to_string(part) + " " + std::string(parts),
                   "use " + std::string(parts) + " that divide " + std::to_string(whole));
}

tl::unexpected<Error> UnknownWord(std::string_view word) {
  return FailInput("Plan:unreadable", "'" + std::string(word) + "' is not part of a plan",
                   "write a plan as \"dp8 tp8 pp16 vpp2 cp2 ep4 sp op1 mb1 selective\"");
}

bool ReadSwitch(std::string_view word, Plan& plan) {
  for (const auto& [name, recompute] : kRecomputes) {
    if (word == name) {
      plan.recompute = recompute;
      return true;
    }
  }
  plan.sequence_parallel = plan.sequence_parallel || word == "sp";
  return word == "sp";
}

bool ReadAxis(std::string_view word, Plan& plan) {
  for (const Axis& axis : kAxes) {
    if (!word.starts_with(axis.name)) {
      continue;
    }
    std::int64_t value = -1;
    const char* const end = word.data() + word.size();
    const auto [last, code] = std::from_chars(word.data() + axis.name.size(), end, value);
    if (code == std::errc() && last == end && value >= axis.absent && value <= (1 << 24)) {
      plan.*axis.member = value;
      return true;
    }
  }
  return false;
}

}  // namespace

std::int64_t MicroBatches(const TrainingJob& job, const Plan& plan) {
  const std::int64_t at_once = plan.data * plan.micro_batch;
  return at_once < 1 || job.global_batch % at_once != 0 ? 0 : job.global_batch / at_once;
}

Status CheckPlan(const TrainingJob& job, const Plan& plan) {
  const ModelShape& model = job.model;
  if (plan.Devices() != job.devices) {
    return FailInput("Plan:devices",
                     "the plan takes " + std::to_string(plan.Devices()) + " devices, the job has " +
                         std::to_string(job.devices),
                     "dp * tp * pp * cp has to be " + std::to_string(job.devices));
  }
  DRYDOCK_RETURN_IF_ERROR(Divides(model.heads, "attention heads", plan.tensor, "tensor parts"));
  if (model.kv_heads % plan.tensor != 0 && plan.tensor % model.kv_heads != 0) {
    return Divides(model.kv_heads, "key-value heads", plan.tensor, "tensor parts");
  }
  DRYDOCK_RETURN_IF_ERROR(Divides(job.sequence, "tokens",
                                  plan.context * (plan.sequence_parallel ? plan.tensor : 1),
                                  "parts of the sequence"));
  DRYDOCK_RETURN_IF_ERROR(
      Divides(job.global_batch, "samples", plan.data * plan.micro_batch, "samples at once"));
  if (plan.pipeline * plan.interleave > model.layers) {
    return Divides(model.layers, "layers", plan.pipeline * plan.interleave, "parts of the model");
  }
  if (plan.interleave > 1 && MicroBatches(job, plan) % plan.pipeline != 0) {
    return Divides(MicroBatches(job, plan), "micro batches", plan.pipeline,
                   "stages with interleaved parts");
  }
  if (plan.expert > 1) {
    if (model.experts.count == 0) {
      return FailInput("Plan:no-experts", "the model has no experts to cut", "leave ep out");
    }
    DRYDOCK_RETURN_IF_ERROR(Divides(model.experts.count, "experts", plan.expert, "expert parts"));
    DRYDOCK_RETURN_IF_ERROR(Divides(plan.data * plan.context * plan.tensor, "devices of a stage",
                                    plan.expert, "expert parts"));
  }
  return {};
}

std::string PlanText(const Plan& plan) {
  std::string text;
  for (const Axis& axis : kAxes) {
    const bool always = axis.member == &Plan::data || axis.member == &Plan::tensor ||
                        axis.member == &Plan::pipeline || axis.member == &Plan::micro_batch;
    if (always || plan.*axis.member != axis.absent) {
      text +=
          (text.empty() ? "" : " ") + std::string(axis.name) + std::to_string(plan.*axis.member);
    }
  }
  text += plan.sequence_parallel ? " sp" : "";
  return text + (plan.recompute == Recompute::kNone
                     ? ""
                     : " " + std::string(RecomputeName(plan.recompute)));
}

Result<Plan> ParsePlan(std::string_view text) {
  Plan plan;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(text.find_first_of(" ,", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!ReadSwitch(word, plan) && !ReadAxis(word, plan)) {
      return UnknownWord(word);
    }
    text.remove_prefix(end);
  }
  double devices = 1;
  for (const std::int64_t cut : {plan.data, plan.tensor, plan.pipeline, plan.context}) {
    devices *= static_cast<double>(cut);
  }
  if (devices > 1e9) {
    return FailInput("Plan:devices", "the plan takes more than 10^9 devices", "cut less");
  }
  return plan;
}

std::string_view RecomputeName(Recompute recompute) {
  for (const auto& [name, value] : kRecomputes) {
    if (value == recompute) {
      return name;
    }
  }
  return "none";
}

}  // namespace drydock::sim
