#include "launcher/msrun_options.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

/// What msrun reads from a command line; the script is `net.py` unless the words name one.
Result<MsrunOptions> ReadWords(const Words& words, const Environment& environment = {}) {
  MsrunOptions options;
  FlagSet flags;
  AddMsrunFlags(flags, options);
  if (Status status = flags.Parse(words, {.environment = &environment, .command = "msrun"});
      !status) {
    return tl::unexpected(std::move(status).error());
  }
  return FinishMsrunOptions(std::move(options), flags, environment);
}

MsrunOptions Read(Words words, const Environment& environment = {}) {
  words.emplace_back("net.py");
  const auto options = ReadWords(words, environment);
  EXPECT_TRUE(options) << options.error().message;
  return options.value_or(MsrunOptions());
}

std::string MessageFor(Words words, const Environment& environment = {}) {
  words.emplace_back("net.py");
  const auto options = ReadWords(words, environment);
  if (options) {
    return "(no error)";
  }
  EXPECT_EQ(ExitCodeOf(options.error()), ExitCode::kUsage);
  return options.error().message;
}

TEST(MsrunOptions, DefaultsAreThoseOfTheOriginal) {
  const MsrunOptions options = Read({});
  EXPECT_EQ(options.worker_num, 8);
  EXPECT_EQ(options.local_worker_num, 8);
  EXPECT_EQ(options.master_addr, "127.0.0.1");
  EXPECT_EQ(options.master_port, 8118);
  EXPECT_EQ(options.node_rank, -1);
  EXPECT_EQ(options.log_dir, "");
  EXPECT_FALSE(options.join);
  EXPECT_EQ(options.cluster_time_out_s, 600);
  EXPECT_FALSE(options.bind_core.enabled);
  EXPECT_EQ(options.sim_level, -1);
  EXPECT_EQ(options.sim_rank_id, -1);
  EXPECT_EQ(options.rank_table_file, "");
  EXPECT_EQ(options.worker_log_name, "");
  EXPECT_EQ(options.tail_worker_log, "-1");
  EXPECT_FALSE(options.worker_num_given);
}

TEST(MsrunOptions, EveryOriginalFlagIsRead) {
  const MsrunOptions options =
      Read({"--worker_num=16", "--local_worker_num=4", "--master_addr=10.0.0.1",
            "--master_port=9000", "--node_rank=2", "--log_dir=logs", "--join=True",
            "--cluster_time_out=-1", "--bind_core=TRUE", "--sim_level=1", "--sim_rank_id=3",
            "--rank_table_file=table.json", "--worker_log_name={ip}_w", "--tail_worker_log=0,3"});
  EXPECT_EQ(options.worker_num, 16);
  EXPECT_TRUE(options.worker_num_given);
  EXPECT_EQ(options.local_worker_num, 4);
  EXPECT_EQ(options.master_addr, "10.0.0.1");
  EXPECT_EQ(options.master_port, 9000);
  EXPECT_EQ(options.node_rank, 2);
  EXPECT_EQ(options.log_dir, "logs");
  EXPECT_TRUE(options.join);
  EXPECT_EQ(options.cluster_time_out_s, -1);
  EXPECT_TRUE(options.bind_core.enabled);
  EXPECT_EQ(options.sim_level, 1);
  EXPECT_EQ(options.sim_rank_id, 3);
  EXPECT_EQ(options.rank_table_file, "table.json");
  EXPECT_EQ(options.worker_log_name, "{ip}_w");
  EXPECT_EQ(options.tail_worker_log, "0,3");
}

TEST(MsrunOptions, EveryOwnFlagIsRead) {
  const MsrunOptions options =
      Read({"--sim_level=1", "--json", "--quiet", "--verbose", "--strict", "--output=out",
            "--device_memory=58GB", "--fail_on_memory", "--compat=2.0", "--python=/opt/python",
            "--threads=3", "--trace_timeout=60", "--ir_style=2025", "--redistribution=optimal"});
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.quiet);
  EXPECT_TRUE(options.verbose);
  EXPECT_TRUE(options.strict);
  EXPECT_EQ(options.log_dir, "out");
  EXPECT_EQ(options.device_memory, "58GB");
  EXPECT_TRUE(options.fail_on_memory);
  ASSERT_TRUE(options.compat);
  EXPECT_EQ(options.compat->major, 2);
  EXPECT_EQ(options.compat->minor, 0);
  EXPECT_EQ(options.compat_from, "--compat");
  EXPECT_EQ(options.python, "/opt/python");
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.trace_timeout_s, 60);
  EXPECT_EQ(options.ir_style, reports::IrStyle::k2025);
  EXPECT_EQ(options.redistribution, strategies::RedistributionSearch::kOptimal);
}

