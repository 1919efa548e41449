#pragma once

#include <string_view>

#include "base/result.h"

namespace drydock::strategies {

/// True for a line of one of MindSpore's wrapper cells (TrainOneStepCell, WithLossCell), which the
/// tracer appends to the stacks of a script that asks for dumps: no line of the user's. Its column
/// is one more than the number of the script's lines that lie inside of it.
[[nodiscard]] inline bool IsWrapperLine(const SourcePlace& place) {
  constexpr std::string_view kFolder = "mindspore/nn/wrap/";
  return std::string_view(place.file).substr(0, kFolder.size()) == kFolder;
}

}  // namespace drydock::strategies
