#pragma once

#include <vector>

#include "launcher/command.h"
#include "reports/plan_report.h"
#include "sim/planning/plan_search.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::launcher {

/// Compiles the best plans of a search for all their ranks and, for those that do not fit, the next
/// ones, until as many fit as there were best plans or no other can be expected to.
/// @return  those that fit first, the faster before the slower; then those that do not fit, then
///          those without a figure
[[nodiscard]] std::vector<reports::PlannedRow> RunBestPlans(const sim::TrainingJob& job,
                                                            const sim::SearchResult& found,
                                                            const sim::HardwareProfile& hardware,
                                                            double limit_bytes,
                                                            const Context& context,
                                                            std::size_t threads);

}  // namespace drydock::launcher
