#pragma once

#include <optional>
#include <string_view>

#include "sim/calibration/trace_events.h"
#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// Work of one operator.
struct OperatorWork {
  EfficiencyKind kind = EfficiencyKind::kVector;
  strategies::DType dtype = strategies::DType::kFloat32;
  double flops = 0;  ///< Of products and attention.
  double bytes = 0;  ///< Of the others: read and written.
};

/// What an operator of a trace computes, by its name and the sizes of its operands; nothing where
/// these do not tell.
[[nodiscard]] std::optional<OperatorWork> WorkOf(const TraceEvent& event);

/// A type by the name that a profiler gives it: "c10::BFloat16", "Float", "DT_BF16", "fp16".
[[nodiscard]] std::optional<strategies::DType> TraceTypeNamed(std::string_view name);

}  // namespace drydock::sim
