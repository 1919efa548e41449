#pragma once

#include <string_view>

namespace drydock::strategies::ops {

// Operators that a listing of a program names where the program itself has no node: what reads a
// parameter, and what takes a rank's part of a constant.
inline constexpr std::string_view kListedRead = "Load";
inline constexpr std::string_view kListedConstant = "_GetTensorSlice";

}  // namespace drydock::strategies::ops
