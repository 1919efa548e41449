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

}  // namespace

Samples PlaceAndProductSamples() {
  Samples all = ScatterSamples();
  all.merge(GatherSamples());
  return all;
}

}  // namespace drydock::strategies::cases
