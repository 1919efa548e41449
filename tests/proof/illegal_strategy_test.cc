#include "tests/proof/illegal_strategy.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/proof/proof_step.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"
#include "tests/strategies/random_strategy.h"

// Nothing illegal is accepted: each constraint of every operator's rule is broken on purpose, and
// the answer names the broken one.
namespace drydock::strategies::proof {
namespace {

constexpr std::uint64_t kCasesPerOperator = 24;

/// "axis" of "Add:strategy-axis"; empty if the reason is not about a strategy of `op`.
std::string_view LabelOf(const Error& error, std::string_view op) {
  const std::string begin = std::string(op) + ":strategy-";
  const std::string_view reason = error.reason;
  return reason.starts_with(begin) ? reason.substr(begin.size()) : std::string_view();
}

/// Labels of single rules, which look at a strategy as a whole before its cuts are checked one by
/// one, and the operators that may give them: windows that do not part evenly
/// (conv2d_info.cc), parts of heads and of packed sequences (flash_attention_score_info.cc), rows
/// of tables (gather_info.cc), a batch on all devices or none (batch_parallel_info.cc), groups of
/// rows.
bool IsOwnLabel(std::string_view op, std::string_view label) {
  using Names = std::set<std::string_view>;
  static const Names kWindows = {"AvgPool", "AvgPool3D",           "MaxPool",         "MaxPool3D",
                                 "Conv2D",  "Conv2DBackpropInput", "Conv2DTranspose", "Conv3D"};
  static const Names kTables = {"Gather", "IndexSelect", "SparseGatherV2", "EmbeddingLookup",
                                "Embedding"};
  static const std::map<std::string_view, Names> kOperators = {
      {"output", kWindows},
      {"extent", kWindows},
      {"valid", kWindows},
      {"halo", kWindows},
      {"pad", kWindows},
      {"stride", kWindows},
      {"gather", kTables},
      {"embedding", {"Embedding"}},
      {"heads",
       {"ApplyRotaryPosEmb", "FlashAttentionScore", "FusedInferAttentionScore",
        "IncreFlashAttention", "PromptFlashAttention", "PagedAttention", "PagedAttentionMask"}},
      {"batch",
       {"CheckValid", "LstsqV2", "SolveTriangular", "SparseSoftmaxCrossEntropyWithLogits"}},
      {"groups", {"GroupedMatmul"}},
      {"packed", {"FlashAttentionScore"}},
  };
  const auto it = kOperators.find(label);
  return it != kOperators.end() && it->second.contains(op);
}

/// Breaks that a rule of its own may see first: those of single cuts that fit their dimension.
bool MayBeSeenFirst(Break how) {
  return how == Break::kNotDividing || how == Break::kNotPower || how == Break::kTie ||
         how == Break::kUncut || how == Break::kTooMany || how == Break::kUnevenDevices;
}

/// General labels that a rule gives before the general checks see the strategy: of the multiple
/// that is cut, of the result's extent (reshape_info.cc, conv2d_info.cc), of
/// the rows that all devices share (gather_info.cc). Lengths of IncreFlashAttention may have
/// entries or not, so one entry more is theirs, and has the wrong rank.
const std::set<std::pair<std::string_view, std::string_view>>& GeneralLabelsOfRules() {
  static const std::set<std::pair<std::string_view, std::string_view>> kLabels = {
      {"Tile", "divisible"},
      {"Conv2DBackpropInput", "divisible"},
      {"Conv2DTranspose", "divisible"},
      {"Gather", "product"},
      {"IndexSelect", "product"},
      {"SparseGatherV2", "product"},
      {"EmbeddingLookup", "product"},
      {"IncreFlashAttention", "rank"},
  };
  return kLabels;
}

bool IsNamed(const Error& error, std::string_view op, Break how) {
  const std::string_view label = LabelOf(error, op);
  return label == CodeOf(how) || (MayBeSeenFirst(how) && IsOwnLabel(op, label)) ||
         GeneralLabelsOfRules().contains({op, label});
}

/// The program's operator with its operands and one legal strategy.
struct Subject {
  ProofProgram program = {};
  std::size_t node = 0;
  OpViewStorage storage = {};
  OpView view = {};
  DeviceContext devices = {};
  ShardRule rule = {};
  Strategy legal = {};
};

std::vector<ProofEntry> OperatorsWithRule() {
  std::vector<ProofEntry> entries;
  for (const ProofEntry& proof : AllProofEntries()) {
    const OpEntry* entry = FindOp(proof.op);
    const bool cuttable = entry != nullptr && entry->shard != nullptr &&
                          (entry->kind == OpKind::kCompute || entry->kind == OpKind::kView);
    if (proof.generator != nullptr && cuttable) {
      entries.push_back(proof);
    }
  }
  return entries;
}

class IllegalStrategy : public testing::TestWithParam<ProofEntry> {
 protected:
  /// Fills the subject for a seed.
  void Draw(std::uint64_t seed, Subject& subject) {
    auto program = MakeProofProgram(GetParam(), seed);
    ASSERT_TRUE(program) << FormatError(program.error());
    subject.program = *std::move(program);
    const Graph& graph = subject.program.step.graph;
    while (graph.nodes[subject.node].op != GetParam().op) {
      ++subject.node;
    }
    subject.view = ViewOf(graph, graph.nodes[subject.node], subject.storage);
    const std::int64_t world = subject.program.step.job.world_size;
    subject.devices = {.stage_devices = world, .job_devices = world};
    const OpEntry& entry = *FindOp(GetParam().op);
    std::mt19937_64 random(seed);
    subject.legal = RandomStrategy(entry, subject.view, subject.devices, random)
                        .value_or(ReplicatedStrategy(entry, subject.view));
    auto rule = entry.shard(subject.view, subject.legal);
    ASSERT_TRUE(rule) << FormatError(rule.error());
    subject.rule = *std::move(rule);
  }

