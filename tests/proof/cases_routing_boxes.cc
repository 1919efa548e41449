#include <algorithm>

#include "base/checked.h"
#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

// ---- Routing of tokens --------------------------------------------------------------------------

ProofCase ExpertTokensCase(Draw& draw) {
  return {.operands = {WithValues(Indices({draw.Extent(12)}, 4), Values::kInteger)},
          .attrs = {{"num_expert", 4}}};
}

ProofCase GatingCase(Draw& draw) {
  const Shape x = {draw.Extent(8), draw.Uniform(2, 6)};
  ProofCase one{.operands = {NoGradient(Floats(x)), draw.Chance(2) ? Absent() : Bools({x[0]})}};
  one.attrs = {{"k", draw.Uniform(1, x[1])}};
  return one;
}

ProofCase InitRoutingCase(Draw& draw) {
  const std::int64_t tokens = draw.Extent(6);
  const std::int64_t choices = draw.Uniform(1, 3);
  std::vector<double> rows = {};
  for (std::int64_t i = 0; i < tokens * choices; ++i) {
    rows.push_back(static_cast<double>(i % choices * tokens + i / choices));
  }
  return {.operands = {NoGradient(Floats({tokens, draw.Extent(6)})),
                       Fixed({tokens, choices}, std::move(rows), DType::kInt32),
                       Indices({tokens, choices}, 4)},
          .attrs = {{"active_num", tokens}}};
}

ProofCase FinalizeCase(Draw& draw) {
  const std::int64_t tokens = draw.Extent(6);
  const std::int64_t choices = draw.Uniform(1, 3);
  const std::int64_t width = draw.Extent(6);
  const std::int64_t copies = tokens * choices;
  ProofCase one{
      .operands = {NoGradient(Floats({copies, width})), NoGradient(Floats({tokens, width}))}};
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats({tokens, width})));
  one.operands.push_back(NoGradient(Floats({3, width})));
  one.operands.push_back(NoGradient(Floats({tokens, choices})));
  one.operands.push_back(WithValues(Integers({copies}, 0, copies - 1), Values::kDistinct));
  one.operands.push_back(Indices({tokens, choices}, 3));
  return one;
}

ProofCase RouterCase(Draw& draw) {
  const Shape shape = {draw.Extent(8), draw.Uniform(1, 5), draw.Uniform(1, 3)};
  ProofCase one{
      .operands = {Indices(shape, 4)},
      .attrs = {
          {"capacity", draw.Uniform(1, 4)}, {"expert_num", 4}, {"drop_type", draw.Uniform(0, 1)}}};
  if (draw.op() == "TopPRouter") {
    one.operands.push_back(NoGradient(Positive(shape)));
    one.attrs["threshold"] = 1.1;
  }
  return one;
}

PROOF_CASES(MoeComputeExpertTokens, ExpertTokensCase);
PROOF_CASES(MoeGatingTopKSoftmax, GatingCase);
PROOF_CASES(MoeInitRouting, InitRoutingCase);
PROOF_CASES(MoeFinalizeRouting, FinalizeCase);
PROOF_CASES_OF(Routers, RouterCase, "TopKRouter", "TopPRouter");

// ---- Boxes --------------------------------------------------------------------------------------

/// `count` boxes (x1, y1, x2, y2) inside `extent`, at least 1 wide.
Operand Boxes(Draw& draw, std::int64_t count, double extent, std::int64_t images = 0) {
  std::vector<double> data = {};
  for (std::int64_t i = 0; i < count; ++i) {
    if (images > 0) {
      data.push_back(static_cast<double>(draw.Uniform(0, images - 1)));
    }
    const double x = draw.Real(0, extent / 2);
    const double y = draw.Real(0, extent / 2);
    data.insert(data.end(), {x, y, x + draw.Real(1, extent / 2), y + draw.Real(1, extent / 2)});
  }
  return NoGradient(Fixed({count, images > 0 ? 5 : 4}, std::move(data)));
}

ProofCase PairedBoxesCase(Draw& draw) {
  const std::int64_t count = draw.Extent(12);
  return {.operands = {Boxes(draw, count, 9), Boxes(draw, count, 9)}};
}

ProofCase OverlapCase(Draw& draw) {
  return {.operands = {Boxes(draw, draw.Extent(8), 9), Boxes(draw, draw.Extent(8), 9)},
          .attrs = {{"mode", draw.Pick({"iou", "iof"})}}};
}

ProofCase ValidCase(Draw& draw) {
  return {.operands = {Boxes(draw, draw.Extent(12), 9), NoGradient(Fixed({3}, {5.0, 6.0, 1.5}))}};
}

