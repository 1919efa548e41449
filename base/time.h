#pragma once

#include <chrono>

namespace drydock {

/// Origin of the time line handed to the core: any fixed instant of a monotonic clock.
struct MonotonicEpoch {};

/// Length of time; microseconds are fine enough for every rule of the protocol.
using Duration = std::chrono::microseconds;

/// Instant on a monotonic time line. The core never reads a clock: shells pass the time in.
using TimePoint = std::chrono::time_point<MonotonicEpoch, Duration>;

/// "Never": later than every other instant.
inline constexpr TimePoint kNever = TimePoint::max();

/// `start + length`, or kNever if that lies beyond the time line.
[[nodiscard]] constexpr TimePoint AddSaturated(TimePoint start, Duration length) {
  return length > kNever - start ? kNever : start + length;
}

}  // namespace drydock
