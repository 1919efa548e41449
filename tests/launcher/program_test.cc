#include "launcher/program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "launcher/files.h"
#include "tests/source_dir.h"

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

const std::string kExample = SourceDir() + "/docs/examples/graph/mlp.json";

/// Runs command lines in this process, with their output in strings and reports in a fresh folder.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    std::string name = (fs::temp_directory_path() / "drydock_program_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ProgramTest() override { fs::remove_all(folder_); }

  int Run(const Words& words, const Environment& environment = {}) {
    out_.str("");
    err_.str("");
    return RunProgram(words, {.environment = environment, .out = out_, .log = log_, .stop = stop_},
                      err_);
  }
  int RunMsrun(Words words) {
    words.insert(words.begin(), {"msrun", "--log_dir=" + folder_});
    // Interpreters are looked up in the PATH; nothing else of our environment counts.
    return Run(words, {{"PATH", Variable(ReadEnvironment(), "PATH").value_or("/usr/bin:/bin")}});
  }
  std::string Put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  /// The example with `from` replaced by `to`, as a file.
  std::string Changed(const std::string& from, const std::string& to) const {
    std::string text = *ReadFile(kExample, 1 << 20);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return Put("changed.json", text.replace(at, from.size(), to));
  }

  std::ostringstream out_;
  std::ostringstream err_;
  Log log_{"msrun", LogLevel::kError};
  StopGuard stop_;
  std::string folder_;
};

