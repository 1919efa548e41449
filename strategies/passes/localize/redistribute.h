#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/job_config.h"
#include "strategies/layout/redistribution.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {

/// What a redistribution looks like to people and to IR dumps.
struct RedistributionLabel {
  std::string producer_name = {};  ///< Full name of the producing node, hashed into instance names.
  std::string reason_text = {};    ///< "MatMul-op0 -> ReLU-op0".
  bool trailing_underscore = true;  ///< Instance names of releases after 2.2 end in "_".
};

/// How the release and the settings of a job redistribute: AlltoAll if asked for; release 2.0 takes
/// the steps as they are found, later ones put them together (redistribution_optimizer.cc).
/// Source: mindspore/ccsrc/frontend/parallel/parallel_processer.cc
/// (OptimizeTensorRedistributionOperatorList), which 2.0 does not have
[[nodiscard]] RedistributionOptions OptionsOf(const JobConfig& config);

/// Appends the operators of a redistribution (InferRedistribution) of `value` and returns the
/// result; the value itself if nothing has to be done.
/// @error kUnsupported  a step makes a tensor of more dimensions than kernels take
[[nodiscard]] Result<ValueId> EmitRedistribution(GraphBuilder& builder, ValueId value,
                                                 const std::vector<RedistributionOp>& chain,
                                                 const RedistributionLabel& label,
                                                 const NodeSpec& base);

/// Name of the primitive instance number `position` of a redistribution.
[[nodiscard]] std::string RedistributionInstanceName(const RedistributionLabel& label,
                                                     std::size_t position, std::string_view op);

/// Operator and attributes of a primitive, without group.
[[nodiscard]] std::string_view OpNameOf(RedistributionOp::Kind kind);
[[nodiscard]] AttrMap AttrsOf(const RedistributionOp& op);

/// Appends one collective with its group, size and reason.
[[nodiscard]] Result<ValueId> EmitCollective(GraphBuilder& builder, NodeSpec spec,
                                             const GroupPattern& group, CommReason reason,
                                             std::string reason_text);

/// Whether recomputation repeats the nodes from `first_new_node` on, if a traced node says so for
/// its communication (Cell.recompute(mp_comm_recompute=...)).
/// Source: mindspore/ccsrc/frontend/parallel/parallel_processer.cc (InsertRedistribution)
void MarkCommunication(GraphBuilder& builder, const Node& traced, std::size_t first_new_node);

}  // namespace drydock::strategies
