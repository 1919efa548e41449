#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "sim/calibration/kernel_trace.h"
#include "sim/calibration/memory_block.h"
#include "sim/calibration/workspace_table.h"
#include "sim/memory/alignment.h"
#include "sim/timing/hardware_text.h"
#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

HardwareProfile Profile(const std::string& name) {
  std::ifstream file(SourceDir() + "/sim/timing/hardware/" + name + ".json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto profile = ParseHardwareProfile(text, name);
  EXPECT_TRUE(profile);
  return profile ? *profile : HardwareProfile{.levels = {{}}};
}

TEST(HardwareText, ReadsBackToTheSameProfile) {
  for (const char* name : {"910B", "910C", "A100-80", "H200", "cpu-test"}) {
    const HardwareProfile profile = Profile(name);
    const std::string text = HardwareProfileText(profile);
    const auto again = ParseHardwareProfile(text, "again.json");
    ASSERT_TRUE(again) << FormatError(again.error());
    EXPECT_EQ(HardwareProfileText(*again), text);
    EXPECT_EQ(again->levels.size(), profile.levels.size());
    EXPECT_EQ(again->memory_bytes_per_second, profile.memory_bytes_per_second);
    EXPECT_EQ(again->efficiency[0].At(1e10), profile.efficiency[0].At(1e10));
  }
}

// ---- memory_block.csv ---------------------------------------------------------------------------

constexpr std::string_view kBlocks =
    "start_time_stamp,end_time_stamp,device_addr,size,type,producer_task,task_name,node_name,\n"
    "1,9,0x10,4608,Weight,1,w,w,\n"
    "2,9,0x20,1024,Kernel,7,7_Default/net/MatMul-op3,Default/net/MatMul-op3,\n"
    "3,4,0x30,2048,WorkSpace,7,7_Default/net/MatMul-op3,Default/net/MatMul-op3,\n"
    "4,5,0x40,512,WorkSpace,7,7_Default/net/MatMul-op3,Default/net/MatMul-op3,\n"
    "5,9,0x50,1024,Kernel,8,8_Default/net/MatMul-op4,Default/net/MatMul-op4,\n"
    "6,9,0x60,512,Kernel,9,9_Default/Softmax-op1,Default/Softmax-op1,\n";

TEST(MemoryBlocks, GiveWorkspacesByKernelAndSizesOfResults) {
  const auto table = WorkspacesOfBlocks(kBlocks, "blocks.csv");
  ASSERT_TRUE(table) << FormatError(table.error());
  ASSERT_EQ(table->entries.size(), 2U);
  // 2048 + 512 of the first MatMul, none of the second: the larger counts. Less 32 spare bytes it
  // rounds to the same 2560.
  const auto bytes = table->Find({.kernel = "MatMul", .result_bytes = {1024}});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(AlignedBytes(*bytes), 2560);
  EXPECT_EQ(table->entries.at({.kernel = "MatMul", .result_bytes = {1024}}).kernels, 2);
  EXPECT_EQ(table->Find({.kernel = "Softmax", .result_bytes = {512}}), 0);
  EXPECT_FALSE(table->Find({.kernel = "MatMul", .result_bytes = {2048}}));
}

TEST(MemoryBlocks, OtherFilesAndTruncatedOnesAreRefused) {
  const auto fails = [](std::string_view text) {
    const auto table = WorkspacesOfBlocks(text, "blocks.csv");
    EXPECT_FALSE(table) << text;
    return table ? Error() : table.error();
  };
  EXPECT_NE(fails("a,b,c\n1,2,3\n").message.find("'size'"), std::string::npos);
  EXPECT_NE(fails("").message.find("no block"), std::string::npos);
  const std::string whole(kBlocks);
  const Error cut = fails(whole.substr(0, whole.find("7_Default")));
  ASSERT_TRUE(cut.place);
  EXPECT_EQ(cut.place->line, 3);
  EXPECT_FALSE(cut.hint.empty());
  EXPECT_EQ(fails("size,type,producer_task,node_name,\nxx,Kernel,1,a/B-op1,\n").place->line, 2);
}

TEST(WorkspaceTable, ReadsBackAndMerges) {
  WorkspaceTable table{.source = "a \"b\""};
  table.entries[{.kernel = "MatMul", .result_bytes = {512, 1024}}] = {.bytes = 77, .kernels = 3};
  table.entries[{.kernel = "MatMul", .result_bytes = {}}] = {.bytes = 0, .kernels = 1};
  const auto again = ParseWorkspaceTable(WorkspaceTableText(table), "t.json");
  ASSERT_TRUE(again) << FormatError(again.error());
  EXPECT_EQ(again->entries, table.entries);
  EXPECT_EQ(again->source, table.source);
  WorkspaceTable other{.source = "c"};
  other.entries[{.kernel = "MatMul", .result_bytes = {512, 1024}}] = {.bytes = 90, .kernels = 1};
  MergeWorkspaces(table, other);
  EXPECT_EQ(table.Find({.kernel = "MatMul", .result_bytes = {512, 1024}}), 90);
}

TEST(WorkspaceTable, BadOnesAreRefused) {
  for (
      const std::string_view text :
      {R"({"schema": "drydock.memory/1", "kernels": []})", R"({"kernels": []})",
       R"({"schema": "drydock.workspace/1", "source": "", "kernels": [{"kernel": "A", "result_bytes": [1], "workspace_bytes": -1, "seen": 1}]})",
       R"({"schema": "drydock.workspace/1", "source": "", "kernels": [{"kernel": "A", "result_bytes": 1}]})"}) {
    const auto table = ParseWorkspaceTable(text, "t.json");
    ASSERT_FALSE(table) << text;
    EXPECT_TRUE(table.error().place) << text;
  }
}

// ---- traces -------------------------------------------------------------------------------------

/// PyTorch: operators have shapes, kernels times, "External id" joins them. cpu-test: 1 TFLOP/s and
/// 100 GB/s, no launch. mm of [1000, 1000] x [1000, 500] is 1e9 operations; in 2 ms that is half of
/// the peak. add of 1e6 floats reads 8e6 bytes and writes 4e6; in 240 us that is half of the
/// bandwidth.
constexpr std::string_view kKineto = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
   "args": {"External id": 7, "Input Dims": [[1000, 1000], [1000, 500]], "Input type": ["float", "float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 20, "dur": 5,
   "args": {"External id": 8, "Input Dims": [[1000, 1000], [1000, 1000], []], "Input type": ["float", "float", "Scalar"]}},
  {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 100, "dur": 2000, "args": {"External id": 7}},
  {"ph": "X", "cat": "kernel", "name": "vectorized_elementwise_kernel", "pid": 0, "tid": 7, "ts": 2100, "dur": 240, "args": {"External id": 8}},
  {"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 9, "ts": 2100, "dur": 100, "args": {"External id": 99}}
]})";

