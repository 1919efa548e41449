#include <algorithm>
#include <string>

#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Kernel, stride, dilation and padding of one operator, drawn so that they fit and that cuts
/// along rows and columns are legal often: most kernels reach beyond the stride.
struct Sliding {
  Numbers in = {};
  Numbers kernel = {};
  Numbers stride = {};
  Numbers dilation = {};
  Numbers pads = {};
  std::string mode = {};

  [[nodiscard]] Numbers Outputs() const {
    Numbers out;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      const std::int64_t padded = in[i] + pads[2 * i] + pads[2 * i + 1];
      out.push_back(mode == "same" ? (in[i] + stride[i] - 1) / stride[i]
                                   : (padded - reach) / stride[i] + 1);
    }
    return out;
  }
};

Sliding DrawSliding(Draw& draw, std::size_t spatial, bool allows_pad, bool allows_dilation) {
  Sliding form;
  form.mode = draw.Pick<std::string>({"valid", "same", "same", allows_pad ? "pad" : "same"});
  for (std::size_t i = 0; i < spatial; ++i) {
    form.stride.push_back(draw.Pick<std::int64_t>({1, 1, 2}));
    form.kernel.push_back(draw.Pick<std::int64_t>({1, 2, 3, 3}));
    form.dilation.push_back(allows_dilation && spatial == 2 && draw.Chance(4) ? 2 : 1);
    const std::int64_t reach = form.dilation[i] * (form.kernel[i] - 1) + 1;
    const std::int64_t most = spatial == 2 ? 12 : 6;
    form.in.push_back(std::max(draw.Pick<std::int64_t>({4, 6, 8, most}), reach));
    const std::int64_t pad = form.mode == "pad" ? draw.Uniform(0, (reach - 1 + 1) / 2) : 0;
    form.pads.push_back(pad);
    form.pads.push_back(form.mode == "pad" && draw.Chance(3) ? 0 : pad);
  }
  return form;
}

