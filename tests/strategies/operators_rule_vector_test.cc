#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "strategies/operators/strategy_check.h"
#include "tests/strategies/operators_vector.h"

/// operators.json: what the vector says of every operator's rule (default strategy, entries of a
/// strategy, mirrors, where there is no communication), on the operator's sample. Every field of
/// the vector is read by a test, or listed here with the reason why not.
namespace drydock::strategies::cases {
namespace {

constexpr DeviceContext kTwoDevices = {.stage_devices = 2, .job_devices = 2};
constexpr DeviceContext kFourDevices = {.stage_devices = 4, .job_devices = 4};

/// Operators with a rule of their own, of which the vector says what a test reads.
template <typename Says>
std::vector<Fact> OperatorsWithRule(const Says& says) {
  std::vector<Fact> known;
  for (const json& facts : OperatorsVector().at("operators")) {
    const OpEntry* entry = EntryOf(facts.at("name").get<std::string>(), 0);
    const auto sample =
        entry != nullptr && entry->shard != nullptr ? SampleOf(*entry) : std::nullopt;
    if (sample && says(facts, *entry, *sample)) {
      known.push_back({.name = facts.at("name"), .facts = facts});
    }
  }
  return known;
}

class OperatorRuleFacts : public ::testing::TestWithParam<Fact> {
 protected:
  OperatorRuleFacts()
      : facts_(GetParam().facts), entry_(*EntryOf(GetParam().name, 0)), case_(*SampleOf(entry_)) {}

