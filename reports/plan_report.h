#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/planning/memory_model.h"
#include "sim/planning/plan_search.h"
#include "sim/planning/time_model.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::reports {

/// What compiling a plan for all of its ranks found out.
struct FullRun {
  std::int64_t peak_bytes = 0;     ///< Of the fullest rank, without fragments.
  std::int64_t actual_bytes = 0;   ///< With fragments.
  double step_seconds = 0;         ///< Of the simulated step; 0: not simulated.
  std::int64_t collectives = 0;    ///< That were compared between the members of all groups.
  std::int64_t micro_batches = 0;  ///< Of the longest step that was compiled.
  bool fits = false;               ///< With fragments, into what a device has.
  std::string problem = {};        ///< Why there is no figure; empty if there is.
};

/// One plan of the answer: the closed forms beside the full run.
struct PlannedRow {
  sim::PlanFigures figures = {};
  std::optional<FullRun> full = {};
};

/// The answer of `drydock plan`.
struct PlanReport {
  sim::TrainingJob job = {};
  std::string hardware = {};
  double limit_bytes = 0;
  std::int64_t possible = 0;
  std::int64_t fitting = 0;
  std::int64_t wanted = 0;      ///< Plans that were to be found.
  double plans_per_second = 0;  ///< Of this run; in the text only.
  std::vector<PlannedRow> best = {};
  std::vector<sim::PlanFigures> front = {};
};

/// For people: what was asked, the table of the best plans, the front, settings of the first plan.
[[nodiscard]] std::string PlanText(const PlanReport& report);

/// For programs: schema drydock.plan/1. Holds no times of this machine.
[[nodiscard]] std::string PlanJson(const PlanReport& report);

/// Why a plan is slow or does not fit: its parts of memory on every kind of stage against the
/// limit, its parts of the step, longest first, and what limits it.
[[nodiscard]] std::string ExplainText(const sim::TrainingJob& job,
                                      const sim::HardwareProfile& hardware, double limit_bytes,
                                      const sim::Plan& plan);

}  // namespace drydock::reports
