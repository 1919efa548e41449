#include "tests/proof/illegal_layout.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/layout/tensor_layout.h"
#include "strategies/operators/sharding_parts.h"
#include "tests/proof/illegal_strategy.h"
#include "tests/proof/proof_step.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"
#include "tests/strategies/random_strategy.h"

// Nothing illegal is accepted in the form of named layouts either: each rule that the layouts of an
// operator have to keep is broken on purpose, and the answer names the broken one.
namespace drydock::strategies::proof {
namespace {

constexpr std::uint64_t kCasesPerOperator = 24;

/// The program's operator with its operands and legal layouts.
struct Subject {
  ProofProgram program = {};
  std::size_t node = 0;
  OpViewStorage storage = {};
  DeviceContext devices = {};
  ShardRule rule = {};
  LegalLayouts legal = {};
};

std::vector<ProofEntry> OperatorsWithGenerator(bool accepts_layout) {
  std::vector<ProofEntry> entries;
  for (const ProofEntry& proof : AllProofEntries()) {
    const OpEntry* entry = FindOp(proof.op);
    const bool cuttable = entry != nullptr && entry->shard != nullptr &&
                          (entry->kind == OpKind::kCompute || entry->kind == OpKind::kView);
    if (proof.generator != nullptr && cuttable && entry->accepts_layout == accepts_layout) {
      entries.push_back(proof);
    }
  }
  return entries;
}

/// Layouts that cut nothing, on a device matrix with as many axes as there are prime factors.
std::vector<TensorLayout> WholeLayouts(const OpView& view, std::int64_t devices) {
  std::vector<std::int64_t> matrix;
  for (std::int64_t factor = 2; devices > 1; ++factor) {
    for (; devices % factor == 0; devices /= factor) {
      matrix.push_back(factor);
    }
  }
  std::vector<TensorLayout> layouts;
  for (const TensorType& input : view.inputs) {
    TensorLayout layout{.device_matrix = matrix, .shape = input.shape};
    layout.tensor_map.resize(input.shape.size());
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

/// Fills the subject for a seed.
void DrawSubject(const ProofEntry& proof, std::uint64_t seed, Subject& subject) {
  auto program = MakeProofProgram(proof, seed);
  ASSERT_TRUE(program) << FormatError(program.error());
  subject.program = *std::move(program);
  const Graph& graph = subject.program.step.graph;
  const auto at = std::ranges::find(graph.nodes, proof.op, &Node::op);
  ASSERT_NE(at, graph.nodes.end());
  subject.node = static_cast<std::size_t>(at - graph.nodes.begin());
  subject.legal.view = ViewOf(graph, *at, subject.storage);
  const std::int64_t world = subject.program.step.job.world_size;
  subject.devices = {.stage_devices = world, .job_devices = world};
  subject.legal.entry = FindOp(proof.op);
  std::mt19937_64 random(seed);
  subject.legal.layouts =
      RandomLayouts(*subject.legal.entry, subject.legal.view, subject.devices, random)
          .value_or(WholeLayouts(subject.legal.view, world));
  Strategy cuts;
  std::ranges::transform(subject.legal.layouts, std::back_inserter(cuts), CutsOf);
  auto rule = subject.legal.entry->shard(subject.legal.view, cuts);
  ASSERT_TRUE(rule) << FormatError(rule.error());
  subject.rule = *std::move(rule);
  subject.legal.rule = &subject.rule;
}

std::string TextOf(const std::vector<TensorLayout>& layouts) {
  return layouts.empty() ? "no layouts" : LayoutsText(layouts);
}

/// A rule may look at the cuts as a whole, with labels of its own, before dimensions are compared.
bool IsOwnLabelOfRule(const Error& error, std::string_view op, LayoutBreak how) {
  const std::string begin = std::string(op) + ":strategy-";
  const bool of_cuts = how == LayoutBreak::kTie || how == LayoutBreak::kUncut ||
                       how == LayoutBreak::kOrder || how == LayoutBreak::kInterleavedCut;
  if (!of_cuts || !error.reason.starts_with(begin)) {
    return false;
  }
  const std::string_view label = std::string_view(error.reason).substr(begin.size());
  if (op == "Tile" && label == "divisible") {
    return true;  // Of the multiple that is cut (mindspore ops_info/reshape_info.cc).
  }
  return std::ranges::none_of(kAllBreaks, [&](Break known) { return CodeOf(known) == label; });
}

class IllegalLayout : public testing::TestWithParam<ProofEntry> {
 protected:
  /// Layouts that are accepted although they break the general rule must be a form of their own:
  /// then the ranks still compute the whole.
  static std::string DifferenceWith(const Subject& subject,
                                    const std::vector<TensorLayout>& layouts) {
    ProofProgram program = subject.program;
    Node& node = program.step.graph.nodes[subject.node];
    node.in_strategy.reset();
    node.out_strategy.reset();
    node.in_layout = layouts;
    const ProofOutcome outcome = Prove(program);
    return outcome.verdict == Verdict::kFailed ? outcome.text : "";
  }

  void Check(const Subject& subject, LayoutBreak how, const std::vector<TensorLayout>& broken) {
    const auto sharding =
        TryLayouts(*subject.legal.entry, subject.legal.view, broken, {}, subject.devices);
    const std::string wanted = ReasonOf(how, GetParam().op);
    const auto what = [&] {
      return wanted + ": " + TextOf(broken) + " instead of " + TextOf(subject.legal.layouts) +
             ", DRYDOCK_SEED=" + std::to_string(subject.program.seed) + "\n" +
             Describe(subject.program);
    };
    if (sharding) {
      ASSERT_EQ(DifferenceWith(subject, broken), "") << "accepted: " << what();
    } else if (sharding.error().code != ErrorCode::kUnsupported) {
      ASSERT_EQ(sharding.error().code, ErrorCode::kInvalidArgument) << what();
      ASSERT_TRUE(sharding.error().reason == wanted ||
                  IsOwnLabelOfRule(sharding.error(), GetParam().op, how))
          << sharding.error().reason << " for " << what();
    }
  }
};

TEST_P(IllegalLayout, IsRefusedByTheRuleItBreaks) {
  const std::uint64_t first = checks::SeedOr(1);
  for (std::uint64_t seed = first; seed < first + kCasesPerOperator; ++seed) {
    Subject subject;
    ASSERT_NO_FATAL_FAILURE(DrawSubject(GetParam(), seed, subject));
    std::mt19937_64 random(seed);
    for (const LayoutBreak how : kAllLayoutBreaks) {
      if (const auto broken = BreakLayouts(how, subject.legal, random)) {
        ASSERT_NO_FATAL_FAILURE(Check(subject, how, *broken));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, IllegalLayout, testing::ValuesIn(OperatorsWithGenerator(true)),
                         [](const auto& suite) {
                           return cases::TestName(std::string(suite.param.op));
                         });

TEST(IllegalLayouts, OperatorsThatTakeNoneRefuseAll) {
  const std::vector<ProofEntry> all = OperatorsWithGenerator(false);
  EXPECT_GE(all.size(), 50U);
  for (const ProofEntry& proof : all) {
    Subject subject;
    ASSERT_NO_FATAL_FAILURE(DrawSubject(proof, 1, subject));
    const auto sharding = TryLayouts(*subject.legal.entry, subject.legal.view,
                                     subject.legal.layouts, {}, subject.devices);
    ASSERT_FALSE(sharding) << proof.op;
    EXPECT_EQ(sharding.error().reason, std::string(proof.op) + ":layout-refused");
  }
}

TEST(IllegalLayouts, EveryBreakIsTriedOnManyOperators) {
  std::map<LayoutBreak, int> tried;
  for (const ProofEntry& proof : OperatorsWithGenerator(true)) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {  // Every world twice.
      Subject subject;
      ASSERT_NO_FATAL_FAILURE(DrawSubject(proof, seed, subject));
      std::mt19937_64 random(seed);
      for (const LayoutBreak how : kAllLayoutBreaks) {
        tried[how] += BreakLayouts(how, subject.legal, random) ? 1 : 0;
      }
    }
  }
  for (const LayoutBreak how : kAllLayoutBreaks) {
    EXPECT_GE(tried[how], 20) << "break " << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace drydock::strategies::proof
