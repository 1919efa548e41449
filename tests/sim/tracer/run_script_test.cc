#include "sim/tracer/run_script.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategies/document/json_codec.h"
#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

strategies::RankSet Ranks(std::vector<strategies::RankRange> ranges) {
  return {.ranges = std::move(ranges)};
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Scripts in a folder of their own; TMPDIR is a folder beside it that must be empty afterwards.
class TraceScriptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "drydock-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(folder_ + "/tmp");
  }

  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/tmp")) << "temporary files stay behind";
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string Write(const std::string& name, const std::string& text) const {
    std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  [[nodiscard]] ScriptJob Job(const std::string& script_text) const {
    ScriptJob job{.script = Write("net.py", script_text),
                  .python = "python3",
                  .world_size = 8,
                  .timeout_s = 60,
                  .trace_library = DRYDOCK_TRACE_LIBRARY,
                  .python_folder = SourceDir() + "/sim/tracer/python"};
    for (char** line = environ; *line != nullptr; ++line) {
      if (!std::string_view(*line).starts_with("TMPDIR=")) {
        job.environment.emplace_back(*line);
      }
    }
    job.environment.push_back("TMPDIR=" + folder_ + "/tmp");
    return job;
  }

  [[nodiscard]] Error ErrorOf(const std::string& script_text) const {
    const auto outcome = TraceScript(Job(script_text));
    return outcome ? Error{.message = "no error"} : outcome.error().error;
  }

  std::string folder_ = {};
};

constexpr const char* kNetwork = R"(
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

class Net(nn.Cell):
    def __init__(self, cuts=((2, 4), (4, 1))):
        super().__init__()
        self.w = Parameter(initializer("normal", [32, 16]), "w")
        self.matmul = ops.MatMul().shard(cuts)

    def construct(self, x):
        return self.matmul(x, self.w)

ms.communication.init(); ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
x = Tensor(shape=(2, 32), dtype=ms.float32)
)";

TEST_F(TraceScriptTest, NetworkBecomesADocument) {
  const auto outcome = TraceScript(Job(std::string(kNetwork) + "Net()(x)\n"));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  ASSERT_EQ(outcome->programs.size(), 1U);
  const auto document = strategies::ReadGraphDocument(outcome->programs[0].document, "trace", {});
  ASSERT_TRUE(document.has_value()) << FormatError(document.error());
  EXPECT_EQ(document->job.world_size, 8);
  EXPECT_EQ(document->job.mode, strategies::ParallelMode::kSemiAutoParallel);
  ASSERT_EQ(document->graph.nodes.size(), 1U);
  const strategies::Node& node = document->graph.nodes[0];
  EXPECT_EQ(node.op, "MatMul");
  EXPECT_EQ(node.instance_name, "matmul");
  EXPECT_EQ(node.scope, "Default");
  EXPECT_EQ(node.in_strategy, (strategies::Strategy{{2, 4}, {4, 1}}));
  EXPECT_EQ(PlaceOf(document->graph, node)->line, 13);  // the line of self.matmul(x, self.w)
  EXPECT_EQ(outcome->runs, (std::vector<ScriptRun>{{.rank = 0, .ranks = Ranks({{0, 7}})}}));
}

TEST_F(TraceScriptTest, SameScriptGivesSameBytes) {
  const ScriptJob job = Job(std::string(kNetwork) + "Net()(x)\n");
  const auto first = TraceScript(job);
  const auto second = TraceScript(job);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->programs[0].document, second->programs[0].document);
}

TEST_F(TraceScriptTest, ExceptionIsReportedAtTheUsersLine) {
  const Error error = ErrorOf("import mindspore\ndef f():\n    raise KeyError('k1')\nf()\n");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "KeyError: k1");
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->line, 3);
  EXPECT_THAT(error.notes, ::testing::ElementsAre(HasSubstr("net.py:4 in <module>")));
}

TEST_F(TraceScriptTest, FramesOfThePackageAreNotShown) {
  const Error error = ErrorOf("import mindspore as ms\nms.set_context(mode='graph')\n");
  EXPECT_THAT(error.message, HasSubstr("TypeError"));
  EXPECT_EQ(error.reason, "context:mode-type");
  EXPECT_THAT(FormatError(error), AllOf(HasSubstr("net.py:2"), Not(HasSubstr("context.py"))));
}

