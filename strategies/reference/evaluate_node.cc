#include "strategies/reference/evaluate_node.h"

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

Result<std::vector<NdArray>> EvaluateNode(const Graph& graph, const Node& node,
                                          const AttrMap& attrs,
                                          const std::function<const NdArray&(ValueId)>& value_of) {
  if (node.entry == nullptr || node.entry->evaluate == nullptr) {
    return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no reference execution");
  }
  std::vector<NdArray> inputs;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) {
      inputs.push_back(value_of(input));
      input_types.push_back(graph.at(input).type);
    }
  }
  for (const ValueId output : node.outputs) {
    output_types.push_back(graph.at(output).type);
  }
  return node.entry->evaluate({.inputs = inputs,
                               .input_types = input_types,
                               .output_types = output_types,
                               .attrs = attrs,
                               .absent = AbsentBits(node.inputs)});
}

}  // namespace drydock::strategies
