#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/reference/executor.h"
#include "strategies/rules/windows/halo.h"

namespace drydock::strategies {
namespace {

Result<NdArray> Reduce(const std::vector<NdArray>& inputs, const std::string& op) {
  NdArray result = inputs.front();
  for (std::size_t m = 1; m < inputs.size(); ++m) {
    for (std::size_t i = 0; i < result.data.size(); ++i) {
      const double a = result.data[i];
      const double b = inputs[m].data[i];
      if (op == "sum") {
        result.data[i] = a + b;
      } else if (op == "max") {
        result.data[i] = std::max(a, b);
      } else if (op == "min") {
        result.data[i] = std::min(a, b);
      } else if (op == "prod") {
        result.data[i] = a * b;
      } else {
        return Fail(ErrorCode::kUnsupported, "reduction '" + op + "' has no reference execution");
      }
    }
  }
  return result;
}

Result<std::vector<NdArray>> AlltoAll(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const std::int64_t split_dim, IntAttr(node.attrs, "split_dim", 0));
  DRYDOCK_TRY(const std::int64_t concat_dim, IntAttr(node.attrs, "concat_dim", 0));
  const auto count = std::ssize(inputs);
  std::vector<std::vector<NdArray>> pieces;  // [member][part]
  for (const NdArray& input : inputs) {
    pieces.push_back(SplitArray(input, static_cast<std::size_t>(split_dim), count));
  }
  std::vector<NdArray> results;
  for (std::size_t q = 0; q < inputs.size(); ++q) {
    std::vector<NdArray> received;
    for (const std::vector<NdArray>& parts : pieces) {
      received.push_back(parts[q]);
    }
    results.push_back(ConcatArrays(received, static_cast<std::size_t>(concat_dim)));
  }
  return results;
}

}  // namespace

Result<std::vector<NdArray>> RunCollective(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const std::string reduce_op, TextAttr(node.attrs, "op", "sum"));
  if (node.op == ops::kAllReduce) {
    DRYDOCK_TRY(const NdArray reduced, Reduce(inputs, reduce_op));
    return std::vector<NdArray>(inputs.size(), reduced);
  }
  if (node.op == ops::kAllGather) {
    return std::vector<NdArray>(inputs.size(), ConcatArrays(inputs, 0));
  }
  if (node.op == ops::kReduceScatter) {
    DRYDOCK_TRY(const NdArray reduced, Reduce(inputs, reduce_op));
    return SplitArray(reduced, 0, std::ssize(inputs));
  }
  if (node.op == ops::kAlltoAll) {
    return AlltoAll(node, inputs);
  }
  if (node.op == ops::kRingShift) {
    std::vector<NdArray> shifted = inputs;
    std::rotate(shifted.begin(), shifted.end() - 1, shifted.end());
    return shifted;
  }
  if (node.op == ops::kNeighborExchange || node.op == ops::kNeighborExchangeGrad) {
    DRYDOCK_TRY(const HaloPlan plan, HaloPlanOf(node.attrs));
    return node.op == ops::kNeighborExchange ? HaloWindows(plan, inputs)
                                             : HaloGradients(plan, inputs);
  }
  return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no reference execution");
}

}  // namespace drydock::strategies