TEST_F(TraceScriptTest, ShapeMistakeNamesBothShapesAndTheLine) {
  const Error error =
      ErrorOf(std::string(kNetwork) + "Net()(Tensor(shape=(2, 31), dtype=ms.float32))\n");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("(16, 31)"), HasSubstr("(32, 16)")));
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->line, 13);
}

TEST_F(TraceScriptTest, SyntaxErrorHasPlace) {
  const Error error = ErrorOf("import os\nx = (1,\n");
  EXPECT_EQ(error.reason, "script:syntax");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(error.place.has_value());
  EXPECT_THAT(error.place->file, HasSubstr("net.py"));
}

TEST_F(TraceScriptTest, MissingModuleHasHint) {
  const Error error = ErrorOf("import no_such_module_at_all\n");
  EXPECT_EQ(error.reason, "script:missing-module");
  EXPECT_THAT(error.hint, HasSubstr("no_such_module_at_all"));
}

TEST_F(TraceScriptTest, ScriptWithoutNetworkIsNothingTraced) {
  EXPECT_EQ(ErrorOf("print('hello')\n").reason, "script:nothing-traced");
  EXPECT_TRUE(IsCausedBy(ErrorOf("print('hello')\n"), ScriptCause::kNothingTraced));
}

TEST_F(TraceScriptTest, ExitBeforeANetworkIsNothingTraced) {
  EXPECT_EQ(ErrorOf("import sys\nsys.exit(0)\n").reason, "script:nothing-traced");
  EXPECT_TRUE(IsCausedBy(ErrorOf("import sys\nsys.exit(0)\n"), ScriptCause::kNothingTraced));
}

TEST_F(TraceScriptTest, ExitStatusIsReported) {
  const Error error = ErrorOf("import sys\nsys.exit('no data')\n");
  EXPECT_EQ(error.reason, "script:exit");
  EXPECT_THAT(error.message, HasSubstr("exit status 1"));
  EXPECT_THAT(error.message, HasSubstr(": no data"));
}

TEST_F(TraceScriptTest, StreamsThatTheScriptClosesAreNoFailure) {
  const auto outcome = TraceScript(
      Job(std::string(kNetwork) + "Net()(x)\nimport sys\nsys.stdout.close()\nsys.stderr = None\n"));
  ASSERT_TRUE(outcome.has_value()) << outcome.error().error.message;
  EXPECT_EQ(outcome->programs.size(), 1U);
}

TEST_F(TraceScriptTest, WhatIsNoPythonIsToldApartFromAScriptThatEnds) {
  ScriptJob job = Job("print('hello')\n");
  job.python = "/bin/false";
  const auto outcome = TraceScript(job);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().error.reason, "script:no-interpreter");
  EXPECT_TRUE(IsCausedBy(outcome.error().error, ScriptCause::kNoInterpreter));
  EXPECT_THAT(outcome.error().error.message, HasSubstr("'/bin/false' ended with status 1"));
}

TEST_F(TraceScriptTest, ExitWithoutCollectionIsNoticed) {
  EXPECT_EQ(ErrorOf("import os\nos._exit(0)\n").reason, "script:gone");
}

TEST_F(TraceScriptTest, DeathBySignalIsReported) {
  const Error error = ErrorOf("import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)\n");
  EXPECT_EQ(error.reason, "script:killed");
  EXPECT_THAT(error.message, HasSubstr("signal 10"));
  EXPECT_EQ(error.hint, "");
}

TEST_F(TraceScriptTest, DeathInALibraryIsToldHowToFind) {
  const Error error = ErrorOf(
      "import os, resource\n"
      "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
      "os.abort()\n");
  EXPECT_EQ(error.reason, "script:killed");
  EXPECT_THAT(error.hint, HasSubstr("PYTHONFAULTHANDLER=1"));
}

TEST_F(TraceScriptTest, EndlessLoopEndsAtTheTimeLimit) {
  ScriptJob job = Job("while True:\n    pass\n");
  job.timeout_s = 1;
  const auto outcome = TraceScript(job);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kTimeout);
}

