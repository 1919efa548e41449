#include "launcher/run/worker_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

MsrunOptions TwoNodes(std::int64_t node) {
  MsrunOptions options;
  options.worker_num = 4;
  options.local_worker_num = 2;
  options.node_rank = node;
  return options;
}

WorkerSetting Setting(bool workers_register) {
  return {.join = {.workers_register = workers_register},
          .host = {.host_name = "b", .master_ip = "10.0.0.1", .local_ip = "10.0.0.2"},
          .scheduler_port = 8118,
          .script_port = 8119,
          .endpoints = EndpointsOf({"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"}, {}),
          .script_master_ip = "10.0.0.1",
          .job_mark = "abc"};
}

// Node 1 of two with two ranks each: its second worker is rank 1 * 2 + 1 = 3.
const WorkerSpec kRank3 = {.local_index = 1, .rank = 3};

TEST(WorkerEnvironment, RegisteringWorkersLearnWhereTheSchedulerIs) {
  const Environment seen = WorkerEnvironment({{"HOME", "/h"}}, TwoNodes(1), Setting(true), kRank3);
  EXPECT_THAT(seen, Contains(Pair("HOME", "/h")));
  EXPECT_THAT(seen, Contains(Pair("MS_ROLE", "MS_WORKER")));
  EXPECT_THAT(seen, Contains(Pair("MS_SCHED_HOST", "10.0.0.1")));
  EXPECT_THAT(seen, Contains(Pair("MS_SCHED_PORT", "8118")));
  EXPECT_THAT(seen, Contains(Pair("MS_NODE_RANK", "1")));
  EXPECT_THAT(seen, Contains(Pair("RANK_ID", "3")));
  EXPECT_THAT(seen, Contains(Pair("DEVICE_ID", "1")));
  EXPECT_THAT(seen, Not(Contains(Key("PADDLE_TRAINER_ID"))));
}

TEST(WorkerEnvironment, OtherScriptsLearnTheirPlaceOnly) {
  const Environment seen = WorkerEnvironment({}, TwoNodes(1), Setting(false), kRank3);
  EXPECT_THAT(seen, Not(Contains(Key("MS_ROLE"))));
  EXPECT_THAT(seen, Not(Contains(Key("MS_SCHED_HOST"))));
  EXPECT_THAT(seen, Contains(Pair("RANK", "3")));
  EXPECT_THAT(seen, Contains(Pair("LOCAL_RANK", "1")));
  EXPECT_THAT(seen, Contains(Pair("GROUP_RANK", "1")));
  EXPECT_THAT(seen, Contains(Pair("GROUP_WORLD_SIZE", "2")));
  EXPECT_THAT(seen, Contains(Pair("MASTER_ADDR", "10.0.0.1")));
  EXPECT_THAT(seen, Contains(Pair("MASTER_PORT", "8119")));
  EXPECT_THAT(seen, Contains(Pair("OMP_NUM_THREADS", "1")));
}

TEST(WorkerEnvironment, PaddleEndpointsCountUpOnEachNode) {
  const Environment seen = WorkerEnvironment({}, TwoNodes(1), Setting(false), kRank3);
  EXPECT_THAT(seen, Contains(Pair("PADDLE_TRAINER_ENDPOINTS",
                                  "10.0.0.1:6070,10.0.0.1:6071,10.0.0.2:6070,10.0.0.2:6071")));
  EXPECT_THAT(seen, Contains(Pair("PADDLE_CURRENT_ENDPOINT", "10.0.0.2:6071")));
}

MsrunOptions With(Framework framework) {
  MsrunOptions options = TwoNodes(1);
  options.framework = framework;
  return options;
}

TEST(WorkerEnvironment, PaddleWithoutDevicesUsesGlooAndNoProxies) {
  const Environment seen = WorkerEnvironment({{"http_proxy", "p"}, {"CUDA_VISIBLE_DEVICES", ""}},
                                             With(Framework::kPaddle), Setting(false), kRank3);
  EXPECT_THAT(seen, Contains(Pair("PADDLE_TRAINER_ID", "3")));
  EXPECT_THAT(seen, Contains(Pair("PADDLE_CURRENT_ENDPOINT", "10.0.0.2:6071")));
  EXPECT_THAT(seen, Contains(Pair("PADDLE_MASTER", "10.0.0.1:8119")));
  EXPECT_THAT(seen, Contains(Pair("PADDLE_DISTRI_BACKEND", "gloo")));
  EXPECT_THAT(seen, Contains(Pair("http_proxy_original", "p")));
  EXPECT_THAT(seen, Not(Contains(Key("http_proxy"))));
  EXPECT_THAT(seen, Not(Contains(Key("FLAGS_selected_gpus"))));
  EXPECT_THAT(seen, Not(Contains(Key("MASTER_PORT"))));
}

