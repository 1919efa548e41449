#include "strategies/passes/localize/redistribute.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

/// Redistributions as nodes: what kernels cannot take is said to be our limit, not the user's
/// mistake.
namespace drydock::strategies {
namespace {

/// A Reshape to `dimensions` dimensions of extent 1, of a tensor of one element.
Result<ValueId> EmitReshape(std::size_t dimensions) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {1}});
  const std::vector<RedistributionOp> chain = {
      {.kind = RedistributionOp::Kind::kReshape, .output_shape = Shape(dimensions, 1)}};
  return EmitRedistribution(builder, x, chain, {.reason_text = "Reshape-op0"}, {});
}

TEST(EmitRedistribution, KernelsTakeEightDimensions) {
  EXPECT_TRUE(EmitReshape(8).has_value());
  const Result<ValueId> deeper = EmitReshape(9);
  ASSERT_FALSE(deeper.has_value());
  EXPECT_EQ(deeper.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(deeper.error().message.find("9 dimensions"), std::string::npos);
}

}  // namespace
}  // namespace drydock::strategies
