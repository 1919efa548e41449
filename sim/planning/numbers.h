#pragma once

#include <cstdint>

namespace drydock::sim {

inline constexpr double kHalfBytes = 2;  ///< Of a 16-bit number.

inline double Real(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace drydock::sim