TEST_F(TraceScriptTest, InterruptEndsTheScriptAndIsReported) {
  // The script itself says when it is running: it sends us the signal.
  const auto outcome = TraceScript(
      Job("import os, signal\nos.kill(os.getppid(), signal.SIGINT)\nwhile True:\n    pass\n"));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(StopSignalOf(outcome.error().error), SIGINT);
}

TEST_F(TraceScriptTest, ProcessesOfTheScriptAreEnded) {
  // A grandchild in a session of its own writes its number and would live for ever.
  const auto outcome =
      TraceScript(Job("import os, subprocess, sys\n"
                      "p = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                      "open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pid'), "
                      "'w').write(str(p.pid))\n"));
  ASSERT_FALSE(outcome.has_value());
  pid_t pid = 0;
  std::ifstream(folder_ + "/pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::kill(pid, 0), -1);
}

// MindSpore has this layer, the stand-in does not.
TEST_F(TraceScriptTest, NameThatOnlyMindSporeHasIsUnsupportedWithItsFullName) {
  const Error error = ErrorOf("import mindspore as ms\nms.nn.MSSSIM(1.0)\n");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("mindspore.nn.MSSSIM"));
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->line, 2);
}

TEST_F(TraceScriptTest, NameThatNobodyHasIsTheScriptsMistake) {
  const Error error = ErrorOf("import mindspore as ms\nms.nn.Frobnicator(3)\n");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("'mindspore.nn'"), HasSubstr("'Frobnicator'")));
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->line, 2);
}

TEST_F(TraceScriptTest, MissingInterpreterIsReported) {
  ScriptJob job = Job("");
  job.python = "no-such-python";
  const auto outcome = TraceScript(job);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().error.reason, "script:no-interpreter");
  EXPECT_TRUE(IsCausedBy(outcome.error().error, ScriptCause::kNoInterpreter));
}

TEST_F(TraceScriptTest, UnreadableScriptIsReported) {
  ScriptJob job = Job("");
  job.script = folder_;
  const auto folder = TraceScript(job);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().error.reason, "script:unreadable");
  EXPECT_TRUE(IsCausedBy(folder.error().error, ScriptCause::kUnreadable));
  job.script = folder_ + "/absent.py";
  const auto absent = TraceScript(job);
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().error.reason, "script:unreadable");
  EXPECT_TRUE(IsCausedBy(absent.error().error, ScriptCause::kUnreadable));
}

TEST_F(TraceScriptTest, RankInTextNeedsOneRun) {
  const auto outcome =
      TraceScript(Job(std::string(kNetwork) +
                      "from mindspore.communication import get_rank, init\n"
                      "init()\nprint('rank %s' % get_rank(), get_rank() + 1)\nNet()(x)\n"));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  EXPECT_EQ(outcome->runs, (std::vector<ScriptRun>{{.rank = 0, .ranks = Ranks({{0, 7}})}}));
}

TEST_F(TraceScriptTest, BranchOnRankZeroNeedsTwoRuns) {
  const auto outcome =
      TraceScript(Job(std::string(kNetwork) + "from mindspore.communication import get_rank\n"
                                              "if get_rank() == 0:\n    first = True\nNet()(x)\n"));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  EXPECT_EQ(outcome->runs, (std::vector<ScriptRun>{{.rank = 0, .ranks = Ranks({{0, 0}})},
                                                   {.rank = 1, .ranks = Ranks({{1, 7}})}}));
  ASSERT_EQ(outcome->classes.size(), 1U);
  EXPECT_EQ(outcome->classes[0].ranks, Ranks({{0, 7}}));
}

/// A script that applies one more operator if `condition` holds.
std::string Fork(const std::string& condition) {
  return std::string(kNetwork) +
         "from mindspore.communication import get_rank\n"
         "net = Net()\n"
         "if " +
         condition + ":\n    net(x)\nelse:\n    ops.relu(net(x))\n";
}