/// Boxes as fractions of the image, some beyond its border; steps never meet a pixel.
ProofCase CropCase(Draw& draw) {
  const Shape images = {draw.Extent(4), draw.Uniform(3, 5), draw.Uniform(3, 5), draw.Extent(3)};
  const std::int64_t count = draw.Extent(4);
  std::vector<double> boxes = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = draw.Real(0.01, 0.4);
    const double y = draw.Real(0.01, 0.4);
    boxes.insert(boxes.end(), {y, x, y + draw.Real(0.2, 0.9), x + draw.Real(0.2, 0.9)});
  }
  return {
      .operands = {Floats(images), Fixed({count, 4}, std::move(boxes)),
                   Indices({count}, images[0])},
      .attrs = {{"crop_size", std::vector<std::int64_t>{draw.Uniform(1, 3), draw.Uniform(1, 3)}}},
      .slope_step = 1e-7};
}

ProofCase RoiCase(Draw& draw) {
  const Shape features = {draw.Extent(4), draw.Extent(3), draw.Uniform(3, 5), draw.Uniform(3, 5)};
  return {.operands = {Floats(features), Boxes(draw, draw.Extent(4), 9, features[0])},
          .attrs = {{"pooled_height", draw.Uniform(1, 2)},
                    {"pooled_width", draw.Uniform(1, 2)},
                    {"spatial_scale", 0.5},
                    {"sample_num", draw.Uniform(1, 2)}}};
}

PROOF_CASES(BoundingBoxEncode, PairedBoxesCase);
PROOF_CASES(IOU, OverlapCase);
PROOF_CASES(CheckValid, ValidCase);
PROOF_CASES(CropAndResize, CropCase);
PROOF_CASES(ROIAlign, RoiCase);

// ---- Matrices, ends of a network, losses --------------------------------------------------------

/// Far enough from singular: the diagonal outweighs the rest.
Operand Dominant(Draw& draw, Shape shape) {
  std::vector<double> data = {};
  const std::int64_t n = shape.back();
  const std::int64_t rows = shape[shape.size() - 2];
  for (std::int64_t i = 0; i < Product(shape); ++i) {
    const bool diagonal = i / n % rows == i % n;
    data.push_back(draw.Real(-0.5, 0.5) + (diagonal ? 3.0 : 0.0));
  }
  return Fixed(std::move(shape), std::move(data));
}

ProofCase SolveCase(Draw& draw) {
  const std::int64_t n = draw.Uniform(1, 4);
  Shape a = {n, n};
  Shape b = {n};
  if (draw.Chance(2)) {
    b.push_back(draw.Uniform(1, 3));  // matrices, else vectors
  }
  for (int dims = static_cast<int>(draw.Uniform(0, 2)); dims > 0; --dims) {
    const std::int64_t batch = dims == 1 ? draw.Pick<std::int64_t>({2, 3, 4, 6, 12}) : 2;
    a.insert(a.begin(), batch);
    b.insert(b.begin(), batch);
  }
  return {.operands = {Dominant(draw, a), Floats(b)},
          .attrs = {{"trans", draw.Uniform(0, 1)},
                    {"lower", draw.Chance(2)},
                    {"unit_diagonal", draw.Chance(2)}}};
}

ProofCase LstsqCase(Draw& draw) {
  const std::int64_t batch = draw.Pick<std::int64_t>({2, 3, 4, 6, 12});
  const std::int64_t rows = draw.Uniform(1, 4);
  const std::int64_t columns = draw.Uniform(1, 4);
  return {.operands = {Dominant(draw, {batch, rows, columns}),
                       Floats({batch, rows, draw.Uniform(1, 3)})},
          .weighed = {true, false, false, false}};
}

ProofCase TraceCase(Draw& draw) {
  const Shape x = draw.AnyShape(2, 4);
  const std::vector<std::int64_t> order = draw.Permutation(std::ssize(x));
  return {.operands = {Floats(x)},
          .attrs = {{"axis1", order[0]}, {"axis2", order[1]}, {"offset", draw.Uniform(-1, 1)}}};
}

ProofCase UniqueCase(Draw& draw) {
  return {.operands = {Indices({draw.Extent(12)}, 5)}};
}

ProofCase AnyFloatsCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(1, 3))}};
}

ProofCase KlDivCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  return {.operands = {Floats(shape), Positive(shape)},
          .attrs = {{"reduction", draw.Pick({"none", "sum", "mean", "batchmean"})}}};
}

ProofCase OneHotExtCase(Draw& draw) {
  const std::int64_t classes = draw.Extent(8);
  const Shape indices = draw.AnyShape(1, 2);
  return {
      .operands = {Indices(indices, classes), Scalar(1, DType::kInt32), Scalar(0, DType::kInt32)},
      .attrs = {{"num_classes", classes}, {"axis", -1}}};
}

PROOF_CASES(SolveTriangular, SolveCase);
PROOF_CASES(LstsqV2, LstsqCase);
PROOF_CASES(TraceV2, TraceCase);
PROOF_CASES(Unique, UniqueCase);
PROOF_CASES_OF(VirtualOutput, AnyFloatsCase, "_VirtualOutput");
PROOF_CASES(KLDivLoss, KlDivCase);
PROOF_CASES(OneHotExt, OneHotExtCase);
PROOF_NONE(Queue, "its numbers come from a queue outside the network", "GetNext");

}  // namespace
}  // namespace drydock::strategies::proof
