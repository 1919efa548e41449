#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// @error kInvalidArgument  there is nothing to compile
[[nodiscard]] Status CheckNotEmpty(const Graph& graph);

/// For modes that cut operators: empty inputs cannot be cut.
/// @error kInvalidArgument  an input without elements; has the place of its first reader
[[nodiscard]] Status CheckInputs(const Graph& graph);

/// Documents may hold operators outside the table; all that is known of them is what they return.
void CountUnknown(const Graph& graph, std::vector<Diagnostic>& diagnostics);

/// What a recomputed cell does to parameters, which is not done a second time.
void NoteRecomputedEffects(const Graph& graph, std::vector<Diagnostic>& diagnostics);

/// Trained parameters that no stage of a pipeline owns.
/// @param owners  as OwnersOf says
void NoteOwnerless(const Graph& graph, const std::vector<std::int32_t>& owners,
                   std::vector<Diagnostic>& diagnostics);

}  // namespace drydock::strategies
