#include "launcher/outer_job.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/msrun_options.h"

namespace drydock::launcher {
namespace {

using ::testing::HasSubstr;

// As Open MPI 4.1 sets them in the second of two processes on one machine.
const Environment kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "1"},
    {"OMPI_COMM_WORLD_SIZE", "2"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_MCA_orte_hnp_uri", "1271922688.0;tcp://192.0.2.2,10.0.0.1:35651;tcp6://[fd00::2]:43359"},
    {"PMIX_RANK", "1"}};

// As Slurm sets them in the second task of a step of two tasks on two machines.
const Environment kSlurm = {{"SLURM_STEP_ID", "0"},
                            {"SLURM_PROCID", "1"},
                            {"SLURM_STEP_NUM_TASKS", "2"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                            {"SLURM_STEP_NODELIST", "node[07-08]"}};

Environment With(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

Result<MsrunOptions> OptionsOf(std::vector<std::string> words, const Environment& environment) {
  FlagSet flags;
  MsrunOptions options;
  AddMsrunFlags(flags, options);
  words.emplace_back("net.py");
  EXPECT_TRUE(flags.Parse(words).has_value());
  return FinishMsrunOptions(options, flags, environment);
}

std::string MessageOf(std::vector<std::string> words, const Environment& environment) {
  const auto options = OptionsOf(std::move(words), environment);
  return options ? "accepted" : options.error().message;
}

TEST(OuterJob, OpenMpiOnOneMachineGivesPlaceCountsAndMaster) {
  const auto options = OptionsOf({}, kOpenMpi);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->node_rank, 1);
  EXPECT_EQ(options->worker_num, 2);  // 2 processes with a rank each
  EXPECT_EQ(options->local_worker_num, 1);
  EXPECT_EQ(options->master_addr, "127.0.0.1");
  EXPECT_TRUE(options->join);
}

TEST(OuterJob, OpenMpiOnSeveralMachinesNamesThatOfMpirun) {
  const auto options =
      OptionsOf({"--local_worker_num=8"}, With(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "1"));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->worker_num, 16);  // 2 x 8
  EXPECT_EQ(options->master_addr, "192.0.2.2");
}

TEST(OuterJob, CountsThatAreGivenAreSharedOut) {
  const auto options = OptionsOf({"--worker_num=6"}, kOpenMpi);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->local_worker_num, 3);
}

TEST(OuterJob, ContradictionsNameBoth) {
  EXPECT_THAT(MessageOf({"--node_rank=0"}, kOpenMpi),
              ::testing::AllOf(HasSubstr("--node_rank=0"), HasSubstr("OMPI_COMM_WORLD_RANK=1")));
  EXPECT_THAT(MessageOf({"--worker_num=3", "--local_worker_num=1"}, kOpenMpi),
              ::testing::AllOf(HasSubstr("--worker_num=3"), HasSubstr("OMPI_COMM_WORLD_SIZE=2")));
  EXPECT_THAT(MessageOf({"--worker_num=5"}, kOpenMpi), HasSubstr("OMPI_COMM_WORLD_SIZE=2"));
  EXPECT_THAT(MessageOf({}, With(kOpenMpi, "PMIX_RANK", "0")), HasSubstr("PMIX_RANK=0"));
  EXPECT_THAT(MessageOf({}, With(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "1")),
              HasSubstr("is not below"));
  EXPECT_THAT(MessageOf({}, With(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "x")),
              HasSubstr("not a number"));
}

TEST(OuterJob, OneProcessIsNoJob) {
  Environment alone = With(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "1");
  alone["OMPI_COMM_WORLD_RANK"] = alone["PMIX_RANK"] = "0";
  const auto job = FindOuterJob(alone);
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(job->has_value());
}

/// One pod, one task: what it leaves behind ends with it, so msrun stays; the devices say how many
/// ranks there are.
TEST(OuterJob, OneProcessStaysAndTakesItsNumberOfRanks) {
  const Environment task = {{"SLURM_STEP_ID", "0"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "1"},
                            {"SLURM_GPUS_ON_NODE", "4"}};
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                           {"PET_NODE_RANK", "0"},
                           {"PET_NNODES", "1"},
                           {"PET_NPROC_PER_NODE", "4"},
                           {"PET_MASTER_ADDR", "localhost"}};
  for (const Environment& environment : {task, pod}) {
    const auto alone = OptionsOf({}, environment);
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(alone->worker_num, 4);
    EXPECT_EQ(alone->local_worker_num, 4);
    EXPECT_TRUE(alone->join);
    EXPECT_FALSE(alone->outer.has_value());
    EXPECT_FALSE(OptionsOf({"--join=False"}, environment)->join);
    // A job for each node, started one by one.
    const auto second =
        OptionsOf({"--worker_num=16", "--node_rank=1", "--master_addr=10.0.0.1"}, environment);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->worker_num, 16);
    EXPECT_EQ(second->local_worker_num, 8);  // msrun's own number
    EXPECT_EQ(second->node_rank, 1);
    EXPECT_TRUE(second->join);
  }
  const auto typed = OptionsOf({}, With(task, "SLURM_PTY_PORT", "40123"));
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(typed->worker_num, 8);
  EXPECT_FALSE(typed->join);
}

