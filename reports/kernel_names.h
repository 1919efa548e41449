#pragma once

#include <string>
#include <vector>

#include "strategies/program/local_program.h"

namespace drydock::reports {

/// "MatMul", or "StreamSend" and "StreamRecv" for the ends of an event.
[[nodiscard]] std::string PrimitiveOf(const strategies::LocalProgram& program,
                                      const strategies::Launch& launch);

/// False for kernels of other graphs, such as the gathers of a checkpoint.
[[nodiscard]] bool IsOfStep(const strategies::LocalProgram& program,
                            const strategies::Launch& launch);

/// Full names of `program.kernels.launches`, "<scope>/<kernel>-op<n>"; n counts per scope and
/// kernel.
[[nodiscard]] std::vector<std::string> LaunchNames(const strategies::LocalProgram& program);

}  // namespace drydock::reports
