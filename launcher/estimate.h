#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::launcher {

/// Answers requests to the closed forms, reading each hardware profile once.
class Estimator {
 public:
  /// One line of JSON for one request. @param place  "jobs.jsonl:3", for messages
  /// @error kInvalidArgument, kUnsupported, USAGE  as ReadPlanRequest and LoadHardware
  [[nodiscard]] Result<std::string> Answer(std::string_view request_text, const std::string& place);

 private:
  std::map<std::string, sim::HardwareProfile, std::less<>> profiles_ = {};
};

}  // namespace drydock::launcher
