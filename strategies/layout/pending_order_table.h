#pragma once

#include <cstdint>
#include <span>

namespace drydock::strategies {

/// Fills `order` with the sequence in which redistribution visits that many dimensions.
///
/// It is the iteration order of the hash map the reference keeps them in; any order gives a correct
/// redistribution, this one gives the same operators. Beyond 24 dimensions: ascending.
/// @param order  at most 255 entries; the dimensions 0 .. size - 1 on return
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/redistribution_operator_infer.cc.
void PendingOrder(std::span<std::uint8_t> order);

}  // namespace drydock::strategies
