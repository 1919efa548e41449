#include "tests/strategies/op_samples.h"

#include "tests/strategies/op_cases.h"

/// A small legal application of every operator that has more to say than "float tensors of one
/// shape".
namespace drydock::strategies::cases {
namespace {

Samples ShapeSamples() {
  return {
      {"Reshape", {{Float({4, 6})}, {{"shape", List({2, 12})}}}},
      {"Flatten", {{Float({4, 6, 2})}}},
      {"ExpandDims", {{Float({4, 6})}, {{"axis", 1}}}},
      {"Squeeze", {{Float({4, 1, 6})}, {{"axis", List({1})}}}},
      {"Transpose", {{Float({4, 6})}, {{"input_perm", List({1, 0})}}}},
      {"BroadcastTo", {{Float({4, 1})}, {{"shape", List({4, 6})}}}},
      {"Tile", {{Float({4, 6})}, {{"dims", List({2, 1})}}}},
      {"Concat", {{Float({4, 6}), Float({2, 6})}, {{"axis", 0}}}},
      {"Split", {{Float({4, 6})}, {{"axis", 0}, {"output_num", 2}}}},
      {"Slice", {{Float({4, 6})}, {{"begin", List({1, 0})}, {"size", List({2, 6})}}}},
      {"StridedSlice",
       {{Float({4, 6})},
        {{"begin", List({0, 2})}, {"end", List({4, 6})}, {"strides", List({1, 2})}}}},
      {"Cast", {{Float({4, 6})}, {{"dtype", "float16"}}}},
      {"VirtualDataset", {{Float({8, 6}), Int({8})}}},
      {"_VirtualDataset", {{Float({8, 6}), Int({8})}}},
  };
}

Samples ComputeSamples() {
  return {
      {"MatMul", {{Float({4, 6}), Float({6, 2})}}},
      {"MatMulExt", {{Float({4, 6}), Float({6, 2})}}},
      {"BatchMatMul", {{Float({2, 4, 6}), Float({2, 6, 2})}}},
      {"BatchMatMulExt", {{Float({2, 4, 6}), Float({2, 6, 2})}}},
      {"BiasAdd", {{Float({4, 6}), Float({6})}}},
      {"AddN", {{Float({4, 6}), Float({4, 6}), Float({4, 6})}}},
      {"Select", {{{.shape = {4, 6}, .dtype = DType::kBool}, Float({4, 6}), Float({4, 6})}}},
      {"LayerNorm",
       {{Float({4, 6}), Float({6}), Float({6})},
        {{"begin_norm_axis", 1}, {"begin_params_axis", 1}}}},
      {"RmsNorm", {{Float({4, 6}), Float({6})}}},
      {"Dropout", {{Float({4, 6})}, {{"keep_prob", 1.0}}}},
      {"TopK", {{Float({4, 6})}, {{"k", 2}}}},
      {"CumSum", {{Float({4, 6})}, {{"axis", 1}}}},
      {"ArgMaxWithValue", {{Float({4, 6})}, {{"axis", 1}}}},
      {"ArgMinWithValue", {{Float({4, 6})}, {{"axis", 1}}}},
  };
}

Samples LookUpSamples() {
  return {
      {"Gather", {{Float({8, 6}), Int({4, 2})}, {{"axis", 0}}}},
      {"GatherD", {{Float({4, 6}), Int({4, 2})}, {{"dim", 1}}}},
      {"UnsortedSegmentSum", {{Float({4, 6}), Int({4})}, {{"num_segments", 3}}}},
      {"OneHot", {{Int({4}), Float({}), Float({})}, {{"depth", 8}, {"axis", -1}}}},
      {"SoftmaxCrossEntropyWithLogits", {{Float({4, 6}), Float({4, 6})}}},
      {"SparseSoftmaxCrossEntropyWithLogits", {{Float({4, 6}), Int({4})}}},
      {"NLLLoss", {{Float({4, 6}), Int({4}), Float({6})}}},
  };
}

const Samples& AllSamples() {
  static const Samples kSamples = [] {
    Samples all = ShapeSamples();
    all.merge(ComputeSamples());
    all.merge(LookUpSamples());
    all.merge(ArithmeticSamples());
    all.merge(PlaceAndProductSamples());
    all.merge(NetworkSamples());
    return all;
  }();
  return kSamples;
}

/// Families whose members take float tensors of one shape.
std::size_t PlainOperands(const OpEntry& entry) {
  if (entry.family == "broadcast_binary") {
    return 2;
  }
  const bool plain = entry.family == "elementwise_unary" || entry.family == "axis_local" ||
                     entry.family == "reduction" || entry.family == "fallback";
  return plain ? 1 : 0;
}

}  // namespace

std::optional<OpCase> SampleOf(const OpEntry& entry) {
  OpCase one{.entry = &entry};
  if (const auto it = AllSamples().find(entry.name); it != AllSamples().end()) {
    one.inputs = it->second.inputs;
    one.attrs = it->second.attrs;
    one.absent = it->second.absent;
  } else {
    one.inputs.assign(PlainOperands(entry), Float({4, 6}));
  }
  if (!AllSamples().contains(entry.name) && one.inputs.empty()) {
    return std::nullopt;
  }
  if (entry.infer == nullptr) {  // pseudo rules: the caller says what the results are
    one.outputs = one.inputs;
    return one;
  }
  auto outputs = entry.infer(one.View());
  if (!outputs) {
    return std::nullopt;
  }
  one.outputs = *std::move(outputs);
  return one;
}

}  // namespace drydock::strategies::cases
