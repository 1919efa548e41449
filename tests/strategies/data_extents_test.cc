#include "strategies/graph/data_extents.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

namespace drydock::strategies {
namespace {

/// Two rows of each of 8 ranks, and a weight.
class DataExtents : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<std::string> Note(std::string_view message) const {
    return DataExtentNote(message, builder_.graph(), operands_, job_);
  }

  JobConfig job_{.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};
  GraphBuilder builder_ = GraphBuilder("net");
  std::vector<ValueId> operands_ = {
      *builder_.AddInput("x",
                         *GlobalInputType({.shape = {2, 4}, .dtype = DType::kFloat32}, 0, job_)),
      *builder_.AddParameter("w", {.shape = {32, 16}, .dtype = DType::kFloat32}, {})};
};

TEST_F(DataExtents, RowsOfAllRanksAreExplained) {
  // 2 rows of 8 ranks: 16.
  EXPECT_EQ(Note("cannot multiply (16, 4) by (32, 16)"),
            "data of shape (2, 4) on each rank have shape (16, 4) in the network, which "
            "dataset_strategy cuts by (8, 1)");
}

TEST_F(DataExtents, NumbersOfTheScriptAreNot) {
  EXPECT_EQ(Note("dimension 1 of input 0 is 4, dimension 0 of input 1 is 32"), std::nullopt);
  EXPECT_EQ(Note("'ReLU6' takes 160 or 116 of them"), std::nullopt);
}

TEST_F(DataExtents, NorAreDataThatEveryRankHasWhole) {
  job_.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  EXPECT_EQ(Note("cannot multiply (16, 4) by (32, 16)"), std::nullopt);
}

TEST_F(DataExtents, NorOperatorsThatReadNoSuchExtent) {
  operands_ = {*builder_.AddParameter("v", {.shape = {7}, .dtype = DType::kFloat32}, {})};
  EXPECT_EQ(Note("extent 16"), std::nullopt);
}

}  // namespace
}  // namespace drydock::strategies
