#include "tests/strategies/op_samples.h"

namespace drydock::strategies::cases {
namespace {

Samples WindowSamples() {
  const AttrMap pool = {{"kernel_size", List({2, 2})}, {"strides", List({2, 2})}};
  const AttrMap conv = {{"out_channel", 4}, {"kernel_size", List({3, 3})}, {"pad_mode", "same"}};
  AttrMap back = conv;
  back["input_size"] = List({2, 3, 8, 6});
  const Sample back_input = {{Float({2, 4, 8, 6}), Float({4, 3, 3, 3})}, back};
  const AttrMap volume = {{"out_channel", 4}, {"kernel_size", 2}};
  const AttrMap half = {{"size", List({4, 3})}};
  return {
      {"Conv2D", {{Float({2, 3, 8, 6}), Float({4, 3, 3, 3})}, conv}},
      {"Conv2DBackpropInput", back_input},
      {"Conv2DTranspose", back_input},
      {"Conv3D", {{Float({2, 3, 4, 4, 4}), Float({4, 3, 2, 2, 2})}, volume}},
      {"Convolution", {{Float({2, 3, 8, 6}), Float({4, 3, 3, 3})}}},
      {"MaxPool", {{Float({2, 3, 8, 6})}, pool}},
      {"AvgPool", {{Float({2, 3, 8, 6})}, pool}},
      {"MaxPool3D", {{Float({2, 3, 4, 4, 4})}, {{"kernel_size", 2}, {"strides", 2}}}},
      {"AvgPool3D", {{Float({2, 3, 4, 4, 4})}, {{"kernel_size", 2}, {"strides", 2}}}},
      {"GridSampler2D", {{Float({2, 3, 8, 6}), Float({2, 4, 4, 2})}}},
      {"ResizeBilinearV2", {{Float({2, 3, 8, 6})}, half}},
      {"ResizeNearestNeighbor", {{Float({2, 3, 8, 6})}, half}},
  };
}

TensorType Of(Shape shape, DType dtype) {
  return {.shape = std::move(shape), .dtype = dtype};
}

Samples NormalisationSamples() {
  const TensorType x = Float({4, 6, 2, 3});
  const TensorType channel = Float({6});
  return {
      {"BatchNorm", {{x, channel, channel, channel, channel}, {{"is_training", true}}}},
      {"GroupNorm", {{x, channel, channel}, {{"num_groups", 2}}}},
      {"LayerNormV3",
       {{Float({4, 6}), channel, channel}, {{"begin_norm_axis", 1}, {"begin_params_axis", 1}}}},
  };
}

Samples AttentionSamples() {
  const TensorType q = Float({4, 8, 6});
  const TensorType state = Float({4, 6});
  const TensorType cache = Float({3, 2, 6});
  const AttrMap heads = {{"num_heads", 2}};
  const AttrMap paged = {{"head_num", 2}};
  const AttrMap flash = {{"head_num", 2}};
  const TensorType shift = Float({4, 2, 8, 8});
  const TensorType bits = Of({4, 2, 8, 1}, DType::kUInt8);
  const TensorType hidden = Of({8, 8}, DType::kUInt8);
  const std::vector<TensorType> lookup = {Float({4, 1, 6}), cache, cache, Int({4, 2}), Int({4})};
  std::vector<TensorType> masked = lookup;
  masked[1] = masked[2] = Float({3, 2, 2, 3});
  masked.push_back(Float({4, 2, 1, 4}));
  return {
      // Operands 5 (padding_mask) and beyond 6 (attn_mask) are not given.
      {"FlashAttentionScore", {{q, q, q, shift, bits, hidden}, flash, (1U << 5U) | (7U << 7U)}},
      {"PromptFlashAttention", {{q, q, q}, heads}},
      {"FusedInferAttentionScore", {{q, q, q}, heads}},
      {"IncreFlashAttention", {{Float({4, 1, 6}), q, q}, heads}},
      {"PagedAttention", {lookup, paged}},
      {"PagedAttentionMask", {masked, paged}},
      {"KVCacheMgr", {{Float({4, 2, 8, 3}), Float({4, 2, 1, 3}), Int({4})}}},
      {"KVCacheScatterUpdate", {{Float({4, 2, 8, 3}), Int({4}), Float({4, 2, 1, 3})}}},
      {"ReshapeAndCache", {{Float({4, 1, 6}), Float({4, 1, 6}), cache, cache, Int({4})}}},
      {"GenerateEodMaskV2",
       {{Float({4, 6}), Of({}, DType::kInt64), Of({}, DType::kInt64), Of({}, DType::kInt64)}}},
      {"RotaryPositionEmbedding", {{q, Float({1, 8, 6}), Float({1, 8, 6})}}},
      {"ApplyRotaryPosEmb", {{q, q, Float({8, 6}), Float({8, 6}), Int({4})}}},
      {"WKV", {{Float({6}), Float({6}), q, q, state, state, state}}},
  };
}

}  // namespace

Samples NetworkSamples() {
  Samples all = WindowSamples();
  all.merge(NormalisationSamples());
  all.merge(AttentionSamples());
  return all;
}

}  // namespace drydock::strategies::cases
