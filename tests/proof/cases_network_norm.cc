#include <string>

#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// (n, c) or (n, c, h, w); a batch of at least two, so that training statistics are not trivial. In
/// training it stays whole, where ranks that share a cut batch have statistics of their own; those
/// of SyncBatchNorm are one, and only there the kernels of BNTraining run.
ProofCase BatchNormCase(Draw& draw) {
  Shape x = {draw.Pick<std::int64_t>({2, 3, 4, 6, 12}), draw.Extent(4)};
  if (draw.Chance(2)) {
    x.insert(x.end(), {draw.Extent(4), draw.Extent(3)});
  }
  const Shape channels = {x[1]};
  const bool training = !draw.Chance(4);
  const bool sync = training && draw.Chance(2);
  return {.operands = {Floats(x), Floats(channels), Floats(channels), NoGradient(Floats(channels)),
                       NoGradient(Positive(channels))},
          .attrs = {{"is_training", training}, {"epsilon", 0.01}, {"sync_statistics", sync}},
          .weighed = {true, false, false, false, false},
          .compared = {true, false, false, false, false},
          .whole = training && !sync};
}
PROOF_CASES(BatchNorm, BatchNormCase);

ProofCase GroupNormCase(Draw& draw) {
  const std::int64_t groups = draw.Uniform(1, 3);
  Shape x = {draw.Extent(8), groups * draw.Uniform(1, 2), draw.Uniform(2, 4)};
  if (draw.Chance(2)) {
    x.push_back(draw.Extent(3));
  }
  ProofCase one{.operands = {Floats(x), Absent(), Absent()},
                .attrs = {{"num_groups", groups}, {"eps", 0.01}},
                .weighed = {true, false, false}};
  if (draw.Chance(2)) {
    one.operands[1] = Floats({x[1]});
  }
  if (draw.Chance(2)) {
    one.operands[2] = Floats({x[1]});
  }
  return one;
}
PROOF_CASES(GroupNorm, GroupNormCase);

ProofCase LayerNormV3Case(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const std::int64_t axis = draw.Dimension(static_cast<std::int64_t>(x.size()));
  const Shape tail(x.begin() + axis, x.end());
  return {.operands = {Floats(x), Floats(tail), Floats(tail)},
          .attrs = {{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", 0.01}},
          .weighed = {true, false, false}};
}
PROOF_CASES(LayerNormV3, LayerNormV3Case);

/// Without a rule the first dimension may be cut, so it is none of the normalised ones.
ProofCase LayerNormExtCase(Draw& draw) {
  const Shape x = draw.AnyShape(2, 3);
  const std::int64_t axis = draw.Uniform(1, static_cast<std::int64_t>(x.size()) - 1);
  const Shape tail(x.begin() + axis, x.end());
  return {.operands = {Floats(x), FedAs(Floats(tail), Feed::kParameter),
                       FedAs(Floats(tail), Feed::kParameter)},
          .attrs = {{"normalized_shape", tail}, {"eps", 0.01}},
          .weighed = {true, false, false}};
}
PROOF_CASES(LayerNormExt, LayerNormExtCase);

}  // namespace
}  // namespace drydock::strategies::proof
