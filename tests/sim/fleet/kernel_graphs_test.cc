// kernel_graphs.json: kernel graphs that MindSpore 2.10 ran
// (tests/reference/record_kernel_graph.py), through our order of kernels and our memory run. Order
// and both peaks must be the recorded ones.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/fleet/memory_plan.h"
#include "sim/memory/lifetimes.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/schedule/delay.h"
#include "strategies/passes/schedule/exec_order.h"
#include "strategies/passes/schedule/streams.h"
#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using strategies::KernelGraph;
using strategies::KernelId;
using strategies::KernelKind;
using strategies::KernelNode;
using strategies::KernelResult;
using strategies::LocalProgram;
using strategies::OpEntry;
using strategies::OpKind;

json ReadGraphs() {
  std::ifstream file(SourceDir() + "/tests/vectors/kernel_graphs.json");
  return json::parse(file);
}

KernelKind KindNamed(const std::string& name) {
  static const std::map<std::string, KernelKind> kKinds = {
      {"parameter", KernelKind::kParameter}, {"input", KernelKind::kInput},
      {"state", KernelKind::kState},         {"kernel", KernelKind::kKernel},
      {"load", KernelKind::kLoad},           {"update", KernelKind::kUpdateState},
      {"depend", KernelKind::kDepend},       {"tuple", KernelKind::kMakeTuple},
      {"item", KernelKind::kTupleGetItem},   {"return", KernelKind::kReturn}};
  return kKinds.at(name);
}

strategies::TensorType Bytes(std::int64_t bytes) {
  return {.shape = {bytes}, .dtype = strategies::DType::kUInt8};
}

/// What is known of an operator by its name.
void AddFacts(KernelNode& node) {
  if (const OpEntry* entry = strategies::FindOp(node.name)) {
    node.runs_late = entry->runs_late;
    node.view = entry->kind == OpKind::kReshape || entry->kind == OpKind::kView;
  }
}

KernelNode NodeOf(const json& line) {
  KernelNode node{.kind = KindNamed(line[0]), .name = line[1].get<std::string>()};
  for (const std::int32_t input : line[2]) {
    node.inputs.push_back(KernelId{input});
  }
  std::vector<KernelResult> results;
  for (const std::int64_t bytes : line[3]) {
    results.push_back({.type = Bytes(bytes)});
  }
  if (node.kind == KernelKind::kTupleGetItem) {
    node.item = std::stoi(node.name.str());
  }
  if (node.kind == KernelKind::kState) {
    results.emplace_back();
  }
  if (node.kind != KernelKind::kKernel) {
    node.results = std::move(results);
    return node;
  }
  AddFacts(node);
  for (std::size_t i = 0; i < line[4].size(); ++i) {
    results[i].shares = line[4][i];
    node.update = true;
  }
  node.results = std::move(results);
  const std::string group = line[5];
  if (!group.empty()) {
    node.communication = true;
    // A pattern that no other group of the graph has.
    node.group.emplace().digits = {
        {.stride = static_cast<std::int64_t>(std::hash<std::string>()(group) >> 1), .extent = 2}};
    node.fusible = line[6] != 0;
  }
  return node;
}

LocalProgram ProgramOf(const json& recorded) {
  LocalProgram program;
  KernelGraph& graph = program.kernels;
  for (const json& line : recorded.at("nodes")) {
    graph.nodes.push_back(NodeOf(line));
    KernelNode& node = graph.nodes.back();
    if (node.kind == KernelKind::kParameter) {
      const ValueId value{static_cast<std::int32_t>(program.local.values.size())};
      program.local.values.push_back(
          {.kind = strategies::ValueKind::kParameter,
           .detail = static_cast<std::int32_t>(program.local.parameters.size())});
      program.local.parameters.push_back({.value = value});
      KernelResult result = node.results.front();
      result.value = value;
      node.results.Set(0, std::move(result));
    }
  }
  graph.result = KernelId{static_cast<std::int32_t>(graph.nodes.size()) - 1};
  graph.outputs = {graph.at(graph.result).inputs.front()};
  return program;
}

/// The recording leaves scalar arguments out; the first kernel takes them all.
void AddConstants(KernelGraph& graph, const json& recorded) {
  const KernelId first = graph.launches[0].kernel != strategies::kNoKernel
                             ? graph.launches[0].kernel
                             : KernelId{recorded.at("order")[0].get<std::int32_t>()};
  for (const std::int64_t bytes : recorded.at("constants")) {
    const KernelId id{static_cast<std::int32_t>(graph.nodes.size())};
    // Blocks are recorded as they lie in memory: tensors are 32 bytes smaller at least.
    graph.nodes.push_back(
        {.kind = KernelKind::kConstant, .results = {{.type = Bytes(bytes - 32)}}});
    graph.at(first).inputs.push_back(id);
  }
}

/// Names a case in messages.
struct Recorded {
  json graph = {};
};

std::vector<Recorded> Cases() {
  std::vector<Recorded> cases;
  for (const json& graph : ReadGraphs()) {
    cases.push_back({.graph = graph});
  }
  return cases;
}

void PrintTo(const Recorded& recorded, std::ostream* out) {
  *out << recorded.graph.at("name").get<std::string>();
}

class RecordedGraph : public testing::TestWithParam<Recorded> {
 protected:
  static const json& graph() { return GetParam().graph; }
};

TEST_P(RecordedGraph, KernelsRunInTheRecordedOrder) {
  const LocalProgram program = ProgramOf(graph());
  std::vector<std::int32_t> order;
  for (const KernelId id : DelayKernels(program.kernels, ExecOrder(program.kernels))) {
    order.push_back(static_cast<std::int32_t>(id));
  }
  EXPECT_EQ(order, graph().at("order").get<std::vector<std::int32_t>>());
}

TEST_P(RecordedGraph, PeaksAreTheRecordedOnes) {
  LocalProgram program = ProgramOf(graph());
  program.kernels.launches = AssignStreams(
      program.kernels, DelayKernels(program.kernels, ExecOrder(program.kernels)), program.local);
  AddConstants(program.kernels, graph());
  const auto profile = ProfileMemory(PlanMemory(program), {.steps = graph().at("steps")});
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->used_peak_bytes, graph().at("used_peak_bytes"));
  EXPECT_EQ(profile->actual_peak_bytes, graph().at("actual_peak_bytes"));
}

std::string NameOf(const testing::TestParamInfo<Recorded>& info) {
  return info.param.graph.at("name");
}

INSTANTIATE_TEST_SUITE_P(MindSpore, RecordedGraph, testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace drydock::sim
