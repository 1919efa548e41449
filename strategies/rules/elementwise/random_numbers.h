#pragma once

#include <cstdint>

#include "strategies/graph/attr.h"
#include "strategies/operators/op_entry.h"

/// Random numbers of reference evaluations: a function of two seeds and a position, so that equal
/// seeds give equal numbers everywhere. They are not the numbers of any real kernel.
namespace drydock::strategies {

struct Seeds {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

/// Number in [0, 1) at `index`; different `stream`s are independent.
[[nodiscard]] double UniformNumber(const Seeds& seeds, std::uint64_t index,
                                   std::uint64_t stream = 0);

/// Normally distributed number (mean 0, variance 1) at `index`.
[[nodiscard]] double NormalNumber(const Seeds& seeds, std::uint64_t index);

/// Gamma distributed number of shape `alpha` and rate `beta`, both > 0, at `index`.
[[nodiscard]] double GammaNumber(const Seeds& seeds, std::uint64_t index, double alpha,
                                 double beta);

/// Two integer attributes, 0 if absent.
[[nodiscard]] Result<Seeds> SeedsOf(const AttrMap& attrs, std::string_view first,
                                    std::string_view second);

/// One number for both seeds, the same on all ranks and different for every operator of a program.
[[nodiscard]] std::int64_t FreshSeed(const LocalizeContext& context);

}  // namespace drydock::strategies
