#include "tests/strategies/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/checked.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies::checks {
namespace {

DType DTypeAt(const std::vector<DType>& dtypes, std::size_t i) {
  return i < dtypes.size() ? dtypes[i] : DType::kFloat64;
}

/// Weight of element i of output o in the loss: neither equal nor symmetric.
double WeightOf(std::size_t o, std::size_t i) {
  return 0.3 + std::sin(1.7 * static_cast<double>(i) + 0.9 * static_cast<double>(o));
}

/// True if output `o` of the case reaches the loss.
bool IsWeighed(const GradientCase& one, std::size_t o, DType dtype) {
  return IsFloating(dtype) && (one.weighed.empty() || (o < one.weighed.size() && one.weighed[o]));
}

/// One operator as a graph; its outputs are the graph's.
Result<GraphBuilder> OneOpGraph(std::string_view op, const std::vector<TensorType>& inputs,
                                AttrMap attrs) {
  GraphBuilder builder("one");
  NodeSpec spec{.op = op, .attrs = std::move(attrs)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    DRYDOCK_TRY(const ValueId id, builder.AddInput("x" + std::to_string(i), inputs[i]));
    spec.inputs.push_back(id);
  }
  DRYDOCK_TRY(const NodeId node, builder.AddNode(std::move(spec)));
  builder.SetOutputs(builder.graph().at(node).outputs);
  return builder;
}

std::vector<TensorType> TypesOf(const std::vector<NdArray>& arrays,
                                const std::vector<DType>& dtypes) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    types.push_back({.shape = arrays[i].shape, .dtype = DTypeAt(dtypes, i)});
  }
  return types;
}

/// Loss of a case at the given inputs.
Result<double> LossAt(const GradientCase& one, const std::vector<NdArray>& inputs,
                      const std::vector<TensorType>& outputs) {
  DRYDOCK_TRY(const auto results, RunOp(one.op, inputs, one.attrs, one.dtypes));
  double loss = 0;
  for (std::size_t o = 0; o < results.size(); ++o) {
    for (std::size_t i = 0; IsWeighed(one, o, outputs[o].dtype) && i < results[o].data.size();
         ++i) {
      loss += WeightOf(o, i) * results[o].data[i];
    }
  }
  return loss;
}

struct Differentiated {
  Graph graph = {};
  std::vector<ValueId> gradients = {};  ///< Per input.
  std::vector<NdArray> leaves = {};
};

/// Weights of one output as a graph input: the gradient that arrives there.
Result<ValueId> AddArriving(GraphBuilder& builder, std::size_t o, const TensorType& type,
                            std::vector<NdArray>& leaves) {
  NdArray weights = FilledArray(type.shape, 0.0);
  for (std::size_t i = 0; i < weights.data.size(); ++i) {
    weights.data[i] = WeightOf(o, i);
  }
  leaves.push_back(std::move(weights));
  return builder.AddInput("dy" + std::to_string(o), type);
}

Result<Differentiated> DifferentiateCase(const GradientCase& one, const std::vector<bool>& wanted) {
  DRYDOCK_TRY(GraphBuilder builder, OneOpGraph(one.op, TypesOf(one.inputs, one.dtypes), one.attrs));
  Differentiated result{.leaves = one.inputs};
  const Node node = builder.graph().nodes[0];
  std::vector<ValueId> arriving;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const TensorType type = builder.TypeOf(node.outputs[o]);
    arriving.push_back(kNoValue);
    if (IsWeighed(one, o, type.dtype)) {
      DRYDOCK_TRY(arriving.back(), AddArriving(builder, o, type, result.leaves));
    }
  }
  const auto flags = std::make_unique<bool[]>(wanted.size());
  std::ranges::copy(wanted, flags.get());
  const NodeSpec spec{.phase = Phase::kBackward};
  if (node.entry->gradient == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "'" + one.op + "' has no gradient");
  }
  DRYDOCK_TRY(result.gradients,
              node.entry->gradient({.builder = builder,
                                    .node = node,
                                    .output_gradients = arriving,
                                    .wanted = std::span<const bool>(flags.get(), wanted.size()),
                                    .spec = spec}));
  result.graph = std::move(builder).Take();
  return result;
}

/// Slope of the loss in element `i` of input `input`.
Result<double> Slope(const GradientCase& one, std::size_t input, std::size_t i,
                     const std::vector<TensorType>& outputs) {
  std::vector<NdArray> inputs = one.inputs;
  inputs[input].data[i] += one.step;
  DRYDOCK_TRY(const double above, LossAt(one, inputs, outputs));
  inputs[input].data[i] -= 2 * one.step;
  DRYDOCK_TRY(const double below, LossAt(one, inputs, outputs));
  return (above - below) / (2 * one.step);
}

