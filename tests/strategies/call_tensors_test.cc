#include "strategies/passes/schedule/call_tensors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

/// Two constants of one type; four nodes read the first, the second, the first, the second. Two
/// calls of them, 2 to 5 and 6 to 9.
struct Calls {
  Graph local = {};
  KernelGraph graph = {};

  explicit Calls(const TensorType& type) {
    constexpr std::int32_t kConstants = 2;
    constexpr std::int32_t kNodes = 4;
    for (std::int32_t c = 0; c < kConstants; ++c) {
      local.values.push_back({.kind = ValueKind::kConstant, .type = type, .detail = c});
      graph.nodes.push_back({.kind = KernelKind::kConstant, .results = {{.type = type}}});
    }
    for (std::int32_t n = 0; n < kNodes; ++n) {
      local.nodes.push_back({.op = "Mul", .inputs = {ValueId{n % kConstants}}});
    }
    for (std::int32_t k = 0; k < 2 * kNodes; ++k) {
      graph.nodes.push_back(
          {.origin = NodeId{k % kNodes}, .name = "Mul", .inputs = {KernelId{k % kConstants}}});
    }
    CallTensors tensors(graph, local);
    tensors.Split(std::array{KernelId{2}, KernelId{3}, KernelId{4}, KernelId{5}});
    tensors.Split(std::array{KernelId{6}, KernelId{7}, KernelId{8}, KernelId{9}});
  }

  /// What the eight kernels read.
  [[nodiscard]] std::vector<std::int32_t> Read() const {
    std::vector<std::int32_t> read;
    for (std::size_t k = 2; k < 10; ++k) {
      read.push_back(static_cast<std::int32_t>(graph.nodes[k].inputs.front()));
    }
    return read;
  }
};

// The first constant of its type stays one; of the second, each of its two readers has its own
// (the first reader the one that was there, the other a new one, 10), both calls the same.
TEST(CallTensors, OnlyTheFirstOfATypeIsShared) {
  const Calls calls({.shape = {32, 64}, .dtype = DType::kFloat16});
  EXPECT_EQ(calls.Read(), (std::vector<std::int32_t>{0, 1, 0, 10, 0, 1, 0, 10}));
}

TEST(CallTensors, NumbersInHalfPrecisionAreNeverShared) {
  const Calls calls({.dtype = DType::kFloat16});
  EXPECT_EQ(calls.Read(), (std::vector<std::int32_t>{0, 1, 10, 11, 0, 1, 10, 11}));
}

// Whole numbers come from rules and from arguments: one for all.
TEST(CallTensors, WholeNumbersStayShared) {
  const Calls calls({.shape = {8}, .dtype = DType::kInt32});
  EXPECT_EQ(calls.Read(), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace drydock::strategies
