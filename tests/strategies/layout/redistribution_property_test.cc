#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "strategies/layout/redistribution.h"
#include "strategies/layout/redistribution_search.h"
#include "tests/strategies/layout/redistribution_oracle.h"

namespace drydock::strategies::oracle {
namespace {

/// Number from an environment variable, for longer runs by hand.
std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests are single-threaded
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t Seed() {
  return FromEnvironment("DRYDOCK_SEED", 20250705);
}
int Pairs() {
  return static_cast<int>(FromEnvironment("DRYDOCK_PAIRS", 1500));
}

std::vector<RedistributionOp> Infer(const TensorLayout& from, const TensorLayout& to,
                                    const RedistributionOptions& options) {
  const auto ops = InferRedistribution(from, to, options);
  EXPECT_TRUE(ops.has_value()) << FormatError(ops.error());
  return ops.value_or(std::vector<RedistributionOp>());
}

/// Every rank holds exactly its slice of the target afterwards, raw and optimized.
void ExpectMovesData(const Pair& pair, const RedistributionOptions& options) {
  SCOPED_TRACE(TextOf(pair.from) + " -> " + TextOf(pair.to) +
               (options.enable_alltoall ? " with AlltoAll" : ""));
  const Job start = SlicesOfCountingTensor(pair.from);
  const Job expected = SlicesOfCountingTensor(pair.to);
  for (const bool optimize : {false, true}) {
    RedistributionOptions chosen = options;
    chosen.optimize = optimize;
    const Job actual = RunForward(Infer(pair.from, pair.to, chosen), start);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t rank = 0; rank < actual.size(); ++rank) {
      ASSERT_EQ(actual[rank], expected[rank])
          << "rank " << rank << (optimize ? ", optimized" : ", raw");
    }
  }
}

/// Elements of its target that the rank with fewest of them must be sent: no sequence sends less.
std::int64_t GreatestMissing(const Pair& pair) {
  const Job start = SlicesOfCountingTensor(pair.from);
  const Job expected = SlicesOfCountingTensor(pair.to);
  std::ptrdiff_t greatest = 0;
  for (std::size_t rank = 0; rank < start.size(); ++rank) {
    std::vector<std::int64_t> missing;
    std::ranges::set_difference(expected[rank].values, start[rank].values,
                                std::back_inserter(missing));
    greatest = std::max(greatest, std::ssize(missing));
  }
  return greatest;
}

/// The search's sequence ends with the right slices, and sends no more than the reference's.
void ExpectCheapestMovesData(const Pair& pair, bool enable_alltoall) {
  SCOPED_TRACE(TextOf(pair.from) + " -> " + TextOf(pair.to) + ", cheapest");
  const RedistributionOptions options{.enable_alltoall = enable_alltoall};
  RedistributionOptions search = options;
  search.cheapest = true;
  const std::vector<RedistributionOp> ops = Infer(pair.from, pair.to, search);
  ASSERT_EQ(RunForward(ops, SlicesOfCountingTensor(pair.from)), SlicesOfCountingTensor(pair.to));
  ASSERT_LE(SentElements(ops), SentElements(Infer(pair.from, pair.to, options)));
  ASSERT_GE(SentElements(ops), GreatestMissing(pair));
}

template <typename Check>
void ForRandomPairs(int count, Check check) {
  std::mt19937_64 random(Seed());
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(Seed()) + ", pair " + std::to_string(i));
    check(RandomPair(&random), &random);
  }
}

TEST(RedistributionProperty, EveryRankEndsWithItsSlice) {
  ForRandomPairs(Pairs(), [](const Pair& pair, std::mt19937_64* random) {
    const RedistributionOptions options{.enable_alltoall = (*random)() % 3 == 0,
                                        .keep_reshape = (*random)() % 4 == 0};
    ExpectMovesData(pair, options);
  });
}

