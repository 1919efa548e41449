#pragma once

#include <string>
#include <vector>

#include "sim/planning/plan.h"

namespace drydock::reports {

/// A plan as settings of the programs that carry it out, ready to paste.
[[nodiscard]] std::string MindformersYaml(const sim::TrainingJob& job, const sim::Plan& plan);
[[nodiscard]] std::string AutoParallelContext(const sim::TrainingJob& job, const sim::Plan& plan);
[[nodiscard]] std::string MegatronFlags(const sim::TrainingJob& job, const sim::Plan& plan);

/// Arguments of docs/examples/transformer/net.py that describe this job under this plan.
[[nodiscard]] std::vector<std::string> ScriptArguments(const sim::TrainingJob& job,
                                                       const sim::Plan& plan);

}  // namespace drydock::reports
