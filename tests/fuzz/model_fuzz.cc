// Model descriptions in all three notations, and requests: any text is refused with a message, or
// gives a shape whose weights can be counted and whose plan can be estimated without a number that
// is negative.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/planning/memory_model.h"
#include "sim/planning/read_model.h"
#include "sim/planning/request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drydock::sim;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto shape = ReadModel(text, "model")) {
    const ModelParameters parameters = CountParameters(*shape);
    if (parameters.Sum() <= 0 || ActiveParameters(*shape) > parameters.Sum()) {
      std::abort();
    }
  } else if (shape.error().message.empty()) {
    std::abort();
  }
  if (const auto request = ReadPlanRequest(text, "request")) {
    const PlanMemory memory = MemoryOf(request->job, FactsOf(request->job), request->plan);
    if (!(memory.bytes.Sum() >= 0)) {
      std::abort();
    }
  }
  return 0;
}