/// MindSpore: times are texts, a flow joins an operator and its kernel.
constexpr std::string_view kMindSpore = R"([
  {"ph": "M", "name": "process_name", "pid": 4, "tid": 0, "args": {"name": "Ascend Hardware"}},
  {"ph": "X", "name": "Default/net/MatMul-op3", "pid": 2, "tid": 1, "ts": "10.5", "dur": "5.0",
   "args": {"Input Dims": [[1000, 1000], [1000, 500]], "Input type": ["float32", "float32"]}},
  {"ph": "s", "bp": "e", "cat": "async_npu", "name": "mindspore_to_npu", "id": "31", "pid": 2, "tid": 1, "ts": "11.0", "args": {}},
  {"ph": "f", "bp": "e", "cat": "async_npu", "name": "mindspore_to_npu", "id": "31", "pid": 4, "tid": 3, "ts": "50.25", "args": {}},
  {"ph": "X", "name": "aclnnMatmul_MatMulV3Common_MatMulV3", "pid": 4, "tid": 3, "ts": "50.25", "dur": "2000.0", "args": {}}
])";

TEST(KernelTrace, BothProfilersGiveTheSameShareOfThePeak) {
  const HardwareProfile cpu = Profile("cpu-test");
  const auto kineto = FitTrace(kKineto, "k.json", cpu);
  ASSERT_TRUE(kineto) << FormatError(kineto.error());
  EXPECT_EQ(kineto->kernels[static_cast<std::size_t>(EfficiencyKind::kProduct)], 1);
  EXPECT_NEAR(kineto->efficiency[static_cast<std::size_t>(EfficiencyKind::kProduct)].At(1e9), 0.5,
              1e-9);
  EXPECT_NEAR(kineto->efficiency[static_cast<std::size_t>(EfficiencyKind::kVector)].At(1.2e7), 0.5,
              1e-9);
  EXPECT_EQ(kineto->without_shapes, 1);
  const auto mindspore = FitTrace(kMindSpore, "m.json", cpu);
  ASSERT_TRUE(mindspore) << FormatError(mindspore.error());
  EXPECT_NEAR(mindspore->efficiency[static_cast<std::size_t>(EfficiencyKind::kProduct)].At(1e9),
              0.5, 1e-9);
}

TEST(KernelTrace, OtherFilesAndTruncatedOnesAreRefused) {
  const HardwareProfile cpu = Profile("cpu-test");
  for (const std::string_view text :
       {std::string_view("{}"), std::string_view("[]"), std::string_view("{\"traceEvents\": []}"),
        kKineto.substr(0, kKineto.size() / 2)}) {
    const auto fit = FitTrace(text, "k.json", cpu);
    ASSERT_FALSE(fit) << text;
    EXPECT_TRUE(fit.error().place) << text;
    EXPECT_FALSE(fit.error().message.empty());
  }
}

}  // namespace
}  // namespace drydock::sim
