#include <algorithm>
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
  for (const std::string_view text : {"size,kernel", R"({"kernels": []})", "{"}) {
    EXPECT_FALSE(ParseWorkspaceTable(text, "t.json").error().hint.empty()) << text;
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
  EXPECT_EQ(kineto->without_shapes, 0);
  EXPECT_EQ(kineto->collectives.left_out, 1);  // "nccl" says neither what nor how much.
  const auto mindspore = FitTrace(kMindSpore, "m.json", cpu);
  ASSERT_TRUE(mindspore) << FormatError(mindspore.error());
  EXPECT_NEAR(mindspore->efficiency[static_cast<std::size_t>(EfficiencyKind::kProduct)].At(1e9),
              0.5, 1e-9);
}

/// One kernel of fused attention and its backward pass, [1, 1000, 10, 50] each. Forward 2 * 10 *
/// 1000
/// * 1000 * (50 + 50) = 2e9 operations, half of it causal; backward 2.5 times as many. In 2 ms and
/// 5 ms that is half of the peak of cpu-test.
constexpr std::string_view kAttention = R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::_flash_attention_forward", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
   "args": {"External id": 7, "Input Dims": [[1, 1000, 10, 50], [1, 1000, 10, 50], [1, 1000, 10, 50], [], [], [], [], [], []],
            "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "Scalar", "Scalar", "Scalar", "Scalar"],
            "Concrete Inputs": ["", "", "", "", "", "1000", "1000", "0.", "True"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::_flash_attention_backward", "pid": 1, "tid": 1, "ts": 20, "dur": 5,
   "args": {"External id": 8, "Input Dims": [[1, 1000, 10, 50], [1, 1000, 10, 50], [1, 1000, 10, 50], [1, 1000, 10, 50]],
            "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"],
            "Concrete Inputs": ["", "", "", "", "", "", "", "", "1000", "1000", "0.", "True"]}},
  {"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "pid": 0, "tid": 7, "ts": 100, "dur": 2000, "args": {"External id": 7}},
  {"ph": "X", "cat": "kernel", "name": "flash_bwd_kernel", "pid": 0, "tid": 7, "ts": 9100, "dur": 5000, "args": {"External id": 8}}
]})";

TEST(KernelTrace, AttentionIsFittedWithItsBackwardPass) {
  const auto fit = FitTrace(kAttention, "k.json", Profile("cpu-test"));
  ASSERT_TRUE(fit) << FormatError(fit.error());
  const auto kind = static_cast<std::size_t>(EfficiencyKind::kAttention);
  EXPECT_EQ(fit->kernels[kind], 2);
  EXPECT_NEAR(fit->efficiency[kind].At(1e9), 0.5, 1e-9);
  EXPECT_NEAR(fit->efficiency[kind].At(2.5e9), 0.5, 1e-9);
  // MindSpore's (batch, tokens, width of all heads): the same work.
  const auto mindspore = FitTrace(R"([
    {"ph": "M", "name": "process_name", "pid": 4, "tid": 0, "args": {"name": "Ascend Hardware"}},
    {"ph": "X", "name": "Default/net/FlashAttentionScore-op3", "pid": 4, "tid": 3, "ts": "50.25", "dur": "2000.0",
     "args": {"Input Dims": [[1, 1000, 500], [1, 1000, 500], [1, 1000, 500]], "Input type": ["float16", "float16", "float16"]}}])",
                                  "m.json", Profile("cpu-test"));
  ASSERT_TRUE(mindspore) << FormatError(mindspore.error());
  EXPECT_NEAR(mindspore->efficiency[kind].At(1e9), 0.5, 1e-9);
}

