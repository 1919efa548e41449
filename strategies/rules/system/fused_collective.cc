#include "strategies/rules/system/fused_collective.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Collectives of several tensors whose results or operands have a part for each rank.
///
/// Such a collective works on one continuous buffer, in which the parts of rank 0 come first, then
/// those of rank 1. A fused AllGather therefore has one result per rank and tensor, and a Concat
/// for each tensor behind it; a fused ReduceScatter has a Split for each tensor in front of it.
/// What lies in a parameter is moved into the buffer first.
///
/// Example: AllGather of a and b over two ranks:
///     %1 = AllGather(TensorMove(a), TensorMove(b)) -> a0, b0, a1, b1
///     Concat(a0, a1, 0), Concat(b0, b1, 0)
/// Source: mindspore/ccsrc/backend/common/pass/concat_outputs_for_all_gather.cc,
/// split_inputs_for_reduce_scatter.cc, insert_tensor_move_for_communication.cc
namespace drydock::strategies {
namespace {

/// A Concat takes so many operands at most; more are joined in turns.
constexpr std::size_t kMostJoined = 63;

std::int64_t RanksOf(const LowerContext& context) {
  return GroupSize(*context.node.group);
}

/// A constant of its own, as passes of the back end make them.
KernelId OwnNumber(KernelBuilder& builder) {
  return builder.Constant({.shape = {}, .dtype = DType::kInt64}, "");
}

TensorType PartOf(const TensorType& whole, std::int64_t ranks) {
  TensorType part = whole;
  part.shape[0] /= ranks;
  return part;
}

/// Only the collective itself communicates, not what stands around it.
KernelId Collective(const LowerContext& context, KernelSpec spec) {
  const KernelId kernel = context.builder.Kernel(std::move(spec));
  context.builder.graph().at(kernel).communication = true;
  return kernel;
}

KernelId MovedIntoBuffer(const LowerContext& context, std::size_t operand) {
  const KernelId input = context.inputs[operand];
  const std::vector<KernelOperand> real = RealOperands(context.builder.graph(), input);
  const bool leaf = real.size() == 1 && IsLeaf(context.builder.graph().at(real.front().node).kind);
  return leaf ? context.builder.Kernel({.name = "TensorMove",
                                        .inputs = {input},
                                        .results = {context.InputType(operand)}})
              : input;
}

/// The parts one behind the other.
KernelId Join(KernelBuilder& builder, std::vector<KernelId> parts) {
  while (parts.size() > 1) {
    std::vector<KernelId> joined;
    for (std::size_t first = 0; first < parts.size(); first += kMostJoined) {
      const std::size_t end = std::min(first + kMostJoined, parts.size());
      if (end == first + 1) {
        joined.push_back(parts[first]);
        continue;
      }
      TensorType type = builder.TypeOf(parts[first]);
      std::vector<KernelId> inputs = {parts[first]};
      for (std::size_t i = first + 1; i < end; ++i) {
        type.shape[0] += builder.TypeOf(parts[i]).shape[0];
        inputs.push_back(parts[i]);
      }
      inputs.push_back(OwnNumber(builder));
      joined.push_back(builder.Kernel(
          {.name = "Concat", .inputs = std::move(inputs), .results = {std::move(type)}}));
    }
    parts = std::move(joined);
  }
  return parts.front();
}

}  // namespace

Result<std::vector<KernelId>> LowerAllReduce(const LowerContext& context) {
  const std::size_t tensors = context.inputs.size();
  if (tensors == 1) {
    return LowerByDefault(context);
  }
  KernelSpec spec{.name = context.node.op};
  for (std::size_t t = 0; t < tensors; ++t) {
    spec.inputs.push_back(MovedIntoBuffer(context, t));
    spec.results.push_back(context.OutputType(t));
  }
  return context.builder.Results(Collective(context, std::move(spec)));
}

Result<std::vector<KernelId>> LowerAllGather(const LowerContext& context) {
  const std::size_t tensors = context.inputs.size();
  if (tensors == 1) {
    return LowerByDefault(context);
  }
  const std::int64_t ranks = RanksOf(context);
  KernelSpec spec{.name = context.node.op};
  for (std::size_t t = 0; t < tensors; ++t) {
    spec.inputs.push_back(MovedIntoBuffer(context, t));
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t t = 0; t < tensors; ++t) {
      spec.results.push_back(PartOf(context.OutputType(t), ranks));
    }
  }
  const std::vector<KernelId> items = context.builder.Results(Collective(context, std::move(spec)));
  std::vector<KernelId> results;
  for (std::size_t t = 0; t < tensors; ++t) {
    std::vector<KernelId> parts;
    for (std::size_t i = t; i < items.size(); i += tensors) {
      parts.push_back(items[i]);
    }
    results.push_back(Join(context.builder, std::move(parts)));
  }
  return results;
}

Result<std::vector<KernelId>> LowerReduceScatter(const LowerContext& context) {
  const std::size_t tensors = context.inputs.size();
  if (tensors == 1) {
    return LowerByDefault(context);
  }
  const std::int64_t ranks = RanksOf(context);
  std::vector<std::vector<KernelId>> parts;  // [tensor][rank]
  KernelSpec spec{.name = context.node.op};
  for (std::size_t t = 0; t < tensors; ++t) {
    const std::vector<TensorType> pieces(static_cast<std::size_t>(ranks),
                                         PartOf(context.InputType(t), ranks));
    parts.push_back(context.builder.Results(context.builder.Kernel(
        {.name = "Split",
         .inputs = {context.inputs[t], OwnNumber(context.builder), OwnNumber(context.builder)},
         .results = pieces})));
    spec.results.push_back(context.OutputType(t));
  }
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    for (std::size_t t = 0; t < tensors; ++t) {
      spec.inputs.push_back(parts[t][rank]);
    }
  }
  return context.builder.Results(Collective(context, std::move(spec)));
}

}  // namespace drydock::strategies