Result<std::string> CompareCase(const GradientCase& one, const std::vector<bool>& wanted) {
  DRYDOCK_TRY(const Differentiated result, DifferentiateCase(one, wanted));
  DRYDOCK_TRY(const std::vector<NdArray> values, RunGraph(result.graph, result.leaves));
  DRYDOCK_TRY(const auto outputs, InferOp(one.op, TypesOf(one.inputs, one.dtypes), one.attrs));
  if (result.gradients.size() != one.inputs.size()) {
    return std::to_string(result.gradients.size()) + " gradients for " +
           std::to_string(one.inputs.size()) + " inputs";
  }
  for (std::size_t input = 0; input < one.inputs.size(); ++input) {
    const ValueId id = result.gradients[input];
    if (!wanted[input]) {
      continue;
    }
    const TensorType type{.shape = one.inputs[input].shape, .dtype = DTypeAt(one.dtypes, input)};
    if (id != kNoValue && result.graph.at(id).type != type) {
      return "gradient of input " + std::to_string(input) + " is " +
             TypeText(result.graph.at(id).type) + ", the input is " + TypeText(type);
    }
    for (std::size_t i = 0; i < one.inputs[input].data.size(); ++i) {
      DRYDOCK_TRY(const double slope, Slope(one, input, i, outputs));
      const double gradient = id == kNoValue ? 0.0 : values[ToIndex(id)].data[i];
      const double error = std::fabs(gradient - slope) / std::max(1.0, std::fabs(slope));
      if (!(error <= one.tolerance)) {
        return "element " + std::to_string(i) + " of input " + std::to_string(input) +
               ": gradient " + std::to_string(gradient) + ", difference quotient " +
               std::to_string(slope);
      }
    }
  }
  return std::string();
}

}  // namespace

Result<std::vector<TensorType>> InferOp(std::string_view op, const std::vector<TensorType>& inputs,
                                        AttrMap attrs) {
  DRYDOCK_TRY(const GraphBuilder builder, OneOpGraph(op, inputs, std::move(attrs)));
  std::vector<TensorType> types;
  for (const ValueId id : builder.graph().outputs) {
    types.push_back(builder.TypeOf(id));
  }
  return types;
}

Result<std::vector<NdArray>> RunOp(std::string_view op, const std::vector<NdArray>& inputs,
                                   AttrMap attrs, std::vector<DType> dtypes) {
  DRYDOCK_TRY(const GraphBuilder builder,
              OneOpGraph(op, TypesOf(inputs, dtypes), std::move(attrs)));
  DRYDOCK_TRY(const auto values, RunGraph(builder.graph(), inputs));
  std::vector<NdArray> results;
  for (const ValueId id : builder.graph().outputs) {
    results.push_back(values[ToIndex(id)]);
  }
  return results;
}

Result<std::vector<NdArray>> RunGraph(const Graph& graph, const std::vector<NdArray>& leaves) {
  std::vector<NdArray> values(graph.values.size());
  for (std::size_t i = 0; i < graph.inputs.size() && i < leaves.size(); ++i) {
    values[ToIndex(graph.inputs[i])] = leaves[i];
  }
  for (const Constant& constant : graph.constants) {
    values[ToIndex(constant.value)] = {.shape = graph.at(constant.value).type.shape,
                                       .data = constant.data.value_or(std::vector<double>{})};
  }
  for (const Node& node : graph.nodes) {
    std::vector<NdArray> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(values[ToIndex(id)]);
    }
    OpViewStorage storage;
    const OpView view = ViewOf(graph, node, storage);
    if (node.entry->evaluate == nullptr) {
      return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no evaluation");
    }
    DRYDOCK_TRY(std::vector<NdArray> results, node.entry->evaluate({.inputs = inputs,
                                                                    .input_types = view.inputs,
                                                                    .output_types = view.outputs,
                                                                    .attrs = node.attrs}));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const Shape& shape = graph.at(node.outputs[o]).type.shape;
      if (o >= results.size() || results[o].shape != shape ||
          std::ssize(results[o].data) != Product(shape)) {
        return Fail(ErrorCode::kInternal,
                    "'" + node.op + "' evaluates to another shape than inferred");
      }
      values[ToIndex(node.outputs[o])] = std::move(results[o]);
    }
  }
  return values;
}

testing::AssertionResult GradientAgrees(const GradientCase& one) {
  std::vector<bool> wanted = one.wanted;
  for (std::size_t i = wanted.size(); i < one.inputs.size(); ++i) {
    wanted.push_back(IsFloating(DTypeAt(one.dtypes, i)));
  }
  const Result<std::string> difference = CompareCase(one, wanted);
  if (!difference) {
    return testing::AssertionFailure() << one.op << ": " << FormatError(difference.error());
  }
  if (!difference->empty()) {
    return testing::AssertionFailure() << one.op << ": " << *difference;
  }
  return testing::AssertionSuccess();
}

NdArray RandomArray(const Shape& shape, std::mt19937_64& random, double low, double high) {
  NdArray array = FilledArray(shape, 0.0);
  std::uniform_real_distribution<double> draw(low, high);
  for (double& x : array.data) {
    x = draw(random);
  }
  return array;
}

NdArray SpreadArray(const Shape& shape, std::mt19937_64& random) {
  NdArray array = FilledArray(shape, 0.0);
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    array.data[i] =
        0.11 * (static_cast<double>(i) - static_cast<double>(array.data.size()) / 2) + 0.05;
  }
  std::ranges::shuffle(array.data, random);
  return array;
}

NdArray Counting(const Shape& shape) {
  NdArray array = FilledArray(shape, 0.0);
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    array.data[i] = static_cast<double>(i);
  }
  return array;
}

std::uint64_t SeedOr(std::uint64_t fallback) {
  const char* text = std::getenv("DRYDOCK_SEED");
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

}  // namespace drydock::strategies::checks
