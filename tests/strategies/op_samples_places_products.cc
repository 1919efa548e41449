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
      {"FFNExt", {{Float({4, 6}), Float({6, 8}), Float({8, 6})}, {}, 0b1111111111000}},
      {"MatmulDDS",
       {{Float({8, 64, 16, 16}), Float({8, 64, 16, 16}), Float({32, 4, 16, 16}),
         Float({2, 32, 16, 16})},
        {{"bs", 2}, {"heads", 2}}}},
      {"DSDMatmul",
       {{Float({2, 2, 4, 4, 4, 16, 16}), Float({2, 2, 4, 8, 4, 16, 16}), Float({32, 8, 16, 16})}}},
  };
}

}  // namespace

Samples PlaceAndProductSamples() {
  Samples all = ScatterSamples();
  all.merge(GatherSamples());
  all.merge(ProductSamples());
  return all;
}

}  // namespace drydock::strategies::cases