/// AllGathers over 8 neighbours (7 steps, 7 / 8 of the bytes) and ReduceScatters over 4 that lie
/// one in a node (3 steps, 3 / 4), as if steps took `latency` and links gave `share`.
std::string Collectives(const HardwareProfile& profile, double latency, double share) {
  std::string text = R"({"traceEvents": [)";
  int at = 0;
  for (const double elements : {1e4, 1e6, 1e8}) {
    for (const double late : {2.0, 1.0}) {  // The first one waits for somebody as long as it takes.
      const double inside = late * 1e6 *
                            (profile.collective_launch_seconds + 7 * latency +
                             2 * elements * 7 / 8 / (profile.levels[0].bytes_per_second * share));
      const double outside = late * 1e6 *
                             (profile.collective_launch_seconds + 3 * latency +
                              4 * elements * 3 / 4 / (profile.levels[1].bytes_per_second * share));
      const std::string number = std::to_string(static_cast<long long>(elements));
      text += (at == 0 ? "" : ",");
      text +=
          R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "pid": 0, "tid": 1, "ts": )" +
          std::to_string(++at) + R"(, "dur": )" + std::to_string(inside) +
          R"(, "args": {"Collective name": "_allgather_base", "Out msg nelems": )" + number +
          R"(, "In msg nelems": 1, "dtype": "BFloat16", "Group size": 8, "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}},)";
      // Here the host's operator says what the kernel does not.
      text +=
          R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": )" +
          std::to_string(at + 1) + R"(, "dur": 1, "args": {"External id": )" + std::to_string(at) +
          R"(, "Collective name": "_reduce_scatter_base", "In msg nelems": )" + number +
          R"(, "Out msg nelems": 1, "dtype": "Float", "Group size": 4, "Process Group Ranks": "[0, 8, 16, 24]"}},)";
      text +=
          R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "pid": 0, "tid": 1, "ts": )" +
          std::to_string(at + 100) + R"(, "dur": )" + std::to_string(outside) +
          R"(, "args": {"External id": )" + std::to_string(at) + "}}";
    }
  }
  return text + "]}";
}

TEST(KernelTrace, CollectivesGiveLatencyAndBandwidthOfTheirLevel) {
  HardwareProfile profile = Profile("A100-80");
  const auto fit = FitTrace(Collectives(profile, 9e-6, 0.5), "k.json", profile);
  ASSERT_TRUE(fit) << FormatError(fit.error());
  ASSERT_EQ(fit->collectives.levels.size(), 2U);
  for (const LevelFit& level : fit->collectives.levels) {
    EXPECT_EQ(level.transfers, 6);
    EXPECT_NEAR(level.latency_seconds, 9e-6, 1e-8);
    EXPECT_NEAR(level.efficiency, 0.5, 1e-3);
    EXPECT_LT(level.mean_error, 1e-3);
  }
  EXPECT_EQ(fit->without_shapes, 0);
  ApplyCollectives(fit->collectives, "k.json", profile);
  EXPECT_NEAR(profile.levels[1].efficiency, 0.5, 1e-3);
  EXPECT_TRUE(std::ranges::any_of(profile.sources, [](const NumberSource& one) {
    return one.field == "levels.rail.efficiency" && one.origin == "fitted" &&
           one.source == "6 transfers of k.json";
  }));
}

/// Ascend's transfer of 12.5 MB over RoCE, beside 16 neighbours, which are two nodes, and a
/// barrier, which has no size.
constexpr std::string_view kAscendTransfers = R"json([
  {"ph": "M", "name": "process_name", "pid": 4, "tid": 0, "args": {"name": "Communication"}},
  {"ph": "X", "name": "a", "cat": "kernel", "pid": 0, "tid": 1, "ts": 1, "dur": 900,
   "args": {"Collective name": "allreduce", "In msg nelems": 1000000, "dtype": "Float", "Group size": 16}},
  {"ph": "X", "name": "b", "cat": "kernel", "pid": 0, "tid": 1, "ts": 2, "dur": 900, "args": {"Collective name": "barrier"}},
  {"ph": "X", "name": "Memcpy", "pid": 4, "tid": 1, "ts": "3", "dur": "1000",
   "args": {"link type": "RoCE", "transport type": "RDMA", "size(Byte)": 12500000, "src rank": 0, "dst rank": 8}}
])json";

TEST(KernelTrace, GroupsOverSeveralLevelsAndUnknownKindsAreLeftOut) {
  const HardwareProfile profile = Profile("910B");
  const auto fit = FitTrace(kAscendTransfers, "m.json", profile);
  ASSERT_TRUE(fit) << FormatError(fit.error());
  EXPECT_EQ(fit->collectives.left_out, 2);
  ASSERT_EQ(fit->collectives.levels.size(), 1U);
  const NetworkLevel& rail = profile.levels[fit->collectives.levels[0].level];
  EXPECT_EQ(rail.name, "rail");
  // One size says nothing of the latency: it stays. 12.5 MB in 1 ms less latency and launch.
  const double rest = 1e-3 - profile.collective_launch_seconds - rail.latency_seconds;
  EXPECT_NEAR(fit->collectives.levels[0].efficiency,
              12.5e6 / rest / (rail.bytes_per_second / rail.oversubscription), 1e-6);
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