TEST(MsrunOptions, PrefixesMeanWhatTheyMeantInTheOriginal) {
  EXPECT_TRUE(Read({"--j=True"}).join);
  EXPECT_EQ(Read({"--worker_n=4", "--local=2"}).worker_num, 4);
  EXPECT_EQ(Read({"--tail=2"}).tail_worker_log, "2");
  EXPECT_EQ(Read({"--rank=t"}).rank_table_file, "t");
  EXPECT_EQ(Read({"--c=5"}).cluster_time_out_s, 5);  // not --compat
  EXPECT_THAT(MessageFor({"--sim=1"}), HasSubstr("--sim_level, --sim_rank_id"));
}

TEST(MsrunOptions, ScriptKeepsItsArguments) {
  const auto options =
      ReadWords({"--worker_num=2", "--local_worker_num=2", "net.py", "--worker_num", "9", "-x"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->script, "net.py");
  EXPECT_THAT(options->script_args, ElementsAre("--worker_num", "9", "-x"));
  EXPECT_EQ(options->worker_num, 2);
}

TEST(MsrunOptions, ScriptIsRequired) {
  const auto options = ReadWords({"--worker_num=2"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().message, "the following arguments are required: task_script");
  EXPECT_EQ(ExitCodeOf(options.error()), ExitCode::kUsage);
}

TEST(MsrunOptions, BindCoreTakesJson) {
  const MsrunOptions options = Read({R"(--bind_core={"device0":["0-3","8-9"],"device12":[]})"});
  EXPECT_TRUE(options.bind_core.enabled);
  EXPECT_THAT(options.bind_core.ranges_of_device.at("device0"), ElementsAre("0-3", "8-9"));
  EXPECT_THAT(options.bind_core.ranges_of_device.at("device12"), IsEmpty());
}

TEST(MsrunOptions, BindCoreRefusesOtherForms) {
  for (const char* value : {"yes", "1", "{\"device\":[]}", "{\"dev0\":[]}", "{\"device0\":\"0-3\"}",
                            "{\"device0\":[\"0\"]}", "{\"device0\":[1]}", "{", "[]"}) {
    EXPECT_THAT(MessageFor({std::string("--bind_core=") + value}),
                HasSubstr("argument --bind_core"))
        << value;
  }
}

// 2^24 ranks are the most that a fleet plays. More is our limit, said before anything is read.
TEST(MsrunOptions, ADryRunHasABoundOnRanks) {
  EXPECT_TRUE(ReadWords({"--sim_level=0", "--worker_num=16777216", "net.py"}, {}));
  const auto options = ReadWords({"--sim_level=0", "--worker_num=16777217", "net.py"}, {});
  ASSERT_FALSE(options);
  EXPECT_EQ(ExitCodeOf(options.error()), ExitCode::kUnsupported);
  EXPECT_THAT(options.error().message, HasSubstr("at most 16777216 ranks"));
}

TEST(MsrunOptions, CountsAreChecked) {
  EXPECT_THAT(MessageFor({"--worker_num=0"}), HasSubstr("must be greater than 0"));
  EXPECT_THAT(MessageFor({"--worker_num=-3"}), HasSubstr("must be greater than 0"));
  EXPECT_THAT(MessageFor({"--worker_num=2147483648"}), HasSubstr("at most 2147483647"));
  EXPECT_THAT(MessageFor({"--worker_num=4"}), HasSubstr("argument --local_worker_num"));
  EXPECT_THAT(MessageFor({"--local_worker_num=0"}), HasSubstr("argument --local_worker_num"));
  EXPECT_THAT(MessageFor({"--worker_num=16", "--node_rank=2"}), HasSubstr("argument --node_rank"));
  EXPECT_THAT(MessageFor({"--threads=-1"}), HasSubstr("argument --threads"));
}

TEST(MsrunOptions, LocalCountsDoNotMatterInADryRun) {
  EXPECT_EQ(Read({"--sim_level=1", "--worker_num=4"}).worker_num, 4);
}

TEST(MsrunOptions, PortsOutsideTheRangeAreRefused) {
  EXPECT_EQ(Read({"--master_port=1024"}).master_port, 1024);
  EXPECT_EQ(Read({"--master_port=65535"}).master_port, 65535);
  EXPECT_THAT(MessageFor({"--master_port=1023"}), HasSubstr("not from 1024 to 65535"));
  EXPECT_THAT(MessageFor({"--master_port=65536"}), HasSubstr("not from 1024 to 65535"));
}

TEST(MsrunOptions, SimulationLevelIsOneOfFour) {
  EXPECT_EQ(Read({"--sim_level=0"}).sim_level, 0);
  EXPECT_THAT(MessageFor({"--sim_level=4"}),
              HasSubstr("invalid choice: 4 (choose from 0, 1, 2, 3)"));
  EXPECT_THAT(MessageFor({"--sim_level=-1"}), HasSubstr("invalid choice: -1"));
}

TEST(MsrunOptions, DryRunFlagsNeedADryRun) {
  for (const char* flag :
       {"--sim_rank_id=0", "--fail_on_memory", "--strict", "--trace_timeout=1"}) {
    EXPECT_THAT(MessageFor({flag}), HasSubstr("applies to dry runs only")) << flag;
  }
}

TEST(MsrunOptions, GraphDocumentsAreNotStarted) {
  const auto started = ReadWords({"model.json"});
  ASSERT_FALSE(started);
  EXPECT_EQ(ExitCodeOf(started.error()), ExitCode::kUsage);
  EXPECT_THAT(started.error().message, HasSubstr("'model.json' is no script"));
  EXPECT_THAT(started.error().hint, HasSubstr("--sim_level=1"));
  EXPECT_TRUE(ReadWords({"--sim_level=1", "model.json"}));
}

TEST(MsrunOptions, SimulatedRankMustBeInTheJob) {
  EXPECT_EQ(Read({"--sim_level=1", "--sim_rank_id=7"}).sim_rank_id, 7);
  EXPECT_THAT(MessageFor({"--sim_level=1", "--sim_rank_id=8"}),
              HasSubstr("rank 8 is not in the job"));
  EXPECT_THAT(MessageFor({"--sim_level=1", "--sim_rank_id=-2"}), HasSubstr("rank -2"));
}

TEST(MsrunOptions, TailListHoldsNumbers) {
  EXPECT_THAT(MessageFor({"--tail_worker_log=0,x"}), HasSubstr("invalid value: '0,x'"));
  EXPECT_THAT(MessageFor({"--tail_worker_log=0,"}), HasSubstr("argument --tail_worker_log"));
}

TEST(MsrunOptions, MemoryAndReleaseAreChecked) {
  EXPECT_THAT(MessageFor({"--device_memory=lots"}), HasSubstr("argument --device_memory"));
  EXPECT_THAT(MessageFor({"--compat=1.9"}), HasSubstr("argument --compat: '1.9'"));
  EXPECT_THAT(MessageFor({"--ir_style=x"}), HasSubstr("argument --ir_style"));
  EXPECT_THAT(MessageFor({"--redistribution=x"}), HasSubstr("argument --redistribution"));
}

TEST(MsrunOptions, EnvironmentMayAskForADryRun) {
  const MsrunOptions options =
      Read({}, {{"MS_SIMULATION_LEVEL", "1"}, {"RANK_ID", "5"}, {"RANK_SIZE", "16"}});
  EXPECT_EQ(options.sim_level, 1);
  EXPECT_EQ(options.sim_rank_id, 5);
  EXPECT_EQ(options.worker_num, 16);
}

TEST(MsrunOptions, FlagsWinOverTheEnvironment) {
  const MsrunOptions options =
      Read({"--sim_level=0", "--worker_num=4", "--compat=2.3"}, {{"MS_SIMULATION_LEVEL", "1"},
                                                                 {"RANK_ID", "5"},
                                                                 {"RANK_SIZE", "16"},
                                                                 {"DRYDOCK_COMPAT", "2.0"}});
  EXPECT_EQ(options.sim_level, 0);
  EXPECT_EQ(options.sim_rank_id, -1);
  EXPECT_EQ(options.worker_num, 4);
  EXPECT_EQ(options.compat->minor, 3);
}

TEST(MsrunOptions, ReleaseMayComeFromTheEnvironment) {
  const MsrunOptions options = Read({}, {{"DRYDOCK_COMPAT", "2.0"}});
  ASSERT_TRUE(options.compat);
  EXPECT_EQ(options.compat->minor, 0);
  EXPECT_EQ(options.compat_from, "DRYDOCK_COMPAT");
  EXPECT_THAT(MessageFor({}, {{"DRYDOCK_COMPAT", "soon"}}),
              HasSubstr("DRYDOCK_COMPAT: argument --compat: 'soon'"));
  EXPECT_THAT(MessageFor({}, {{"MS_SIMULATION_LEVEL", "x"}}),
              HasSubstr("MS_SIMULATION_LEVEL: invalid int"));
}

}  // namespace
}  // namespace drydock::launcher