TEST(WorkerEnvironment, PaddleWithDevicesNamesOnePerRank) {
  const Environment seen = WorkerEnvironment({{"ASCEND_RT_VISIBLE_DEVICES", "4,5"}},
                                             With(Framework::kPaddle), Setting(false), kRank3);
  EXPECT_THAT(seen, Contains(Pair("FLAGS_selected_npus", "1")));
  EXPECT_THAT(seen, Not(Contains(Key("PADDLE_DISTRI_BACKEND"))));
}

TEST(WorkerEnvironment, TorchAloneGetsNothingOfPaddle) {
  const Environment seen = WorkerEnvironment({}, With(Framework::kTorch), Setting(false), kRank3);
  EXPECT_THAT(seen, Contains(Pair("MASTER_PORT", "8119")));
  EXPECT_THAT(seen, Not(Contains(Key("PADDLE_TRAINER_ID"))));
}

TEST(WorkerEnvironment, ARestartIsCountedAsTorchrunDoes_R24) {
  MsrunOptions options = TwoNodes(1);
  options.max_restarts = 3;
  WorkerSetting setting = Setting(false);
  setting.restarts = 2;
  const Environment seen = WorkerEnvironment({}, options, setting, kRank3);
  EXPECT_THAT(seen, Contains(Pair("TORCHELASTIC_RESTART_COUNT", "2")));
  EXPECT_THAT(seen, Contains(Pair("TORCHELASTIC_MAX_RESTARTS", "3")));
}

TEST(WorkerEnvironment, UnknownRankIsNotInherited) {
  const Environment inherited = {{"RANK_ID", "0"}, {"MS_NODE_ID", "0"}, {"RANK", "0"}};
  const Environment seen =
      WorkerEnvironment(inherited, TwoNodes(-1), Setting(true), {.local_index = 1});
  EXPECT_THAT(seen, Not(Contains(Key("RANK_ID"))));
  EXPECT_THAT(seen, Not(Contains(Key("MS_NODE_ID"))));
  EXPECT_THAT(seen, Not(Contains(Key("RANK"))));
  EXPECT_THAT(seen, Contains(Pair("DEVICE_ID", "1")));
}

TEST(WorkerEnvironment, ThreadsThatAreAskedForStay) {
  EXPECT_THAT(WorkerEnvironment({{"OMP_NUM_THREADS", "7"}}, TwoNodes(1), Setting(false), kRank3),
              Contains(Pair("OMP_NUM_THREADS", "7")));
}

TEST(WorkerEnvironment, BoundProcessorsAreListedAsPythonDoes) {
  const WorkerSpec bound = {.local_index = 1, .rank = 3, .cpus = {4, 5, 9}};
  EXPECT_THAT(WorkerEnvironment({}, TwoNodes(1), Setting(true), bound),
              Contains(Pair("MSRUN_CPU_LIST", "[4, 5, 9]")));
  // Only shares that we chose are told: with a list per device the user knows.
  MsrunOptions listed = TwoNodes(1);
  listed.bind_core = {.enabled = true, .ranges_of_device = {{"device1", {"4-5"}}}};
  EXPECT_THAT(WorkerEnvironment({{"MSRUN_CPU_LIST", "[1]"}}, listed, Setting(true), bound),
              Not(Contains(Key("MSRUN_CPU_LIST"))));
}

TEST(StaleVariables, NamesWhatTheFlagsOverrule) {
  EXPECT_THAT(StaleVariables({{"MS_ROLE", "MS_SCHED"}, {"RANK_SIZE", "4"}, {"MS_WORKER_NUM", "8"}},
                             TwoNodes(0)),
              ElementsAre("MS_ROLE=MS_SCHED", "MS_WORKER_NUM=8"));
}

}  // namespace
}  // namespace drydock::launcher
