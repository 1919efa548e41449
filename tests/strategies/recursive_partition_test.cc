#include "strategies/passes/choose/recursive_partition.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/strategies/op_cases.h"

// Cuts of the recursive search beside those of MindSpore's own code: tests/vectors/search.json is
// the output of its partition and cost sources, compiled and run on these graphs.
namespace drydock::strategies {
namespace {

using cases::json;

RecursiveRole RoleOf(const std::string& type) {
  static const std::map<std::string, RecursiveRole> kRoles = {
      {"MatMul", RecursiveRole::kMatMul},
      {"Convolution", RecursiveRole::kConvolution},
      {"Pooling", RecursiveRole::kPooling},
      {"BatchNorm", RecursiveRole::kBatch}};
  return kRoles.at(type);
}

RecursiveNode NodeOf(const json& item) {
  RecursiveNode node;
  node.role = RoleOf(item["type"]);
  node.arguments = item["args"].get<std::vector<Four>>();
  node.result = item["out"].get<Four>();
  node.producers = item["producers"].get<std::vector<std::size_t>>();
  for (const std::size_t consumer : item["consumers"].get<std::vector<std::size_t>>()) {
    node.consumers.push_back({.node = consumer});
  }
  if (item.contains("aux_producers")) {
    for (const json& pair : item["aux_producers"]) {
      node.auxiliaries.push_back({.node = pair[0], .argument = pair[1]});
    }
  }
  if (item.contains("pinned")) {
    node.pinned = true;
    node.argument_cuts = {item["pinned"]["args"][0].get<Four>(),
                          item["pinned"]["args"][1].get<Four>()};
    node.result_cuts = item["pinned"]["out"].get<Four>();
  }
  return node;
}

TEST(RecursivePartitionTest, CutsAsMindSporeDoes) {
  const json document = cases::VectorDocument("search.json");
  ASSERT_EQ(document["recursive"].size(), 46U);
  for (const json& graph : document["recursive"]) {
    SCOPED_TRACE(graph["name"].get<std::string>());
    std::vector<RecursiveNode> nodes;
    for (const json& item : graph["nodes"]) {
      nodes.push_back(NodeOf(item));
    }
    PartitionRecursively(nodes, {.devices = graph["devices"],
                                 .stages = graph["stages"],
                                 .micro_batch_size = graph["micro_batch_size"],
                                 .batch_cut_weight = graph["rp_matmul_mem_coef"]});
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      SCOPED_TRACE(graph["nodes"][n]["name"].get<std::string>());
      const json& wanted = graph["result"][n];
      EXPECT_EQ(nodes[n].argument_cuts[0], wanted["arg0"].get<Four>());
      EXPECT_EQ(nodes[n].argument_cuts[1], wanted["arg1"].get<Four>());
      EXPECT_EQ(nodes[n].result_cuts, wanted["out"].get<Four>());
    }
  }
}

// 24 = 2 * 2 * 2 * 3. A halving of rows costs columns * inner / 2 * 0.1, of columns rows * inner /
// 2 = 24 * 1024 / 2 = 12288. Columns 1536, 768, 384: rows cost 78643, 39322, 19661, so columns are
// halved three times. Of thirds, rows cost 192 * 1024 * 2/3 * 0.1 = 13107, columns
// 24 * 1024 * 2/3 = 16384: rows are cut.
TEST(RecursivePartitionTest, CutsForAnyNumberOfRanks) {
  std::vector<RecursiveNode> nodes(1);
  nodes[0].role = RecursiveRole::kMatMul;
  nodes[0].arguments = {Four{1, 1, 24, 1024}, Four{1, 1, 1024, 1536}};
  nodes[0].result = {1, 1, 24, 1536};
  PartitionRecursively(nodes, {.devices = 24});
  EXPECT_EQ(nodes[0].argument_cuts[0], (Four{1, 1, 3, 1}));
  EXPECT_EQ(nodes[0].argument_cuts[1], (Four{1, 1, 1, 8}));
}

}  // namespace
}  // namespace drydock::strategies
