#include "tests/strategies/op_samples.h"

namespace drydock::strategies::cases {
namespace {

Samples ScatterSamples() {
  const Sample rows = {{Float({8, 6}), Int({3}), Float({3, 6})}};
  const Sample places = {{Float({8, 4, 6}), Int({3, 2}), Float({3, 6})}};
  const Sample inplace = {{Float({8, 6}), Float({2, 6})}, {{"indices", List({1, 5})}}};
  const Sample segments = {{Float({4, 6}), Int({4})}, {{"num_segments", 3}}};
  Samples all = {{"InplaceAdd", inplace},          {"InplaceSub", inplace},
                 {"InplaceUpdate", inplace},       {"UnsortedSegmentProd", segments},
                 {"UnsortedSegmentMax", segments}, {"UnsortedSegmentMin", segments}};
  for (const char* op : {"ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv",
                         "ScatterMax", "ScatterMin"}) {
    all[op] = rows;
  }
  for (const char* op : {"ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "TensorScatterUpdate",
                         "TensorScatterAdd", "TensorScatterSub", "TensorScatterMul",
                         "TensorScatterDiv", "TensorScatterMax", "TensorScatterMin"}) {
    all[op] = places;
  }
  return all;
}

Samples GatherSamples() {
  return {
      {"GatherNd", {{Float({8, 4, 6}), Int({4, 2})}}},
      {"SparseGatherV2", {{Float({8, 6}), Int({4, 2})}, {{"axis", 0}}}},
      {"IndexSelect", {{Float({8, 6}), Int({4})}, {{"dim", 0}}}},
      {"EmbeddingLookup", {{Float({8, 6}), Int({4, 2})}, {{"offset", 0}}}},
      {"Embedding", {{Int({4, 2}), Float({8, 6})}}},
      {"Index", {{Float({8, 6}), Int({4}), Int({4})}}},
  };
}

TensorType Int8(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kInt8};
}

TensorType Int64(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kInt64};
}

Samples ProductSamples() {
  return {
      {"Cdist", {{Float({4, 6}), Float({8, 6})}, {{"p", 2.0}}}},
      {"TensorDot", {{Float({4, 6}), Float({6, 8})}, {{"axes", 1}}}},
      {"QuantBatchMatmul",
       {{Int8({4, 6}), Int8({6, 8}), Float({8}), Float({8}), Int({8}), Float({4})}}},
      {"WeightQuantBatchMatmul",
       {{Float({4, 6}), Int8({6, 8}), Float({8}), Float({8})}, {}, 0b1110000}},
      {"QuantLinearSparse", {{Int8({4, 6}), Int8({48}), Float({8}), Int8({6}), Int({8})}}},
      {"GroupedMatmul",
       {{Float({4, 6}), Float({2, 6, 8}), Int64({2})},
        {{"group_type", 0}, {"split_item", 3}},
        0b1111100}},
      {"FFN", {{Float({4, 6}), Float({6, 8}), Float({8, 6})}, {}, 0b11111111111000}},
      {"FFNExt", {{Float({4, 6}), Float({6, 8}), Float({8, 6})}, {}, 0b11111111111000}},
      {"MatmulDDS",
       {{Float({8, 64, 16, 16}), Float({8, 64, 16, 16}), Float({32, 4, 16, 16}),
         Float({2, 32, 16, 16})},
        {{"bs", 2}, {"heads", 2}}}},
      {"DSDMatmul",
       {{Float({2, 2, 4, 4, 4, 16, 16}), Float({2, 2, 4, 8, 4, 16, 16}), Float({32, 8, 16, 16})}}},
  };
}

TensorType Bool(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kBool};
}

TensorType Bytes(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kUInt8};
}