TEST(OuterJob, PodsOfAnIndexedJobStay) {
  const auto options = OptionsOf({"--worker_num=16"}, {{"JOB_COMPLETION_INDEX", "1"}});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->node_rank, 1);
  EXPECT_TRUE(options->join);
}

TEST(OuterJob, RankOfOursStartsAJobOfItsOwn) {
  const auto job = FindOuterJob(With(kOpenMpi, "DRYDOCK_JOB", "1f"));
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(job->has_value());
}

TEST(OuterJob, SlurmGivesPlaceAndFirstHost) {
  const auto options = OptionsOf({}, With(kSlurm, "SLURM_GPUS_ON_NODE", "8"));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->node_rank, 1);
  EXPECT_EQ(options->worker_num, 16);  // 2 tasks x 8 devices of the node
  EXPECT_EQ(options->master_addr, "node07");
}

TEST(OuterJob, SlurmTasksOfOneNodeHaveARankEach) {
  Environment tasks = With(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "2(x3),1");
  tasks["SLURM_STEP_NUM_TASKS"] = "7";
  tasks["SLURM_GPUS_ON_NODE"] = "8";
  const auto job = FindOuterJob(tasks);
  ASSERT_TRUE(job.has_value() && job->has_value());
  EXPECT_EQ((*job)->local_size, 2);
  EXPECT_EQ((*job)->ranks_each, 0);
}

TEST(OuterJob, ShellsOfSlurmAreNoSteps) {
  for (const char* step : {"4294967290", "4294967291"}) {  // interactive, batch
    const auto job = FindOuterJob(With(kSlurm, "SLURM_STEP_ID", step));
    ASSERT_TRUE(job.has_value());
    EXPECT_FALSE(job->has_value()) << step;
  }
  Environment batch = kSlurm;
  batch.erase("SLURM_STEP_ID");
  EXPECT_FALSE(FindOuterJob(batch)->has_value());
}

TEST(OuterJob, FirstHostOfANodelist) {
  EXPECT_EQ(FirstHostOf("node[01-04,07],gpu3"), "node01");
  EXPECT_EQ(FirstHostOf("gpu3,node[01-04]"), "gpu3");
  EXPECT_EQ(FirstHostOf("r[2-3]n[05,07]-ib"), "r2n05-ib");
  EXPECT_EQ(FirstHostOf("broken[1"), "broken1");
  EXPECT_EQ(FirstHostOf(""), "");
}

TEST(OuterJob, IndexedJobGivesTheNodeRankOnly) {
  const Environment pod = {{"JOB_COMPLETION_INDEX", "3"}};
  const auto options =
      OptionsOf({"--worker_num=32", "--local_worker_num=8", "--master_addr=job-0.svc"}, pod);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->node_rank, 3);
  EXPECT_EQ(OptionsOf({}, pod)->node_rank, -1);  // all on one node: the index says nothing
}

TEST(OuterJob, VolcanoNumbersTheTasks) {
  const Environment pod = {{"VC_TASK_INDEX", "1"},
                           {"VC_WORKER_NUM", "4"},
                           {"VC_WORKER_HOSTS", "job-worker-0.job,job-worker-1.job"}};
  const auto options = OptionsOf({"--local_worker_num=8"}, pod);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->worker_num, 32);
  EXPECT_EQ(options->master_addr, "job-worker-0.job");
}

TEST(OuterJob, PyTorchJobGivesFlagsOfTorchrun) {
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                           {"PET_NODE_RANK", "2"},
                           {"PET_NNODES", "4"},
                           {"PET_NPROC_PER_NODE", "8"},
                           {"PET_MASTER_ADDR", "job-master-0"}};
  const auto options = OptionsOf({}, pod);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->node_rank, 2);
  EXPECT_EQ(options->worker_num, 32);
  EXPECT_EQ(options->master_addr, "job-master-0");
}

TEST(MsrunOptionsTest, LoopbackMasterIsOfNoUseToOtherNodes_K15) {
  EXPECT_THAT(MessageOf({"--worker_num=2", "--local_worker_num=1", "--node_rank=1"}, {}),
              HasSubstr("127.0.0.1 is this machine"));
}

}  // namespace
}  // namespace drydock::launcher