TEST(RedistributionProperty, CheapestIsRightAndNeverSendsMore) {
  ForRandomPairs(Pairs() / 2, [](const Pair& pair, std::mt19937_64* random) {
    ExpectCheapestMovesData(pair, (*random)() % 2 == 0);
  });
}

TEST(RedistributionProperty, ThereAndBackIsTheIdentity) {
  ForRandomPairs(Pairs() / 5, [](const Pair& pair, std::mt19937_64*) {
    SCOPED_TRACE(TextOf(pair.from) + " -> " + TextOf(pair.to));
    const Job start = SlicesOfCountingTensor(pair.from);
    const Job there = RunForward(Infer(pair.from, pair.to, {}), start);
    ASSERT_EQ(RunForward(Infer(pair.to, pair.from, {}), there), start);
  });
}

TEST(RedistributionProperty, SlicesTileTheTensor) {
  ForRandomPairs(Pairs() / 5, [](const Pair& pair, std::mt19937_64*) {
    SCOPED_TRACE(TextOf(pair.from));
    const TensorLayout& layout = pair.from;
    std::vector<std::int64_t> owners(static_cast<std::size_t>(Product(layout.shape)), 0);
    Tensor whole{.shape = layout.shape, .values = owners};
    std::iota(whole.values.begin(), whole.values.end(), std::int64_t{0});
    const std::int64_t devices = Product(layout.device_matrix);
    for (std::int64_t position = 0; position < devices; ++position) {
      const Tensor slice = OwnedSlice(whole, layout, position);
      // The library's ranges begin where the oracle's slice begins: compare first elements.
      std::int64_t first = 0;
      const auto ranges = SliceOf(layout, position);
      for (std::size_t d = 0; d < ranges.size(); ++d) {
        ASSERT_EQ(ranges[d].end - ranges[d].begin, slice.shape[d]);
        first = first * layout.shape[d] + ranges[d].begin;
      }
      ASSERT_EQ(slice.values.at(0), first);
      for (const std::int64_t element : slice.values) {
        ++owners[static_cast<std::size_t>(element)];
      }
    }
    const std::int64_t copies = devices / Product(CutsOf(layout));
    ASSERT_EQ(owners, std::vector<std::int64_t>(owners.size(), copies));
    ASSERT_EQ(GroupSize(ReplicaPattern(layout)), copies);
  });
}

std::int64_t InnerProduct(const Job& a, const Job& b) {
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    sum = std::inner_product(a[rank].values.begin(), a[rank].values.end(), b[rank].values.begin(),
                             sum);
  }
  return sum;
}

Job WithRandomValues(Job job, std::mt19937_64* random) {
  for (Tensor& tensor : job) {
    for (std::int64_t& value : tensor.values) {
      value = static_cast<std::int64_t>((*random)() % 201) - 100;
    }
  }
  return job;
}

TEST(RedistributionProperty, BackwardIsTheAdjointOfForward) {
  // For a linear map F with adjoint B: <y, F x> = <B y, x> for all x, y. Inputs of replicas differ
  // here, so F is the map of all ranks' tensors, not of one global tensor.
  ForRandomPairs(Pairs() / 3, [](const Pair& pair, std::mt19937_64* random) {
    SCOPED_TRACE(TextOf(pair.from) + " -> " + TextOf(pair.to));
    const auto ops = Infer(pair.from, pair.to, {.enable_alltoall = (*random)() % 3 == 0});
    const Job x = WithRandomValues(SlicesOfCountingTensor(pair.from), random);
    const Job y = WithRandomValues(SlicesOfCountingTensor(pair.to), random);
    ASSERT_EQ(InnerProduct(y, RunForward(ops, x)), InnerProduct(RunBackward(ops, y), x));
  });
}

