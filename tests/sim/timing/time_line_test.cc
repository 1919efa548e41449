#include "sim/timing/time_line.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "strategies/document/json_codec.h"
#include "strategies/passes/compile_job.h"
#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

HardwareProfile CpuTest() {
  std::ifstream file(SourceDir() + "/sim/timing/hardware/cpu-test.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto profile = ParseHardwareProfile(text, "cpu-test");
  EXPECT_TRUE(profile);
  return profile ? *profile : HardwareProfile{.levels = {{}}};
}

/// z = x w, w cut over two ranks along what is summed, so that z is summed by an AllReduce.
constexpr std::string_view kPartialProduct = R"({
  "schema": "drydock.graph/1",
  "job": {"world_size": 2, "mode": "semi_auto_parallel", "dataset_strategy": "full_batch"},
  "inputs": [{"name": "x", "shape": [1000, 2000], "dtype": "float32"}],
  "parameters": [{"name": "w", "shape": [2000, 500], "dtype": "float32"}],
  "nodes": [{"op": "MatMul", "inputs": ["x", "w"], "strategy": [[1, 2], [2, 1]]}],
  "outputs": ["MatMul0"]
})";

Result<TimeLine> Simulate(std::string_view text, const TimeOptions& options) {
  DRYDOCK_TRY(strategies::GraphDocument document,
              strategies::ReadGraphDocument(text, "net.json", {}));
  DRYDOCK_TRY(const strategies::JobProgram job,
              strategies::CompileJob(strategies::JobOf(std::move(document.graph), document.job),
                                     RankId{0}));
  return SimulateStep(job, options);
}

TEST(TimeLine, AProductAndTheSumBehindItTakeWhatArithmeticSays) {
  const auto line = Simulate(kPartialProduct, {.hardware = CpuTest()});
  ASSERT_TRUE(line) << FormatError(line.error());
  // 1 TFLOP/s: 2 * 1000 * 1000 * 500 operations of each rank take 1 ms; its operands are
  // 4 * (1e6 + 5e5 + 5e5) = 8e6 bytes, 80 us at 100 GB/s. The AllReduce of 2e6 bytes over two ranks
  // of a node: 2 us + 2e6 / 1e10 = 202 us. What else there is (the cut of x) moves data only.
  double product = 0;
  for (const OperatorTime& item : line->operators) {
    if (item.op == "MatMul") {
      product = item.seconds;
      EXPECT_DOUBLE_EQ(item.flops, 1e9);
    }
  }
  EXPECT_DOUBLE_EQ(product, 1e-3);
  ASSERT_EQ(line->transfers.size(), 1U);
  EXPECT_NEAR(line->transfers.front().seconds, 202e-6, 1e-12);
  EXPECT_NEAR(line->transfers.front().exposed_seconds, 202e-6, 1e-12);
  EXPECT_EQ(line->transfers.front().ranks, "0-1");
  EXPECT_DOUBLE_EQ(line->classes.front().level_bytes[0], 2e6);
  EXPECT_EQ(line->samples, 1000);
}

TEST(TimeLine, TheThreePartsAndTheLongestChainSumToTheStep) {
  const auto line = Simulate(kPartialProduct, {.hardware = CpuTest()});
  ASSERT_TRUE(line);
  const ClassTime& time = line->classes.front();
  EXPECT_NEAR(time.busy_seconds + time.exposed_seconds + time.bubble_seconds, line->run.seconds,
              1e-12);
  const double path =
      std::accumulate(line->path.begin(), line->path.end(), 0.0,
                      [](double sum, const PathPart& part) { return sum + part.seconds; });
  EXPECT_NEAR(path, line->run.seconds, 1e-12);
  const MeanTime mean = MeanOf(*line);
  // MFU: 1e9 operations of a device of 1 TFLOP/s in the time of the step.
  EXPECT_NEAR(mean.model_utilisation, 1e-3 / line->run.seconds, 1e-12);
  EXPECT_DOUBLE_EQ(mean.model_utilisation, mean.hardware_utilisation);
}

TEST(TimeLine, ChanceMakesStepsLongerAndIsRepeatable) {
  const auto steady = Simulate(kPartialProduct, {.hardware = CpuTest()});
  const auto once = Simulate(kPartialProduct, {.hardware = CpuTest(), .jitter = 0.05, .seed = 7});
  const auto again = Simulate(kPartialProduct, {.hardware = CpuTest(), .jitter = 0.05, .seed = 7});
  ASSERT_TRUE(steady && once && again);
  EXPECT_GT(once->run.seconds, steady->run.seconds);
  EXPECT_EQ(once->run.seconds, again->run.seconds);
}

}  // namespace
}  // namespace drydock::sim