TEST_F(ProgramTest, HelpFitsOnAScreen) {
  EXPECT_EQ(Run({"/usr/bin/msrun", "--help"}), 0);
  const std::string text = out_.str();
  EXPECT_LE(std::ranges::count(text, '\n'), 40) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_THAT(text, HasSubstr("usage: msrun [flags] task_script"));
  EXPECT_THAT(text, HasSubstr("--worker_num N"));
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(ProgramTest, VersionIsPrintedUnderBothNames) {
  EXPECT_EQ(Run({"msrun", "--version"}), 0);
  const std::string text = out_.str();
  EXPECT_THAT(text, HasSubstr("drydock 0."));
  EXPECT_EQ(Run({"drydock", "version"}), 0);
  EXPECT_EQ(out_.str(), text);
  EXPECT_EQ(Run({"drydock", "--version"}), 0);
  EXPECT_EQ(out_.str(), text);
}

TEST_F(ProgramTest, CommandsAreListedAndChecked) {
  EXPECT_EQ(Run({"drydock", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("list_operators"));
  EXPECT_EQ(Run({"drydock"}), 2);
  EXPECT_EQ(Run({"drydock", "msrnu"}), 2);
  EXPECT_EQ(err_.str(),
            "drydock: error[USAGE]: 'msrnu' is not a command; hint: did you mean 'msrun'?\n");
}

TEST_F(ProgramTest, UsageErrorsAreTwo) {
  EXPECT_EQ(Run({"msrun", "--wroker_num=4", "net.py"}), 2);
  EXPECT_EQ(err_.str(),
            "usage: msrun [flags] task_script [task_script_args ...]\n"
            "msrun: error[USAGE]: unrecognized argument: --wroker_num; hint: did you mean "
            "'--worker_num'?\n");
  EXPECT_EQ(Run({"drydock", "msrun", "--worker_num=0", "net.py"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("drydock msrun: error[USAGE]: argument --worker_num"));
  EXPECT_EQ(Run({"msrun"}), 2);
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(ProgramTest, ManualPageIsUpToDate) {
  EXPECT_EQ(Run({"drydock", "man"}), 0);
  EXPECT_EQ(out_.str(), *ReadFile(SourceDir() + "/docs/man/msrun.1", 1 << 20))
      << "run 'drydock man > docs/man/msrun.1'";
}

TEST_F(ProgramTest, WhatIsNotHandledIsEight) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", "python", "-c", "x"}), 8);
}

TEST_F(ProgramTest, TimesAreForAProfile) {
  const std::string mine = SourceDir() + "/sim/timing/hardware/cpu-test.json";
  ASSERT_EQ(RunMsrun({"--sim_level=3", "--hardware=" + mine, kExample}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("time per step on cpu-test: "));
  EXPECT_THAT(out_.str(), HasSubstr("not modelled: "));
  EXPECT_TRUE(ReadFile(folder_ + "/timeline.json", 1 << 20));
  EXPECT_TRUE(ReadFile(folder_ + "/trace_view.json", 1 << 20));
  // Nodes of four, cut in three: the level of nodes no longer divides anything; two are fine.
  EXPECT_EQ(RunMsrun({"--sim_level=3", "--hardware=" + mine, "--devices_per_node=2", kExample}), 0);
  // A run without times leaves none behind.
  EXPECT_EQ(RunMsrun({"--sim_level=1", kExample}), 0);
  EXPECT_FALSE(ReadFile(folder_ + "/timeline.json", 1 << 20));
}

TEST_F(ProgramTest, WorkspacesComeFromATableOfARealRun) {
  ASSERT_EQ(RunMsrun({"--sim_level=2", "--json", kExample}), 0) << err_.str();
  const auto none = nlohmann::json::parse(out_.str());
  EXPECT_THAT(out_.str(), HasSubstr("workspace-unknown"));
  const auto blocks = ReadFile(folder_ + "/rank_0/memory_block.csv", 1 << 20);
  ASSERT_TRUE(blocks);
  // What a device would have written: a workspace of 1 MiB for every MatMul.
  std::string real = blocks->substr(0, blocks->find('\n') + 1);
  std::istringstream lines(*blocks);
  for (std::string line; std::getline(lines, line);) {
    const bool product = line.find("/MatMul-op") != std::string::npos;
    if (product && line.find(",Kernel,") != std::string::npos) {
      real += line + "\n";
      real += line.replace(line.find(",Kernel,"), 8, ",WorkSpace,") + "\n";
    }
  }
  const std::string csv = Put("real.csv", real);
  const std::string table = folder_ + "/table.json";
  ASSERT_EQ(Run({"drydock", "calibrate", "--output=" + table, csv}), 0) << err_.str();
  ASSERT_EQ(RunMsrun({"--sim_level=2", "--workspaces=" + table, "--json", kExample}), 0)
      << err_.str();
  const auto some = nlohmann::json::parse(out_.str());
  EXPECT_GE(some["memory"][0]["used_peak_bytes"], none["memory"][0]["used_peak_bytes"]);
  EXPECT_NE(ReadFile(folder_ + "/rank_0/memory_block.csv", 1 << 20)->find(",WorkSpace,"),
            std::string::npos);
  // Our own file gives the same table again.
  const std::string again = folder_ + "/again.json";
  ASSERT_EQ(
      Run({"drydock", "calibrate", "--output=" + again, folder_ + "/rank_0/memory_block.csv"}), 0)
      << err_.str();
  EXPECT_THAT(*ReadFile(again, 1 << 20), HasSubstr("\"MatMul\""));
}

TEST_F(ProgramTest, CalibrationFilesAreChecked) {
  EXPECT_EQ(Run({"drydock", "calibrate"}), 2);
  EXPECT_EQ(Run({"drydock", "calibrate", folder_ + "/none.csv"}), 3);
  const std::string other = Put("other.csv", "a,b\n1,2\n");
  EXPECT_EQ(Run({"drydock", "calibrate", other}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("no column 'size'"));
  EXPECT_EQ(Run({"drydock", "calibrate", Put("trace.json", "{}")}), 2);
  const std::string bad = Put("table.json", "{\"schema\": \"x\"}");
  EXPECT_EQ(RunMsrun({"--sim_level=2", "--workspaces=" + bad, kExample}), 3);
  EXPECT_EQ(RunMsrun({"--sim_level=1", "--workspaces=" + bad, kExample}), 2);
}

TEST_F(ProgramTest, BadProfilesAreThree) {
  EXPECT_EQ(RunMsrun({"--sim_level=3", "--hardware=H1000", kExample}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'H100'"));
  const std::string bad = Put("device.json", "{\"schema\": \"drydock.hardware/1\"}");
  EXPECT_EQ(RunMsrun({"--sim_level=3", "--hardware=" + bad, kExample}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("'name'"));
  EXPECT_EQ(RunMsrun({"--sim_level=1", "--hardware=" + bad, kExample}), 2);
}

TEST_F(ProgramTest, MissingFilesAreThree) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", folder_ + "/none.json"}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("error[NO_SCRIPT]"));
  EXPECT_THAT(err_.str(), HasSubstr("hint: give the path of a script"));
  EXPECT_THAT(err_.str(), HasSubstr("No such file"));
  EXPECT_EQ(RunMsrun({"--sim_level=1", folder_ + "/none.py"}), 3);
  EXPECT_EQ(RunMsrun({"--sim_level=1", folder_}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("is a folder"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(ProgramTest, LogFolderThatCannotBeUsedIsThree) {
  const std::string file = Put("file", "");
  EXPECT_EQ(Run({"msrun", "--sim_level=1", "--log_dir=" + file, kExample}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("error[LOG_DIR]"));
}

TEST_F(ProgramTest, GraphDocumentIsCheckedForAllRanks) {
  EXPECT_EQ(RunMsrun({"--sim_level=0", kExample}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("mlp.json"));
  EXPECT_THAT(Names(),
              UnorderedElementsAre("communication.json", "summary.json"));  // level 0: no memory
  const auto summary = nlohmann::json::parse(*ReadFile(folder_ + "/summary.json", 1 << 20));
  EXPECT_EQ(summary["verdict"], "ok");
  EXPECT_EQ(summary["checked"]["world_size"], 8);
}

TEST_F(ProgramTest, WorkerNumOnTheCommandLineWins) {
  EXPECT_EQ(RunMsrun({"--sim_level=0", "--worker_num=16", "--json", kExample}), 0) << err_.str();
  const auto summary = nlohmann::json::parse(out_.str());
  EXPECT_EQ(summary["checked"]["world_size"], 16);
  EXPECT_EQ(out_.str(), *ReadFile(folder_ + "/summary.json", 1 << 20));
}

TEST_F(ProgramTest, ReleaseComesFromFlagOrEnvironment) {
  ASSERT_EQ(RunMsrun({"--sim_level=0", "--compat=2.6", "--json", kExample}), 0) << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["checked"]["compat"], "2.6");
  ASSERT_EQ(Run({"msrun", "--sim_level=0", "--json", "--log_dir=" + folder_, kExample},
                {{"DRYDOCK_COMPAT", "2.6"}}),
            0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["checked"]["compat_from"], "DRYDOCK_COMPAT");
}

TEST_F(ProgramTest, IllegalStrategyIsSixAndPointsIntoTheDocument) {
  // The first operator is in line 18 of the example.
  const std::string path = Changed("[[2, 4], [4, 1]]", "[[2, 3], [3, 1]]");
  EXPECT_EQ(RunMsrun({"--sim_level=1", "--json", path}), 6);
  EXPECT_THAT(err_.str(), HasSubstr("changed.json:18:5: error: "));
  const auto summary = nlohmann::json::parse(out_.str());
  EXPECT_EQ(summary["verdict"], "rejected");
  EXPECT_EQ(summary["error"]["place"]["line"], 18);
}

TEST_F(ProgramTest, BrokenDocumentIsSix) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", Put("bad.json", "{\"schema\":")}), 6);
  EXPECT_THAT(err_.str(), HasSubstr("bad.json:1:11: error: this is not JSON"));
}

TEST_F(ProgramTest, UnknownOperatorIsEight) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", Changed("\"op\": \"ReLU\"", "\"op\": \"ReLUU\"")}), 8);
  EXPECT_THAT(err_.str(), HasSubstr("unsupported: operator 'ReLUU'"));
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'ReLU'?"));
}

TEST_F(ProgramTest, SimulatedRankMustBeInTheDocumentsJob) {
  const std::string path = Changed("\"world_size\": 8", "\"world_size\": 4");
  EXPECT_EQ(RunMsrun({"--sim_level=0", "--sim_rank_id=5", path}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ranks are 0 to 3"));
}

TEST_F(ProgramTest, QuietPrintsNothing) {
  EXPECT_EQ(RunMsrun({"--sim_level=0", "--quiet", kExample}), 0);
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(ProgramTest, RunningTwiceGivesTheSameBytes) {
  ASSERT_EQ(RunMsrun({"--sim_level=0", kExample}), 0);
  const std::string first = *ReadFile(folder_ + "/communication.json", 1 << 20);
  ASSERT_EQ(RunMsrun({"--sim_level=0", "--threads=2", kExample}), 0);
  EXPECT_EQ(*ReadFile(folder_ + "/communication.json", 1 << 20), first);
}

TEST_F(ProgramTest, MemoryLimitIsSevenOnlyIfAskedFor) {
  // 0.00001 GiB = 10,737 bytes; two weights and their moments alone take
  // 2 * (32/4 * 64 + 64/2 * 16/2) * 4 B = 6 KiB, and activations and gradients come on top.
  const Words limit = {"--sim_level=1", "--device_memory=0.00001GB", kExample};
  EXPECT_EQ(RunMsrun(limit), 0) << err_.str();
  Words asked = limit;
  asked.insert(asked.begin(), "--fail_on_memory");
  EXPECT_EQ(RunMsrun(asked), 7) << out_.str();
  EXPECT_THAT(err_.str(), HasSubstr("error[MEMORY_LIMIT]: ranks 0-7 need"));
  EXPECT_THAT(Names(), UnorderedElementsAre("communication.json", "memory.json", "summary.json"));
}

TEST_F(ProgramTest, StrictRefusesWhatIsOnlyHandledInPart) {
  // SqrtGrad is in the table without a sharding rule: it runs replicated, which is a diagnostic.
  const std::string path = Put("partly.json", R"({"schema":"drydock.graph/1",
    "job":{"mode":"semi_auto_parallel"},"inputs":[{"name":"x","shape":[2,8],"dtype":"float32"}],
    "nodes":[{"op":"SqrtGrad","inputs":["x","x"],"outputs":["y"]}],"outputs":["y"]})");
  EXPECT_EQ(RunMsrun({"--sim_level=0", path}), 0) << err_.str();
  EXPECT_EQ(RunMsrun({"--sim_level=0", "--strict", path}), 8);
  EXPECT_THAT(err_.str(),
              HasSubstr("partly.json:3:14: unsupported: 'SqrtGrad' has no sharding rule"));
}

TEST_F(ProgramTest, UnknownOperatorWithGivenTypesIsEightOnlyIfAskedFor) {
  const std::string path = Changed(
      "\"op\": \"ReLU\"",
      "\"output_types\": [{\"shape\": [16, 64], \"dtype\": \"float32\"}], \"op\": \"Mystery\"");
  EXPECT_EQ(RunMsrun({"--sim_level=0", path}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("unknown-operator"));
  EXPECT_EQ(RunMsrun({"--sim_level=0", "--strict", path}), 8);
  EXPECT_THAT(err_.str(), HasSubstr("changed.json:19:5: unsupported: 'Mystery' has no sharding"));
}

TEST_F(ProgramTest, ScriptThatComputesNothingIsSix) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", Put("empty.py", "pass\n")}), 6);
  EXPECT_THAT(err_.str(), HasSubstr("error[NOTHING_TRACED]"));
}

TEST_F(ProgramTest, ScriptThatRaisesIsSixAtItsLine) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", "python3", Put("bad.py", "x = 1\nraise KeyError(x)\n")}), 6);
  EXPECT_THAT(err_.str(), ContainsRegex("bad.py:2(:[0-9]+)?: error: KeyError"));
}

TEST_F(ProgramTest, ScriptBeyondTheTimeLimitIsSix) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", "--trace_timeout=1", Put("slow.py", "while True: pass\n")}),
            6);
}

TEST_F(ProgramTest, MissingInterpreterIsThree) {
  EXPECT_EQ(RunMsrun({"--sim_level=1", "--python=/no/such/python", Put("net.py", "pass\n")}), 3);
}

TEST_F(ProgramTest, OperatorsAreListed) {
  EXPECT_EQ(Run({"drydock", "list_operators"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("MatMul(transpose_a=False, transpose_b=False)"));
  EXPECT_EQ(Run({"drydock", "list_operators", "--json"}), 0);
  const auto table = nlohmann::json::parse(out_.str());
  const auto matmul = std::ranges::find_if(
      table["operators"], [](const nlohmann::json& row) { return row["name"] == "MatMul"; });
  ASSERT_NE(matmul, table["operators"].end());
  EXPECT_EQ((*matmul)["sharding"], true);
  EXPECT_EQ((*matmul)["reference"], true);
  // [m, k] x [k, n] -> [m, n]; cutting k leaves partial sums (docs/sharding.md).
  EXPECT_EQ((*matmul)["may_be_cut"]["inputs"], nlohmann::json::parse(R"([["a","b"],["b","c"]])"));
  EXPECT_EQ((*matmul)["may_be_cut"]["outputs"], nlohmann::json::parse(R"([["a","c"]])"));
  EXPECT_EQ((*matmul)["communication"],
            nlohmann::json::parse(R"([{"collective":"AllReduce","reduce":"sum","axis":"b"}])"));
  EXPECT_EQ((*matmul)["gradient"], "yes");
  const std::string listed = out_.str();
  EXPECT_EQ(Run({"msrun", "--worker_num", "4", "--json", "--list_operators"}), 0);
  EXPECT_EQ(out_.str(), listed);
  EXPECT_EQ(Run({"msrun", "--list_operators", "net.py"}), 2);
  EXPECT_EQ(Run({"drydock", "list_operators", "x"}), 2);
}

}  // namespace
}  // namespace drydock::launcher
