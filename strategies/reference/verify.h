#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "strategies/program/job_program.h"

namespace drydock::strategies {

/// Ranks and numbers (elements that all ranks hold together) up to which a job is verified.
inline constexpr std::int64_t kMaxVerifiedRanks = 64;
inline constexpr std::int64_t kMaxVerifiedElements = std::int64_t{1} << 25;

/// What running a job on numbers showed.
struct Verification {
  std::int64_t tensors = 0;     ///< Weights, states and results that were compared,
  std::int64_t elements = 0;    ///< and their elements, over all ranks.
  std::string difference = {};  ///< The first one; empty if all are equal.
};

/// Runs one step of a compiled job on all its ranks and, uncut, on one device, with the same
/// numbers, and compares what ranks hold afterwards with the slices of the whole.
///
/// @param uncut  the network of `job`, compiled for one device
/// @error kUnsupported  several networks or stages, too much to run, an operator without reference
///                      execution, numbers that overflow
[[nodiscard]] Result<Verification> VerifyJob(const JobProgram& uncut, const JobProgram& job);

}  // namespace drydock::strategies
