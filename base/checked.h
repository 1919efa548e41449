#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace drydock {

/// Product of two numbers. @error kInvalidArgument  it does not fit 64 bits
[[nodiscard]] Result<std::int64_t> MulChecked(std::int64_t a, std::int64_t b);

/// Sum of two numbers. @error kInvalidArgument  it does not fit 64 bits
[[nodiscard]] Result<std::int64_t> AddChecked(std::int64_t a, std::int64_t b);

/// Product of all values, 1 if there are none. @error kInvalidArgument  it does not fit 64 bits
[[nodiscard]] Result<std::int64_t> ProductChecked(std::span<const std::int64_t> values);

/// `value` times `times` over `over` (> 0), rounded up, none of them negative; the largest number
/// if it does not fit 64 bits.
[[nodiscard]] std::int64_t ScaledUp(std::int64_t value, std::int64_t times, std::int64_t over);

/// Sum of two numbers that are not negative; the largest number if it does not fit 64 bits.
[[nodiscard]] std::int64_t AddSaturated(std::int64_t a, std::int64_t b);

/// Product of values already known to be small (validated shapes, device matrices).
[[nodiscard]] std::int64_t Product(std::span<const std::int64_t> values);

}  // namespace drydock
