#pragma once

#include <string_view>

/// What adding up a gradient of one micro batch gives to whoever waits for it: a number that is
/// zero, of the type that the use of the weight has. Shared by the pass that marks uses
/// (localize/mirror.cc, weight_shard.cc) and the operators that add (rules/train/accumulation.cc).
namespace drydock::strategies {

/// Attribute of `_VirtualAssignAdd`: how that number reaches the sum of numbers of all micro
/// batches.
inline constexpr std::string_view kTokenForm = "token_form";
/// Through the derivative of the cast of the weight: a Cast of its own for each micro batch.
inline constexpr std::string_view kTokenCastBack = "cast_back";
/// As it is: the weight is gathered behind its cast.
inline constexpr std::string_view kTokenOfUse = "of_use";

/// Attribute of `_MirrorMicroStepOperator`: where all gradients of the weight in a micro batch are
/// matrix products alike, one product of their joined operands is added instead of each.
inline constexpr std::string_view kJoinsProducts = "joins_products";

}  // namespace drydock::strategies