  const json& facts_;
  const OpEntry& entry_;
  OpCase case_;
};

/// Largest cut of an extent on two devices.
std::int64_t CutOnTwo(std::int64_t extent) {
  return extent > 0 && extent % 2 == 0 ? 2 : 1;
}

/// What the vector's words for a default strategy mean on the sample; nullopt for other words.
std::optional<Strategy> DefaultInWords(const std::string& words, const OpCase& one) {
  Strategy ones;
  std::size_t longest = 0;
  for (const TensorType& input : one.inputs) {
    ones.emplace_back(input.shape.size(), 1);
    longest = std::max(longest, input.shape.size());
  }
  if (words == "all 1" || words == "must be all 1") {
    return ones;
  }
  const bool each = words == "batch:each input whose right-aligned dim 0 is not 1";
  if (!each && words != "batch:input0") {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < (each ? ones.size() : std::min<std::size_t>(1, ones.size())); ++i) {
    if (!ones[i].empty() && (!each || ones[i].size() == longest)) {
      ones[i][0] = CutOnTwo(one.inputs[i].shape[0]);
    }
  }
  return ones;
}

/// Where we differ from a fact on purpose, with the reason; a fact that holds must not be listed.
using Reasons = std::map<std::string_view, std::string_view>;

const Reasons& OtherDefaults() {
  static const Reasons kOthers = {
      {"ApplyRotaryPosEmb", "query alone cannot be cut: the key shares its batch"},
      {"MatmulDDS", "query alone cannot be cut: the key shares its heads and batch"}};
  return kOthers;
}

const Reasons& OtherEntries() {
  static const Reasons kOthers = {
      {"FusedInferAttentionScore", "keys and values are operands, not tuples in a tuple"},
      {"GetNext", "the entries describe its results"},
      {"TopPRouter", "router_prob is a tensor that is cut with the tokens"}};
  return kOthers;
}

const Reasons& OtherMirrors() {
  static const Reasons kOthers = {{"KVCacheScatterUpdate", "caches and positions have no gradient"},
                                  {"ReshapeAndCache", "caches and slots have no gradient"}};
  return kOthers;
}

/// Words of their own are checked by the test of the operator's family.
bool SaysDefaultInWords(const json& facts, const OpEntry& /*entry*/, const OpCase& one) {
  return DefaultInWords(facts.at("default_strategy"), one).has_value();
}

class OperatorDefault : public OperatorRuleFacts {};

TEST_P(OperatorDefault, IsThatOfTheVector) {
  const auto wanted = DefaultInWords(facts_.at("default_strategy"), case_);
  ASSERT_TRUE(wanted);
  const auto strategy = DefaultStrategy(entry_, case_.View(), kTwoDevices);
  const bool same = strategy && !strategy->empty() && strategy->front() == wanted->front();
  EXPECT_NE(same, OtherDefaults().contains(entry_.name))
      << (strategy ? json(*strategy).dump() : strategy.error().message) << " of "
      << json(*wanted).dump();
}

/// Elsewhere it is the call's choice how many there are.
bool SaysEntries(const json& facts, const OpEntry& entry, const OpCase& one) {
  const bool open_ended = entry.signature.find('*') != std::string_view::npos;
  return one.absent == 0 && !open_ended && one.inputs.size() >= facts.at("strategy_inputs").size();
}

class OperatorEntries : public OperatorRuleFacts {};

TEST_P(OperatorEntries, AreThoseOfTheVector) {
  const auto rule = entry_.shard(case_.View(), {});
  ASSERT_TRUE(rule) << rule.error().message;
  const std::size_t listed = facts_.at("strategy_inputs").size();
  std::vector<TensorAxes> entries = EntriesOf(*rule, case_.View()).axes;
  while (entries.size() > listed && entries.back().empty()) {
    entries.pop_back();  // A scalar has nothing to cut; its entry may be left out.
  }
  EXPECT_NE(entries.size() == listed, OtherEntries().contains(entry_.name))
      << entries.size() << " of " << facts_.at("strategy_inputs");
}

/// Weights of one operand are no question of which.
bool SaysMirrors(const json& facts, const OpEntry& /*entry*/, const OpCase& one) {
  const std::string mirror = facts.at("mirror");
  return one.inputs.size() >= 2 && (mirror == "all_tensor_inputs" || mirror == "input0");
}

class OperatorMirrors : public OperatorRuleFacts {};

TEST_P(OperatorMirrors, AreThoseOfTheVector) {
  const std::string mirror = facts_.at("mirror");
  const bool same = entry_.mirrored == (mirror == "input0" ? "0" : "");
  EXPECT_NE(same, OtherMirrors().contains(entry_.name)) << entry_.mirrored << " of " << mirror;
}

bool SaysNoCommunication(const json& facts, const OpEntry& /*entry*/, const OpCase& /*one*/) {
  return facts.at("forward_comm").empty();
}

class OperatorWithoutCommunication : public OperatorRuleFacts {};

TEST_P(OperatorWithoutCommunication, HasNoneWhateverTheStrategy) {
  const auto candidates = EnumerateStrategies(entry_, case_.View(), kFourDevices, {});
  ASSERT_TRUE(candidates) << candidates.error().message;
  for (const Strategy& strategy : *candidates) {
    const auto sharding = TrySharding(entry_, case_.View(), strategy, kFourDevices);
    EXPECT_TRUE(!sharding || sharding->communication.empty()) << json(strategy);
  }
}

const auto kNameOf = [](const auto& suite) { return TestName(suite.param.name); };

INSTANTIATE_TEST_SUITE_P(Table, OperatorDefault,
                         ::testing::ValuesIn(OperatorsWithRule(SaysDefaultInWords)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Table, OperatorEntries,
                         ::testing::ValuesIn(OperatorsWithRule(SaysEntries)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Table, OperatorMirrors,
                         ::testing::ValuesIn(OperatorsWithRule(SaysMirrors)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Table, OperatorWithoutCommunication,
                         ::testing::ValuesIn(OperatorsWithRule(SaysNoCommunication)), kNameOf);

// ---- Coverage of the file

TEST(OperatorRuleVectorFile, EveryFieldIsReadOrListed) {
  const std::set<std::string> read = {
      // operators_vector_test.cc
      "name", "family", "inputs", "outputs", "dtype", "saved_for_backward", "kept_as_input",
      "out_strategy", "layout",
      // here
      "default_strategy", "strategy_inputs", "mirror", "forward_comm",
      // tests/proof/illegal_strategy_test.cc
      "errors"};
  const std::map<std::string, std::string> listed = {
      {"axes", "proven by numbers: tests/proof"},
      {"unsplittable", "proven by numbers, and refused by tests/proof/illegal_strategy_test.cc"},
      {"dev_matrix", "worked examples and layout.json"},
      {"loss_divisor", "layout.json, and proven by numbers"},
      {"attr_rewrite", "prose; proven by numbers"},
      {"backward", "prose; proven by slopes"},
      {"flops", "prose; estimates of capacity, tests/memory"},
      {"shape", "prose; tests of the families' inference"},
      {"notes", "prose"},
      {"review", "how well the vector was checked"},
      {"variants", "prose; worked examples"},
      {"aliases", "other names in the documentation"},
      {"dtype_group", "implicit casts happen in the traced script"},
      {"saved_when", "prose; conditions of saved_for_backward"},
      {"writes", "tests of the updates"},
      {"in_doc_list", "about the reference's documentation"},
      {"in_splittable_list", "about the reference's source"},
      {"layout_documented", "about the reference's documentation"},
      {"pseudo_rule", "about the reference's source"}};
  for (const json& facts : OperatorsVector().at("operators")) {
    for (const auto& [field, value] : facts.items()) {
      EXPECT_TRUE(read.contains(field) || listed.contains(field))
          << "'" << field << "' of " << facts.at("name") << " is neither read nor listed";
    }
  }
}

TEST(OperatorRuleVectorFile, EveryFieldOfTheExamplesIsReadOrListed) {
  const std::set<std::string> read = {"op",
                                      "devices",
                                      "input_shapes",
                                      "strategy",
                                      "dev_matrix",
                                      "input_maps",
                                      "output_maps",
                                      "output_shapes",
                                      "local_inputs",
                                      "local_outputs",
                                      "mirror_groups_rank0",
                                      "attrs",
                                      "variant",
                                      "forward_comm",
                                      "forward_comm_group_rank0",
                                      "bias_rank3",
                                      "bias_rank5",
                                      "depth_local",
                                      "mod_rank_of_rank5",
                                      "local_dims"};
  const std::map<std::string, std::string> listed = {
      {"repeat", "follows from devices and dev_matrix"},
      {"ut", "where the reference tests it"},
      {"mode", "of the lookup; follows from the strategy"},
      {"diagonal_by_rank", "clipped there, not here: docs/differences.md"}};
  for (const json& example : OperatorsVector().at("examples")) {
    for (const auto& [field, value] : example.items()) {
      EXPECT_TRUE(read.contains(field) || listed.contains(field))
          << "'" << field << "' of " << example.at("op") << " is neither read nor listed";
    }
  }
}

}  // namespace
}  // namespace drydock::strategies::cases