  /// A strategy that is accepted although it breaks the general rule must be a form of its own:
  /// then the ranks still compute the whole.
  static std::string DifferenceWith(const Subject& subject, const Strategy& strategy) {
    ProofProgram program = subject.program;
    Node& node = program.step.graph.nodes[subject.node];
    node.in_strategy = strategy;
    node.in_layout.reset();
    node.out_strategy.reset();
    const ProofOutcome outcome = Prove(program);
    return outcome.verdict == Verdict::kFailed ? outcome.text : "";
  }
};

TEST_P(IllegalStrategy, IsRefusedByTheRuleItBreaks) {
  const OpEntry& entry = *FindOp(GetParam().op);
  const std::uint64_t first = checks::SeedOr(1);
  for (std::uint64_t seed = first; seed < first + kCasesPerOperator; ++seed) {
    Subject subject;
    ASSERT_NO_FATAL_FAILURE(Draw(seed, subject));
    std::mt19937_64 random(seed);
    for (const Break how : kAllBreaks) {
      const auto broken =
          BreakStrategy(how, subject.rule, subject.view, subject.legal, subject.devices, random);
      if (!broken) {
        continue;
      }
      const auto sharding = TrySharding(entry, subject.view, *broken, subject.devices);
      const std::string what = StrategyText(*broken) + " (strategy-" + std::string(CodeOf(how)) +
                               " of " + StrategyText(subject.legal) +
                               "), DRYDOCK_SEED=" + std::to_string(seed) + "\n" +
                               Describe(subject.program);
      if (sharding) {
        ASSERT_EQ(DifferenceWith(subject, *broken), "") << "accepted: " << what;
      } else if (sharding.error().code != ErrorCode::kUnsupported) {
        ASSERT_EQ(sharding.error().code, ErrorCode::kInvalidArgument) << what;
        ASSERT_TRUE(IsNamed(sharding.error(), GetParam().op, how))
            << sharding.error().reason << " for " << what;
      }
    }
  }
}

/// Breaks that an error of operators.json describes; none if it is not about a strategy.
std::set<Break> BreaksOf(const std::string& text) {
  static const std::vector<std::pair<std::string_view, Break>> kWords = {
      {"differ", Break::kTie},
      {"disagree", Break::kTie},
      {"not identical", Break::kTie},
      {"right-aligned tail", Break::kTie},
      {"dimension is not 1", Break::kUncut},
      {"split", Break::kUncut},
      {"product > devices", Break::kTooMany},
      {"more than one strategy", Break::kMoreEntries},
      {"fewer or more than", Break::kFewerEntries},
      {"strategy does not divide", Break::kNotDividing},
  };
  for (const auto& [words, how] : kWords) {
    if (text.find(words) != std::string::npos) {
      return {how};
    }
  }
  return {};
}

/// The entry of an operator in operators.json; null if it has none.
const cases::json& FactsOf(std::string_view op) {
  static const cases::json kDocument = cases::VectorDocument("operators.json");
  static const cases::json kNone;
  for (const cases::json& facts : kDocument.at("operators")) {
    if (facts.at("name") == op) {
      return facts;
    }
  }
  return kNone;
}

/// Errors that no single broken strategy can show: forms of attributes and shapes, or limits that
/// the operator does not have here. The value says where they are checked, or why they are not.
const std::map<std::string_view, std::string_view>& CheckedElsewhere() {
  static const std::map<std::string_view, std::string_view> kErrors = {
      {"manual split rules", "gather_rule_test.cc"},
      {"inputs[1] and inputs[2] shapes differ", "shape inference"},
      {"seed or offset split", "scalars have no dimension to cut"},
      {"remove_accidental_hits with any split", "every dimension of its cases is whole"},
  };
  return kErrors;
}

/// Errors that a label of the rule's own answers.
const std::map<std::string_view, std::string_view>& LabelsOfErrors() {
  static const std::map<std::string_view, std::string_view> kLabels = {
      {"H/W split with kernel > stride", "valid"},
      {"batch mode: axis split or batch strategies differ", "gather"},
  };
  return kLabels;
}

TEST_P(IllegalStrategy, ErrorsOfTheVectorAreAmongTheRefused) {
  std::set<Break> refused;
  std::set<std::string, std::less<>> labels;
  const OpEntry& entry = *FindOp(GetParam().op);
  for (std::uint64_t seed = 1; seed <= 3 * kCasesPerOperator; ++seed) {
    Subject subject;
    ASSERT_NO_FATAL_FAILURE(Draw(seed, subject));
    std::mt19937_64 random(seed);
    for (const Break how : kAllBreaks) {
      const auto broken =
          BreakStrategy(how, subject.rule, subject.view, subject.legal, subject.devices, random);
      const auto sharding = broken ? TrySharding(entry, subject.view, *broken, subject.devices)
                                   : Result<OpSharding>();
      if (!sharding) {
        refused.insert(how);
        labels.emplace(LabelOf(sharding.error(), GetParam().op));
      }
    }
  }
  const cases::json& facts = FactsOf(entry.name);
  for (const std::string error : facts.is_null() ? cases::json::array() : facts.at("errors")) {
    const std::string of_operator = std::string(entry.name) + ": " + error;
    const bool elsewhere =
        CheckedElsewhere().contains(error) || CheckedElsewhere().contains(of_operator);
    for (const Break how : elsewhere ? std::set<Break>() : BreaksOf(error)) {
      const auto own = LabelsOfErrors().find(error);
      const bool by_own = own != LabelsOfErrors().end() && labels.contains(own->second);
      EXPECT_TRUE(refused.contains(how) || by_own) << "never refused: " << error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, IllegalStrategy, testing::ValuesIn(OperatorsWithRule()),
                         [](const auto& suite) {
                           return cases::TestName(std::string(suite.param.op));
                         });

}  // namespace
}  // namespace drydock::strategies::proof
