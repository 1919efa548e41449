#include "tests/proof/proof_step.h"

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/op_entry.h"
#include "tests/proof/step_builder.h"
#include "tests/strategies/graph_text.h"
#include "tests/strategies/random_strategy.h"

namespace drydock::strategies::proof {
namespace {

constexpr std::int64_t kWorlds[] = {2, 3, 4, 6, 8, 12};

/// Seeds next to each other must not give programs that resemble each other.
std::uint64_t Mixed(std::string_view op, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const char c : op) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 31U);
}

}  // namespace

Result<ProofProgram> MakeProofProgram(const ProofEntry& entry, std::uint64_t seed) {
  Draw draw(entry.op, Mixed(entry.op, seed));
  ProofProgram program{.op = std::string(entry.op), .seed = seed, .one = entry.generator(draw)};
  // Every world in turn: six seeds in a row try all.
  StepBuilder builder(program, kWorlds[seed % std::size(kWorlds)], draw);
  DRYDOCK_RETURN_IF_ERROR(std::move(builder).Build());
  return program;
}

std::string Describe(const ProofProgram& program) {
  return "repeat: DRYDOCK_SEED=" + std::to_string(program.seed) +
         " DRYDOCK_PROGRAMS=1 proof_test --gtest_filter='*/" + program.op + "'\n" + program.how +
         "\n" + GraphText(program.step.graph);
}

}  // namespace drydock::strategies::proof
