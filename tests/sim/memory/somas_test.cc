#include "sim/memory/somas.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/memory/vectors.h"

namespace drydock::sim {
namespace {

using nlohmann::json;

/// Two tensors may share iff their closed intervals are disjoint and neither is lifelong.
SomasProblem ProblemOf(const json& vector_case) {
  SomasProblem problem;
  const json& tensors = vector_case.at("tensors");
  for (const json& tensor : tensors) {
    problem.tensors.push_back(SomasTensor{.bytes = tensor.at("size"),
                                          .lifelong = tensor.value("lifelong", false),
                                          .graph_output = tensor.value("graph_output", false),
                                          .reusable_peak_bytes = tensor.at("can_reuse_peak_mem")});
  }
  const std::size_t count = tensors.size();
  problem.may_share.assign(count, std::vector<bool>(count, false));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      const bool disjoint = tensors[a].at("live").at(1) < tensors[b].at("live").at(0) ||
                            tensors[b].at("live").at(1) < tensors[a].at("live").at(0);
      problem.may_share[a][b] =
          disjoint && !problem.tensors[a].lifelong && !problem.tensors[b].lifelong;
    }
  }
  problem.contiguous = vector_case.at("contiguous").get<std::vector<std::vector<std::int32_t>>>();
  return problem;
}

std::string NameOf(const SomasSolution& solution) {
  return std::string(solution.algorithm == SomasAlgorithm::kManyObjects ? "many_objects"
                                                                        : "single_object") +
         (solution.order == SomasOrder::kSize ? " size" : " peak_reuse") +
         (solution.fit == SomasFit::kBest ? " best" : " smallest");
}

TEST(SomasVectors, EveryRecordedRunIsReproduced) {
  const json vectors = ReadVectors("somas.json");
  ASSERT_TRUE(vectors.is_object());
  ASSERT_FALSE(vectors.at("cases").empty());
  for (const json& vector_case : vectors.at("cases")) {
    SCOPED_TRACE(vector_case.at("name").get<std::string>());
    const auto plan = SolveSomas(ProblemOf(vector_case));
    ASSERT_TRUE(plan.has_value());
    const json& expected = vector_case.at("solutions");
    ASSERT_EQ(plan->solutions.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string name = expected[i].at("algorithm").get<std::string>() + " " +
                               expected[i].at("order").get<std::string>() + " " +
                               expected[i].at("fit").get<std::string>();
      ASSERT_EQ(NameOf(plan->solutions[i]), name);
      EXPECT_EQ(plan->solutions[i].total_bytes, expected[i].at("total")) << name;
      EXPECT_EQ(json(plan->solutions[i].offsets), expected[i].at("offsets")) << name;
    }
    EXPECT_EQ(plan->chosen, vector_case.at("chosen"));
  }
}

/// P and Q are graph outputs that exclude each other; R may share with both.
SomasProblem ThreeTensors(std::int64_t p_mib, std::int64_t q_mib, std::int64_t r_mib) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  return SomasProblem{
      .tensors = {{.bytes = p_mib * kMebibyte, .graph_output = true},
                  {.bytes = q_mib * kMebibyte, .graph_output = true},
                  {.bytes = r_mib * kMebibyte}},
      .may_share = {{false, false, true}, {false, false, true}, {true, true, false}}};
}

// Shelves: P [0, p), Q [p, p + q), and R fits neither: total p + q + r. One address space: R lies
// over P and Q from 0 on: total max(p + q, r).
TEST(SolveSomas, OneAddressSpaceWinsByMoreThanAHundredMebibytes) {
  const auto plan = SolveSomas(ThreeTensors(150, 140, 280));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->solutions[0].total_bytes, std::int64_t{570} << 20);
  EXPECT_EQ(plan->solutions[4].total_bytes, std::int64_t{290} << 20);
  EXPECT_EQ(plan->chosen, 4U);
}

TEST(SolveSomas, OneAddressSpaceLosesByExactlyAHundredMebibytes) {
  const auto plan = SolveSomas(ThreeTensors(60, 55, 100));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->solutions[0].total_bytes, std::int64_t{215} << 20);
  EXPECT_EQ(plan->solutions[4].total_bytes, std::int64_t{115} << 20);
  EXPECT_EQ(plan->chosen, 0U);
}

TEST(SolveSomas, BrokenProblemsAreRefused) {
  EXPECT_FALSE(SolveSomas({.tensors = {{.bytes = 1}}}).has_value());
  EXPECT_FALSE(SolveSomas({.tensors = {{.bytes = -1}}, .may_share = {{false}}}).has_value());
  EXPECT_FALSE(SolveSomas({.tensors = {{.bytes = 1}}, .may_share = {{false}}, .contiguous = {{1}}})
                   .has_value());
  EXPECT_FALSE(
      SolveSomas({.tensors = {{.bytes = 1}}, .may_share = {{false}}, .contiguous = {{0, 0}}})
          .has_value());
}

}  // namespace
}  // namespace drydock::sim