Samples QuantSamples() {
  const Sample limits = {{Float({4, 6}), Float({1}), Float({1})}};
  const Sample channels = {{Float({4, 6}), Float({6}), Float({6})}, {{"channel_axis", 1}}};
  return {
      {"AntiQuant", {{Int8({4, 6}), Float({6}), Float({6})}}},
      {"Dequant", {{Int({4, 6}), Float({6})}}},
      {"Quant", {{Float({4, 6})}, {{"scale", 2.0}}}},
      {"QuantV2", {{Float({4, 6}), Float({6}), Float({6})}}},
      {"DynamicQuantExt", {{Float({4, 6}), Float({6})}}},
      {"FakeQuantPerLayer", limits},
      {"MinMaxUpdatePerLayer", limits},
      {"FakeQuantPerChannel", channels},
      {"MinMaxUpdatePerChannel", channels},
  };
}

Samples RandomSamples() {
  return {
      {"DropoutDoMask", {{Float({4, 6}), Bytes({16})}, {{"keep_prob", 0.5}}}},
      {"DropoutExt", {{Float({4, 6}), Int64({1}), Int64({1})}, {{"p", 0.5}}}},
      {"UniformReal", {{}, {{"shape", List({4, 6})}}}},
      {"StandardNormal", {{}, {{"shape", List({4, 6})}}}},
      {"Gamma", {{Float({1}), Float({1})}, {{"shape", List({4, 6})}}}},
      {"RandomChoiceWithMask", {{Bool({4, 6})}, {{"count", 8}}}},
      {"UniformCandidateSampler",
       {{Int64({4, 2})},
        {{"num_true", 2}, {"num_sampled", 3}, {"unique", true}, {"range_max", 9}}}},
  };
}

Samples RoutingSamples() {
  const AttrMap router = {{"capacity", 3}, {"expert_num", 4}};
  AttrMap by_probability = router;
  by_probability["threshold"] = 0.5;
  return {
      {"MoeComputeExpertTokens", {{Int({6})}, {{"num_expert", 3}}}},
      {"MoeGatingTopKSoftmax", {{Float({4, 6}), Bool({4})}, {{"k", 2}}}},
      {"MoeInitRouting", {{Float({4, 6}), Int({4, 2}), Int({4, 2})}, {{"active_num", 4}}}},
      {"MoeFinalizeRouting",
       {{Float({8, 6}), Float({4, 6}), Float({4, 6}), Float({3, 6}), Float({4, 2}), Int({8}),
         Int({4, 2})}}},
      {"TopKRouter", {{Int({2, 4, 2})}, router}},
      {"TopPRouter", {{Int({2, 4, 2}), Float({2, 4, 2})}, by_probability}},
  };
}

Samples BoxAndMatrixSamples() {
  return {
      {"BoundingBoxEncode", {{Float({8, 4}), Float({8, 4})}}},
      {"CheckValid", {{Float({8, 4}), Float({3})}}},
      {"IOU", {{Float({8, 4}), Float({4, 4})}}},
      {"CropAndResize",
       {{Float({2, 8, 8, 3}), Float({4, 4}), Int({4})}, {{"crop_size", List({4, 4})}}}},
      {"ROIAlign",
       {{Float({2, 3, 8, 8}), Float({4, 5})}, {{"pooled_height", 2}, {"pooled_width", 2}}}},
      {"SolveTriangular", {{Float({2, 4, 4}), Float({2, 4, 3})}}},
      {"LstsqV2", {{Float({2, 6, 4}), Float({2, 6, 3})}}},
      {"TraceV2", {{Float({4, 6, 6})}, {{"axis1", 1}, {"axis2", 2}}}},
      {"Unique", {{Float({8})}}},
      {"GetNext",
       {{},
        {{"types", Attr::List{"float32"}},
         {"shapes", Attr::List{List({4, 6})}},
         {"output_num", 1}}}},
      {"_VirtualOutput", {{Float({4, 6})}}},
      {"KLDivLoss", {{Float({4, 6}), Float({4, 6})}}},
      {"OneHotExt", {{Int({4}), Int({}), Int({})}, {{"num_classes", 8}, {"axis", -1}}}},
  };
}

}  // namespace

Samples PlaceAndProductSamples() {
  Samples all = ScatterSamples();
  all.merge(GatherSamples());
  all.merge(ProductSamples());
  all.merge(QuantSamples());
  all.merge(RandomSamples());
  all.merge(RoutingSamples());
  all.merge(BoxAndMatrixSamples());
  return all;
}

}  // namespace drydock::strategies::cases