Shape Image(std::int64_t n, std::int64_t c, const Numbers& spatial) {
  Shape shape = {n, c};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

AttrMap ConvAttrs(const Sliding& form, std::int64_t out_channel, std::int64_t groups) {
  return {{"out_channel", out_channel},
          {"kernel_size", form.kernel},
          {"mode", 1},
          {"pad_mode", form.mode},
          {"pad", form.pads},
          {"stride", form.stride},
          {"dilation", form.dilation},
          {"group", groups}};
}

struct Convolution {
  Sliding form = {};
  Shape x = {};
  Shape w = {};
  Shape y = {};
  std::int64_t groups = 1;
};

/// Rows that a cut into two or four divides, but whose parts begin between two strides: `parts`
/// times (windows * stride - 1 or + 1) rows, padded to what `parts` times the windows take.
void PutBetweenStrides(Draw& draw, Sliding& form) {
  const bool longer = draw.Chance(3);
  const std::int64_t parts = longer ? 2 : draw.Pick<std::int64_t>({2, 4});
  const std::int64_t stride = draw.Uniform(2, 3);
  const std::int64_t kernel = stride + (longer ? 2 : draw.Uniform(1, 2));
  const std::int64_t windows = draw.Uniform(1, 3);
  const std::int64_t rows = windows * stride + (longer ? 1 : -1);
  const std::int64_t padding = (parts * windows - 1) * stride + kernel - parts * rows;
  form.mode = "pad";
  form.in[0] = parts * rows;
  form.kernel[0] = kernel;
  form.stride[0] = stride;
  form.dilation[0] = 1;
  form.pads[0] = padding / 2;
  form.pads[1] = padding - padding / 2;
}

Convolution DrawConvolution(Draw& draw, std::size_t spatial) {
  Convolution one{.form = DrawSliding(draw, spatial, true, true)};
  if (draw.op() != "Conv2D" && spatial == 2 && draw.Chance(4)) {
    PutBetweenStrides(draw, one.form);
  }
  one.groups = draw.Chance(5) ? 2 : 1;
  const std::int64_t ci = one.groups * draw.Pick<std::int64_t>({1, 2, 2, 3});
  const std::int64_t co = one.groups * draw.Pick<std::int64_t>({1, 2, 2, 3});
  const std::int64_t n = draw.Pick<std::int64_t>({1, 2, 2, 4});
  one.x = Image(n, ci, one.form.in);
  one.w = Image(co, ci / one.groups, one.form.kernel);
  one.y = Image(n, co, one.form.Outputs());
  return one;
}

ProofCase ConvCase(Draw& draw) {
  const Convolution one = DrawConvolution(draw, draw.op() == "Conv3D" ? 3 : 2);
  return {.operands = {Floats(one.x), Floats(one.w)},
          .attrs = ConvAttrs(one.form, one.w[0], one.groups)};
}
PROOF_CASES_OF(Conv, ConvCase, "Conv2D", "Conv3D");

ProofCase BackInputCase(Draw& draw) {
  const Convolution one = DrawConvolution(draw, 2);
  ProofCase result{.operands = {Floats(one.y), Floats(one.w)},
                   .attrs = ConvAttrs(one.form, one.w[0], one.groups)};
  result.attrs["input_size"] = one.x;
  return result;
}
PROOF_CASES_OF(BackInput, BackInputCase, "Conv2DBackpropInput", "Conv2DTranspose");

ProofCase ConvolutionCase(Draw& draw) {
  Convolution one = DrawConvolution(draw, 2);
  one.form.mode = "pad";
  const Numbers pads = {one.form.pads[0], one.form.pads[2]};
  one.form.pads = {pads[0], pads[0], pads[1], pads[1]};
  const bool transposed = draw.Chance(2);
  // Transposed, the weight is (ci, co / groups, ...).
  const Shape w = transposed ? Image(one.x[1], one.w[0] / one.groups, one.form.kernel) : one.w;
  const bool fits = !transposed || (one.x[2] > 2 * pads[0] && one.x[3] > 2 * pads[1]);
  ProofCase result{
      .operands = {Floats(one.x), Floats(w)},
      .attrs = {{"stride", one.form.stride},
                {"padding", fits ? pads : Numbers{0, 0}},
                {"dilation", one.form.dilation},
                {"transposed", transposed},
                {"output_padding", Numbers{0, draw.Uniform(0, one.form.stride[1] - 1)}},
                {"groups", one.groups}}};
  if (draw.Chance(2)) {
    result.operands.push_back(Floats({one.w[0]}));
  }
  return result;
}
PROOF_CASES(Convolution, ConvolutionCase);

/// Ties would make the maximum's slope ambiguous: the floats of a tensor are all different.
ProofCase PoolCase(Draw& draw) {
  const bool is_volume = draw.op().ends_with("3D");
  const bool is_max = draw.op().starts_with("Max");
  const Sliding form = DrawSliding(draw, is_volume ? 3 : 2, is_volume, false);
  const std::int64_t n = draw.Pick<std::int64_t>({1, 2, 2, 4});
  ProofCase one{
      .operands = {Floats(Image(n, draw.Pick<std::int64_t>({1, 2, 3}), form.in))},
      .attrs = {{"kernel_size", form.kernel}, {"strides", form.stride}, {"pad_mode", form.mode}}};
  if (is_volume) {
    one.attrs[is_max ? "pad_list" : "pad"] = form.pads;
    one.attrs["ceil_mode"] = draw.Chance(4);
  }
  if (is_volume && !is_max) {
    one.attrs["count_include_pad"] = draw.Chance(2);
    one.attrs["divisor_override"] = draw.Chance(5) ? 3 : 0;
  }
  return one;
}
PROOF_CASES_OF(Pool, PoolCase, "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D");

/// Windows of unlike sides, and images that are smaller than what is wanted.
ProofCase AdaptivePoolCase(Draw& draw) {
  const Shape image = {draw.Pick<std::int64_t>({1, 2, 4}), 2, draw.Uniform(2, 9),
                       draw.Uniform(2, 9)};
  return {.operands = {Floats(image)},
          .attrs = {{"output_size",
                     Numbers{draw.Chance(5) ? -1 : draw.Uniform(1, 6), draw.Uniform(1, 6)}}}};
}
PROOF_CASES_OF(AdaptivePool, AdaptivePoolCase, "AdaptiveAvgPool2D");

ProofCase ResizeCase(Draw& draw) {
  const Numbers in = {draw.Extent(8), draw.ExtentAboveOne(12)};
  const std::int64_t corners = draw.Uniform(0, 2);
  return {.operands = {Floats(Image(draw.Extent(3), draw.Extent(3), in))},
          .attrs = {{"size", Numbers{draw.Extent(8), draw.ExtentAboveOne(12)}},
                    {"align_corners", corners == 1},
                    {"half_pixel_centers", corners == 2}}};
}
PROOF_CASES_OF(Resize, ResizeCase, "ResizeBilinearV2", "ResizeNearestNeighbor");

ProofCase GridSamplerCase(Draw& draw) {
  const std::int64_t n = draw.Extent(4);
  const Numbers in = {draw.Extent(6), draw.Extent(6)};
  // Points up to 1.4 lie outside the image, where the padding modes differ.
  return {.operands = {Floats(Image(n, draw.Extent(3), in)),
                       Floats({n, draw.Extent(4), draw.Extent(4), 2}, -1.4, 1.37)},
          .attrs = {{"interpolation_mode", draw.Chance(4) ? "nearest" : "bilinear"},
                    {"padding_mode", draw.Pick<const char*>({"zeros", "border", "reflection"})},
                    {"align_corners", draw.Chance(2)}}};
}
PROOF_CASES(GridSampler2D, GridSamplerCase);

}  // namespace
}  // namespace drydock::strategies::proof
