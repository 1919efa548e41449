#include "tests/strategies/layout/layout_vectors.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/source_dir.h"

namespace drydock::strategies::vectors {

TensorLayout LayoutFrom(const json& device_matrix, const json& tensor_map, const json& shape) {
  TensorLayout layout{.device_matrix = device_matrix.get<Numbers>(), .shape = shape.get<Shape>()};
  for (const json& entry : tensor_map) {
    Numbers axes = entry.is_array() ? entry.get<Numbers>() : Numbers{entry.get<std::int64_t>()};
    if (axes.size() > 1 && axes.back() == -1) {
      layout.trailing_none.push_back(layout.tensor_map.size());
      axes.pop_back();
    } else if (axes == Numbers{-1}) {
      axes.clear();
    }
    layout.tensor_map.push_back(std::move(axes));
  }
  return layout;
}

TensorLayout LayoutFrom(const json& object) {
  return LayoutFrom(object.at("device_matrix"), object.at("tensor_map"), object.at("tensor_shape"));
}

namespace {

/// Kinds that need the operator rules (matrix from a strategy, mirrors, divisors) start so; the
/// tests of strategies/rules read them.
constexpr const char* kOperatorKinds = "op_";

/// Kinds that are not asked here: axes with names and what MindSpore's tools for checkpoints do are
/// the stand-in's (tests/sim/tracer/python/transform_test.py), and a job has equal stages of
/// consecutive ranks, whose groups the other kinds check.
const std::set<std::string> kOtherKinds = {"align_device_num",  "device_matrix_error",
                                           "layout_named_axes", "opt_shard_transform_layout",
                                           "stage_devices",     "transform_needed_ranks"};

json ReadCases() {
  const char* folder =
      std::getenv("DRYDOCK_VECTORS");  // NOLINT(concurrency-mt-unsafe): tests are single-threaded
  const std::string base = folder != nullptr ? folder : SourceDir() + "/tests/vectors";
  std::ifstream file(base + "/layout.json");
  const json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
  return document.is_object() ? document.value("cases", json::array()) : json::array();
}

Checks AllChecks() {
  Checks checks = LayoutChecks();
  checks.merge(RedistributionChecks());
  checks.merge(ParameterChecks());
  return checks;
}

std::vector<std::string> CheckedKinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, check] : AllChecks()) {
    kinds.push_back(kind);
  }
  return kinds;
}

class LayoutVectors : public ::testing::TestWithParam<std::string> {};

TEST_P(LayoutVectors, AllCasesOfTheKindHold) {
  const Check check = AllChecks().at(GetParam());
  std::size_t count = 0;
  for (const json& one : ReadCases()) {
    if (one.at("kind") == GetParam()) {
      SCOPED_TRACE(one.at("id").get<std::string>());
      check(one.at("inputs"), one.at("expected"));
      ++count;
    }
  }
  EXPECT_GT(count, 0U) << "no case of this kind: is the vector file complete?";
}

INSTANTIATE_TEST_SUITE_P(Kinds, LayoutVectors, ::testing::ValuesIn(CheckedKinds()),
                         [](const auto& suite) { return suite.param; });

TEST(LayoutVectorFile, EveryKindIsCheckedSomewhere) {
  const Checks checks = AllChecks();
  const json cases = ReadCases();
  ASSERT_FALSE(cases.empty()) << "tests/vectors/layout.json is missing or unreadable";
  std::set<std::string> unknown;
  for (const json& one : cases) {
    const auto kind = one.at("kind").get<std::string>();
    if (kind.rfind(kOperatorKinds, 0) != 0 && checks.count(kind) + kOtherKinds.count(kind) == 0) {
      unknown.insert(kind);
    }
  }
  EXPECT_EQ(unknown, std::set<std::string>());
}

}  // namespace
}  // namespace drydock::strategies::vectors
