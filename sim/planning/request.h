#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/planning/plan.h"

namespace drydock::sim {

/// A question to the closed forms: one job under one plan on one kind of device.
struct PlanRequest {
  TrainingJob job = {};
  Plan plan = {};
  std::string hardware = {};  ///< Name or file of a profile; empty: memory only.
};

/// A request from its JSON text, as `drydock sweep` takes one in each line:
///
///     {"model": {"model_type": "llama", ...}, "sequence": 4096, "batch": 512, "devices": 64,
///      "plan": "dp8 tp8 mb1 op1 full", "hardware": "910B"}
///
/// docs/planning.md lists what else may stand there.
/// @param place  "jobs.jsonl:3", for messages
/// @error kInvalidArgument, kUnsupported  as ReadModel and CheckPlan
[[nodiscard]] Result<PlanRequest> ReadPlanRequest(std::string_view text, const std::string& place);

/// "fp16", "bf16", "fp32", "mindspore-fp32", "mindspore-fp16", "zero", "megatron-bf16", ...: what a
/// weight costs. @error kInvalidArgument  no such scheme; which there are
[[nodiscard]] Result<Storage> StorageNamed(std::string_view name);

/// What does not fit together between a job and the devices it is for, or else nothing.
/// @error kInvalidArgument
[[nodiscard]] Status CheckJob(const TrainingJob& job);

}  // namespace drydock::sim
