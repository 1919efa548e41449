#pragma once

#include <string>

#include "base/result.h"
#include "strategies/document/json_reader.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// The "job" section of a graph document; fields that are absent or null keep the value of `base`,
/// except that `fully_use_devices: null` unsets it.
/// @error kInvalidArgument  unknown field, wrong type, unknown mode; with place
[[nodiscard]] Result<JobConfig> ReadJsonJob(JsonView value, const JobConfig& base);

/// Appends the whole section, every field, in a fixed order.
void AppendJsonJob(std::string& out, const JobConfig& job);

}  // namespace drydock::strategies