TEST_F(TraceScriptTest, HalvesOfTheRanksBecomeTwoNetworks) {
  const auto outcome = TraceScript(Job(Fork("get_rank() < 4")));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  EXPECT_EQ(outcome->runs.size(), 2U);
  ASSERT_EQ(outcome->classes.size(), 2U);
  EXPECT_EQ(outcome->classes[0].ranks, Ranks({{0, 3}}));
  EXPECT_EQ(outcome->classes[1].ranks, Ranks({{4, 7}}));
  EXPECT_EQ(outcome->classes[1].rank, 4);
  EXPECT_THAT(outcome->asks, ::testing::ElementsAre(HasSubstr("net.py:19")));
}

TEST_F(TraceScriptTest, ParityBecomesTwoNetworks) {
  const auto outcome = TraceScript(Job(Fork("get_rank() % 2 == 0")));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  ASSERT_EQ(outcome->classes.size(), 2U);
  EXPECT_EQ(outcome->classes[1].ranks, Ranks({{1, 1}, {3, 3}, {5, 5}, {7, 7}}));
}

TEST_F(TraceScriptTest, ProgramsOfEveryRankStandInTheOrderOfTheScript) {
  // Rank 0 infers before it trains, the others train only.
  const auto outcome = TraceScript(
      Job(std::string(kNetwork) +
          "from mindspore.communication import get_rank\nnet = Net()\nif get_rank() == 0:\n"
          "    Net()(Tensor(shape=(4, 32), dtype=ms.float32))\nms.value_and_grad(net, None, "
          "net.trainable_params())(x)\n"));
  ASSERT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
  ASSERT_EQ(outcome->programs.size(), 2U);
  EXPECT_FALSE(outcome->programs[0].training);
  ASSERT_EQ(outcome->classes.size(), 2U);
  EXPECT_EQ(outcome->classes[0].described, 1U);
  EXPECT_EQ(outcome->classes[1].described, 1U);
  EXPECT_THAT(outcome->classes[0].programs, ::testing::ElementsAre(0U, 1U));
  EXPECT_EQ(outcome->classes[0].ranks, Ranks({{0, 0}}));
  EXPECT_THAT(outcome->classes[1].programs, ::testing::ElementsAre(1U));
  EXPECT_EQ(outcome->classes[1].ranks, Ranks({{1, 7}}));
}

TEST_F(TraceScriptTest, ErrorOnOtherRanksSaysWhichRankItIs) {
  const Error error = ErrorOf(std::string(kNetwork) +
                              "from mindspore.communication import get_rank\n"
                              "if get_rank() >= 6:\n    raise ValueError('not here')\nNet()(x)\n");
  EXPECT_EQ(error.reason, "script:exception");
  ASSERT_FALSE(error.notes.empty());
  EXPECT_THAT(error.notes.back(), AllOf(HasSubstr("run as rank 6"), HasSubstr("net.py:18")));
}

TEST_F(TraceScriptTest, MoreWaysThanRunsAreUnsupportedWithTheLine) {
  ScriptJob job = Job(std::string(kNetwork) +
                      "from mindspore.communication import get_rank\n"
                      "y = Net()(x)\n"
                      "for _ in range(get_rank()):\n    y = ops.relu(y)\n");
  job.max_traces = 3;  // each of the 8 ranks asks for one of its own
  const auto outcome = TraceScript(job);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(outcome.error().error.reason, "script:rank-dependent");
  EXPECT_THAT(outcome.error().error.message, HasSubstr("net.py:19"));
}

TEST_F(TraceScriptTest, ArgumentsAndEnvironmentReachTheScript) {
  ScriptJob job =
      Job(std::string(kNetwork) +
          "import os, sys\n"
          "assert sys.argv[1:] == ['--a b', 'c'], sys.argv\n"
          "assert os.environ['RANK_SIZE'] == '8' and os.environ['MS_WORKER_NUM'] == '8'\n"
          "assert os.environ['MS_SIMULATION_LEVEL'] == '1'\n"
          "assert sys.stdin.read() == ''\n"
          "Net()(x)\n");
  job.arguments = {"--a b", "c"};
  const auto outcome = TraceScript(job);
  EXPECT_TRUE(outcome.has_value()) << FormatError(outcome.error().error);
}

}  // namespace
}  // namespace drydock::sim