/// All pairs of layouts of one number of devices, elements of the tensor up to the same limit.
void ExpectAllPairsMoveData(const std::vector<TensorLayout>& layouts, bool enable_alltoall) {
  for (const TensorLayout& from : layouts) {
    for (const TensorLayout& to : layouts) {
      ExpectMovesData({.from = from, .to = to}, {.enable_alltoall = enable_alltoall});
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

TEST(RedistributionExhaustive, AllMapsOfThreeAxesOnThreeDimensions) {
  const auto layouts = AllLayouts({2, 2, 2}, {2, 2, 2});
  // Maps of 3 dimensions to 3 axes or none, no axis twice: sum over k of C(3,k)^2 k! = 34.
  ASSERT_EQ(layouts.size(), 34U);
  ExpectAllPairsMoveData(layouts, false);
  ExpectAllPairsMoveData(layouts, true);
}

TEST(RedistributionExhaustive, CheapestOfAllMapsOfThreeAxes) {
  for (const TensorLayout& from : AllLayouts({2, 2, 2}, {2, 2, 2})) {
    for (const TensorLayout& to : AllLayouts({2, 2, 2}, {2, 2, 2})) {
      ExpectCheapestMovesData({.from = from, .to = to}, true);
    }
  }
}

TEST(RedistributionExhaustive, CheapestOfAllMapsOfTwoAxesOnFourDimensions) {
  const auto layouts = AllLayouts({2, 4}, {8, 4, 4, 8});
  // No axis on any dimension: 1; one: 4 + 4; both on different ones: 4 * 3.
  ASSERT_EQ(layouts.size(), 21U);
  for (const TensorLayout& from : layouts) {
    for (const TensorLayout& to : layouts) {
      ExpectCheapestMovesData({.from = from, .to = to}, true);
    }
  }
}

TEST(CheapestRedistribution, ThreeAxesThatCrossAreOneExchange) {
  const std::vector<std::int64_t> from_map = {2, 1, 0, -1, -1, -1};
  const std::vector<std::int64_t> to_map = {-1, -1, -1, 0, 2, 1};
  const Shape shape = {4, 4, 4, 4, 4, 4};
  const Pair pair{.from = MakeLayout({2, 2, 2}, from_map, shape),
                  .to = MakeLayout({2, 2, 2}, to_map, shape)};
  ExpectCheapestMovesData(pair, true);
  // 8 ranks hold 4^6 / 8 = 512 elements and keep an eighth.
  EXPECT_EQ(SentElements(Infer(pair.from, pair.to, {.cheapest = true})), 448);
}

struct Family {
  std::int64_t devices = 0;
  std::size_t layouts = 0;
};
void PrintTo(const Family& family, std::ostream* out) {
  *out << family.devices << " devices";
}

class RedistributionPowersOfTwo : public ::testing::TestWithParam<Family> {};

TEST_P(RedistributionPowersOfTwo, AllPairsOfLayoutsOfEightElements) {
  std::vector<TensorLayout> layouts;
  for (const auto& matrix : Factorizations(GetParam().devices)) {
    for (const auto& shape : Factorizations(8)) {
      const auto more = AllLayouts(matrix, shape);
      layouts.insert(layouts.end(), more.begin(), more.end());
    }
  }
  ASSERT_EQ(layouts.size(), GetParam().layouts);
  ExpectAllPairsMoveData(layouts, false);
}

// Maps on shapes (8), (2,4), (4,2), (2,2,2):
// D {2}: 2 + 3 + 3 + 4 = 12
// D {4}: 2 + 2 + 2 + 1 = 7;  D {2,2}: 3 + 7 + 7 + 13 = 30
// D {8}: 2 + 1 + 1 + 1 = 5;  D {2,4} and {4,2}: 3 + 5 + 5 + 4 = 17;  D {2,2,2}: 4 + 13 + 13 + 34 =
// 64
INSTANTIATE_TEST_SUITE_P(Devices, RedistributionPowersOfTwo,
                         ::testing::Values(Family{2, 12}, Family{4, 7 + 30},
                                           Family{8, 5 + 17 + 17 + 64}));

}  // namespace
}  // namespace drydock::strategies::oracle
