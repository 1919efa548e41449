#include "launcher/run/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

MsrunOptions Job(std::int64_t ranks, std::int64_t local, std::int64_t node = -1) {
  MsrunOptions options;
  options.worker_num = ranks;
  options.local_worker_num = local;
  options.node_rank = node;
  return options;
}

TEST(ScriptKind, ImportLinesDecide) {
  EXPECT_EQ(ScriptKindOf("import mindspore as ms\n"), ScriptKind::kMindSpore);
  EXPECT_EQ(ScriptKindOf("x = 1\n  from mindspore.nn import Cell"), ScriptKind::kMindSpore);
  EXPECT_EQ(ScriptKindOf("import torch.distributed as dist\r\n"), ScriptKind::kOther);
  EXPECT_EQ(ScriptKindOf("from paddle import nn\n"), ScriptKind::kPaddle);
  EXPECT_EQ(ScriptKindOf("import paddle\nimport torch\n"), ScriptKind::kOther);
  EXPECT_EQ(ScriptKindOf("import torch\nimport paddle\n"), ScriptKind::kOther);
  EXPECT_EQ(ScriptKindOf("import os\nprint('import torch')\n# import mindspore\n"),
            ScriptKind::kUnknown);
  EXPECT_EQ(ScriptKindOf("import torchless\nimport mindsporex\n"), ScriptKind::kUnknown);
  EXPECT_EQ(ScriptKindOf(""), ScriptKind::kUnknown);
}

TEST(ScriptKind, MindSporeWinsOverOthers) {
  EXPECT_EQ(ScriptKindOf("import torch\nimport mindspore\n"), ScriptKind::kMindSpore);
}

MsrunOptions Asking(Rendezvous rendezvous, Framework framework = Framework::kAuto) {
  MsrunOptions options;
  options.rendezvous = rendezvous;
  options.framework = framework;
  return options;
}

TEST(JoinRule, WhatIsAskedForWins) {
  EXPECT_TRUE(JoinRuleFor(Asking(Rendezvous::kWorker), ScriptKind::kOther).workers_register);
  EXPECT_FALSE(JoinRuleFor(Asking(Rendezvous::kWorker), ScriptKind::kUnknown).may_not_register);
  EXPECT_FALSE(JoinRuleFor(Asking(Rendezvous::kLauncher), ScriptKind::kMindSpore).workers_register);
}

TEST(JoinRule, AutoGoesByTheScript) {
  EXPECT_TRUE(JoinRuleFor(Asking(Rendezvous::kAuto), ScriptKind::kMindSpore).workers_register);
  EXPECT_FALSE(JoinRuleFor(Asking(Rendezvous::kAuto), ScriptKind::kMindSpore).may_not_register);
  EXPECT_FALSE(JoinRuleFor(Asking(Rendezvous::kAuto), ScriptKind::kOther).workers_register);
  // It may import a module of its own that imports MindSpore: everything is ready for both.
  EXPECT_TRUE(JoinRuleFor(Asking(Rendezvous::kAuto), ScriptKind::kUnknown).workers_register);
  EXPECT_TRUE(JoinRuleFor(Asking(Rendezvous::kAuto), ScriptKind::kUnknown).may_not_register);
}

TEST(JoinRule, TheFrameworkSaysWhatAScriptIs) {
  const auto rule = [](Framework framework) {
    return JoinRuleFor(Asking(Rendezvous::kAuto, framework), ScriptKind::kUnknown);
  };
  EXPECT_TRUE(rule(Framework::kMindSpore).workers_register);
  EXPECT_FALSE(rule(Framework::kMindSpore).may_not_register);
  EXPECT_FALSE(rule(Framework::kTorch).workers_register);
  EXPECT_FALSE(rule(Framework::kPaddle).workers_register);
}

TEST(RestartLogPath, TheNumberStandsBeforeTheEnding_R24) {
  EXPECT_EQ(RestartLogPath("out/worker_3.log", 2), "out/worker_3.r2.log");
}

TEST(RanksOf, OneNodeCountsFromZeroWhateverTheNodeRank) {
  EXPECT_THAT(RanksOf(Job(3, 3)), ElementsAre(Optional(0), Optional(1), Optional(2)));
  EXPECT_THAT(RanksOf(Job(2, 2, 5)), ElementsAre(Optional(0), Optional(1)));
}

TEST(RanksOf, NodeRankShiftsThem) {
  // node 2, 4 local ranks: 2 * 4 + i
  EXPECT_THAT(RanksOf(Job(16, 4, 2)),
              ElementsAre(Optional(8), Optional(9), Optional(10), Optional(11)));
}

TEST(RanksOf, WithoutNodeRankTheyAreNotKnown) {
  EXPECT_THAT(RanksOf(Job(4, 2)), ElementsAre(std::nullopt, std::nullopt));
}

TEST(NodeCount, IsRoundedUp) {
  EXPECT_EQ(NodeCount(Job(8, 8)), 1);
  EXPECT_EQ(NodeCount(Job(9, 8)), 2);
  EXPECT_EQ(NodeCount(Job(16, 8)), 2);
}

TEST(WorkersOf, LogsCarryTheRankOrTheLocalIndex) {
  MsrunOptions options = Job(4, 2, 1);
  options.log_dir = "out";
  EXPECT_EQ(WorkersOf(options, {}).at(1).log_path, "out/worker_3.log");
  EXPECT_EQ(WorkersOf(Job(4, 2), {}).at(1).log_path, "worker_1.log");
}

TEST(WorkersOf, LogNamesAreFilledIn) {
  MsrunOptions options = Job(1, 1);
  options.worker_log_name = "{hostname}-{ip}-{ip}";
  EXPECT_EQ(WorkersOf(options, {.host_name = "n1", .local_ip = "10.0.0.1"}).at(0).log_path,
            "n1-10.0.0.1-10.0.0.1_0.log");
}

TEST(IsTailed, ListHoldsRanks) {
  MsrunOptions options = Job(4, 2, 1);
  options.tail_worker_log = "0,3";
  EXPECT_FALSE(IsTailed(options, {.local_index = 0, .rank = 2}));
  EXPECT_TRUE(IsTailed(options, {.local_index = 1, .rank = 3}));
  EXPECT_TRUE(IsTailed(options, {.local_index = 0}));
  options.tail_worker_log = "-1";
  EXPECT_TRUE(IsTailed(options, {.local_index = 0, .rank = 2}));
}

}  // namespace
}  // namespace drydock::launcher
