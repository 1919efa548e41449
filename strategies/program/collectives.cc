#include "strategies/program/collectives.h"

#include <set>

#include "base/checked.h"

/// Who the collectives are is said by the kind of their entries; what they send by its facts.
namespace drydock::strategies {
namespace {

std::int64_t PayloadBytes(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  // What a Receive takes is there for the order only.
  const bool receives = PointToPointOf(node) == PointToPoint::kReceives;
  for (const ValueId input : receives ? node.outputs : node.inputs) {
    bytes = input == kNoValue ? bytes : AddSaturated(bytes, ByteSize(graph.at(input).type));
  }
  return bytes;
}

/// Nodes whose kernels a rank launches, as it does, once for each micro batch; those that became no
/// kernel of their own follow.
std::vector<NodeId> AsIssued(const LocalProgram& program) {
  // Per node: micro batches whose kernels were met. A node may be several kernels of each.
  std::vector<std::set<std::int32_t>> listed(program.local.nodes.size());
  std::vector<NodeId> issued;
  const auto list = [&](NodeId id, std::int32_t micro) {
    if (CollectiveOf(program.local.at(id)) != nullptr && listed[ToIndex(id)].insert(micro).second) {
      issued.push_back(id);
    }
  };
  for (const Launch& launch : program.kernels.launches) {
    if (launch.kind != Launch::Kind::kKernel) {
      continue;
    }
    const KernelNode& kernel = program.kernels.at(launch.kernel);
    if (kernel.origin == kNoNode || ToIndex(kernel.origin) >= listed.size()) {
      continue;
    }
    // What is moved around a collective runs at another time than the collective itself.
    if (kernel.communication) {
      list(kernel.origin, kernel.micro);
    }
  }
  for (std::size_t n = 0; n < listed.size(); ++n) {
    if (listed[n].empty()) {
      list(NodeId{static_cast<std::int32_t>(n)}, -1);
    }
  }
  return issued;
}

}  // namespace

bool RunsEachStep(const Node& node) {
  return BoolAttr(node.attrs, "each_step", true).value_or(true);
}

std::vector<CollectiveUse> CollectivesOf(const LocalProgram& program) {
  std::vector<CollectiveUse> uses;
  for (const NodeId id : AsIssued(program)) {
    const Node& node = program.local.at(id);
    const CollectiveFacts* facts = CollectiveOf(node);
    if (facts == nullptr || !RunsEachStep(node)) {
      continue;
    }
    CollectiveUse use{
        .node = id, .group = *node.group, .payload_bytes = PayloadBytes(program.local, node)};
    if (const std::int64_t size = GroupSize(use.group); size > 1) {
      const SentBytes sent = facts->sent({.graph = program.local,
                                          .node = node,
                                          .payload_bytes = use.payload_bytes,
                                          .group_size = size});
      use.sent_bytes = sent.most;
      use.least_sent_bytes = sent.least;
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace drydock::strategies
