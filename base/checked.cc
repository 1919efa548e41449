#include "base/checked.h"

#include <limits>
#include <string>

namespace drydock {
namespace {

/// Holds the product of any two 64-bit numbers.
__extension__ using Wide = __int128;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

}  // namespace

Result<std::int64_t> MulChecked(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return Fail(ErrorCode::kInvalidArgument, "the product of " + std::to_string(a) + " and " +
                                                 std::to_string(b) + " does not fit 64 bits");
  }
  return product;
}

Result<std::int64_t> AddChecked(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return Fail(ErrorCode::kInvalidArgument, "the sum of " + std::to_string(a) + " and " +
                                                 std::to_string(b) + " does not fit 64 bits");
  }
  return sum;
}

Result<std::int64_t> ProductChecked(std::span<const std::int64_t> values) {
  std::int64_t product = 1;
  for (const std::int64_t value : values) {
    DRYDOCK_TRY(product, MulChecked(product, value));
  }
  return product;
}

std::int64_t ScaledUp(std::int64_t value, std::int64_t times, std::int64_t over) {
  const Wide scaled = (Wide{value} * times + (over - 1)) / over;
  return scaled > kLargest ? kLargest : static_cast<std::int64_t>(scaled);
}

std::int64_t AddSaturated(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kLargest : sum;
}

std::int64_t Product(std::span<const std::int64_t> values) {
  std::int64_t product = 1;
  for (const std::int64_t value : values) {
    product *= value;
  }
  return product;
}

}  // namespace drydock
