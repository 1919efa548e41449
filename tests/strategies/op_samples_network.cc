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

}  // namespace

Samples NetworkSamples() {
  return WindowSamples();
}

}  // namespace drydock::strategies::cases
