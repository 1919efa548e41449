// Plans as values: what makes one possible, and how it is written.
#include "sim/planning/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
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

/// Why a plan cannot be: `part` does not divide `whole`, or the devices are not those of the job.
struct Violation {
  std::int64_t whole = 0;
  std::int64_t part = 0;
  std::string_view what = {};
  std::string_view parts = {};  ///< Empty: `what` is the whole sentence.
  std::string_view hint = {};
};

/// The first rule that the plan breaks. Asked of every plan of a search: makes no text.
std::optional<Violation> FirstViolation(const TrainingJob& job, const Plan& plan) {
  const ModelShape& model = job.model;
  const std::int64_t parts = plan.pipeline * plan.interleave;
  const std::int64_t at_once = plan.data * plan.micro_batch;
  const std::int64_t stage_devices = plan.data * plan.context * plan.tensor;
  const std::int64_t sequence_cuts = plan.context * (plan.sequence_parallel ? plan.tensor : 1);
  const auto uneven = [](std::int64_t whole, std::int64_t part) { return whole % part != 0; };
  if (plan.Devices() != job.devices) {
    return Violation{.whole = job.devices, .part = plan.Devices(), .what = "devices"};
  }
  if (uneven(model.heads, plan.tensor)) {
    return Violation{model.heads, plan.tensor, "attention heads", "tensor parts"};
  }
  if (uneven(model.kv_heads, plan.tensor) && uneven(plan.tensor, model.kv_heads)) {
    return Violation{model.kv_heads, plan.tensor, "key-value heads", "tensor parts"};
  }
  if (job.storage.cut_weights && plan.tensor > model.kv_heads && model.latent.key_rank == 0) {
    // Elsewhere each key-value head is kept by several ranks.
    return Violation{model.kv_heads, plan.tensor, "key-value heads", "tensor parts"};
  }
  if (uneven(job.sequence, sequence_cuts)) {
    return Violation{job.sequence, sequence_cuts, "tokens", "parts of the sequence"};
  }
  if (uneven(job.global_batch, at_once)) {
    return Violation{job.global_batch, at_once, "samples", "samples at once"};
  }
  if (parts > model.layers) {
    return Violation{model.layers, parts, "layers", "parts of the model"};
  }
  if (plan.interleave > 1 && plan.pipeline == 1) {
    return Violation{.what = "parts of a stage take turns, but there is one stage",
                     .hint = "leave vpp out"};
  }
  if (plan.interleave > 1 && uneven(MicroBatches(job, plan), plan.pipeline)) {
    return Violation{MicroBatches(job, plan), plan.pipeline, "micro batches",
                     "stages with interleaved parts"};
  }
  if (plan.expert > 1 && model.experts.count == 0) {
    return Violation{.what = "the model has no experts to cut", .hint = "leave ep out"};
  }
  if (uneven(model.experts.count, plan.expert)) {
    return Violation{model.experts.count, plan.expert, "experts", "expert parts"};
  }
  if (model.experts.count > 0 &&
      uneven(job.sequence * plan.micro_batch, plan.context * plan.tensor)) {
    return Violation{job.sequence * plan.micro_batch, plan.context * plan.tensor,
                     "tokens of a micro batch", "parts that go to experts"};
  }
  if (uneven(stage_devices, plan.expert)) {
    return Violation{stage_devices, plan.expert, "devices of a stage", "expert parts"};
  }
  return std::nullopt;
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

bool IsPossible(const TrainingJob& job, const Plan& plan) {
  return !FirstViolation(job, plan);
}

Status CheckPlan(const TrainingJob& job, const Plan& plan) {
  const std::optional<Violation> broken = FirstViolation(job, plan);
  if (!broken) {
    return {};
  }
  const std::string what(broken->what);
  if (what == "devices") {
    return FailInput("Plan:devices",
                     "the plan takes " + std::to_string(broken->part) + " devices, the job has " +
                         std::to_string(broken->whole),
                     "dp * tp * pp * cp has to be " + std::to_string(broken->whole));
  }
  if (broken->parts.empty()) {
    return FailInput("Plan:contradiction", what, std::string(broken->hint));
  }
  const std::string parts(broken->parts);
  return FailInput("Plan:not-divisible",
                   std::to_string(broken->whole) + " " + what + " cannot be divided by " +
                       std::to_string(broken->part) + " " + parts,
                   "use " + parts + " that divide " + std::to_string(broken->whole));
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

Result<Plan> ParsePlan(std::string_view text, Plan plan) {
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(text.find_first_of(" ,", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t digits = word.find_first_of("0123456789");
    if (digits != std::string_view::npos && !seen.insert(word.substr(0, digits)).second) {
      return FailInput("Plan:contradiction",
                       "'" + std::string(word.substr(0, digits)) + "' is written twice",
                       "write each part of a plan once");
    }
    if (!ReadSwitch(word, plan) && !ReadAxis(word, plan)) {
      return UnknownWord(word);
    }
    text.remove_prefix(end);
  }
  double devices = 1;
  for (const std::int64_t cut : {plan.data, plan.tensor, plan.pipeline, plan.context}) {
    devices *= static_cast<double>(std::max<std::int64_t>(cut, 1));
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
