// One operator with any operands, attributes and strategies: a program or an error, never a crash.
// Run: strategy_fuzz tests/fuzz/corpus/strategy

#include "tests/fuzz/strategy_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  drydock::strategies::TryStrategyBytes({data, size});
  return 0;
}
