#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proof/proof_case.h"
#include "tests/strategies/sharded_run.h"

/// The engine of the numeric proof: one random program per (operator, seed).
namespace drydock::strategies::proof {

/// A training step around one operator: operands from parameters, the data set or other operators;
/// a loss that weighs every element differently; gradients of every differentiable operand.
struct ProofProgram {
  std::string op = {};
  std::uint64_t seed = 0;
  ProofCase one = {};
  RandomStep step = {};
  std::string how = {};  ///< "strategy ((2, 1), (1, 1)) on 4 ranks", for messages.
  bool cut = false;      ///< The operator itself is cut.
  /// Leaves whose gradients are outputs: outputs[first_gradient + i] belongs to leaves[i].
  struct Leaf {
    bool is_parameter = false;
    std::size_t index = 0;  ///< In StepData::parameters or StepData::inputs.
  };
  std::vector<Leaf> leaves = {};
  std::size_t first_gradient = 0;
  std::size_t loss_output = 0;
  std::vector<std::size_t> per_rank_outputs = {};  ///< See ProofCase::per_rank.
};

/// The program that belongs to a seed. The world is one of 2, 3, 4, 6, 8 and 12 ranks.
/// @error kInternal  the case is not legal for the operator
[[nodiscard]] Result<ProofProgram> MakeProofProgram(const ProofEntry& entry, std::uint64_t seed);

/// What came of a program.
enum class Verdict : std::uint8_t {
  kProven,       ///< All ranks together computed the whole, and the gradients are slopes.
  kUnsupported,  ///< The compiler answers "unsupported": its limit, honestly said.
  kFailed,
};

struct ProofOutcome {
  Verdict verdict = Verdict::kFailed;
  std::string text = {};  ///< Why not proven.
};

/// Compiles and runs the program sharded and whole, compares all values, and some elements of each
/// gradient with central differences of the loss on one device.
[[nodiscard]] ProofOutcome Prove(const ProofProgram& program);

/// What to type to repeat a program, with its graph.
[[nodiscard]] std::string Describe(const ProofProgram& program);

}  // namespace drydock::strategies::proof
