#include <algorithm>

#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// x and what broadcasts to it, all of small integers or floats without gradient.
ProofCase ScaledCase(Draw& draw) {
  const std::vector<Shape> shapes = draw.BroadcastShapes(3, 1, 3, true);
  const bool to_integers = draw.op() == "QuantV2";
  ProofCase one{.operands = {to_integers ? NoGradient(Floats(shapes[0], -9.0, 9.0))
                                         : Integers(shapes[0], -9, 9, DType::kInt8),
                             NoGradient(Floats(shapes[1]))}};
  if (draw.op() != "Dequant") {
    one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(shapes[2])));
  }
  one.attrs = {{"sqrt_mode", draw.Chance(2)}};
  return one;
}

ProofCase QuantCase(Draw& draw) {
  return {.operands = {NoGradient(Floats(draw.AnyShape(1, 3), -9.0, 9.0))},
          .attrs = {{"scale", 3.7}, {"offset", 1.25}}};
}

ProofCase DynamicQuantCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  ProofCase one{.operands = {NoGradient(Floats(x))}};
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Positive({x.back()})));
  return one;
}

/// Limits for the whole tensor or for each channel.
ProofCase LimitsCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  ProofCase one{.operands = {Floats(x)}, .check_slope = false};
  Shape limits = {1};
  if (draw.op().ends_with("PerChannel")) {
    const std::int64_t channel = draw.Dimension(std::ssize(x));
    limits = {x[static_cast<std::size_t>(channel)]};
    one.attrs["channel_axis"] = channel;
  }
  one.operands.push_back(NoGradient(Floats(limits, -1.5, -0.5)));
  one.operands.push_back(NoGradient(Floats(limits, 0.5, 1.5)));
  if (draw.op().starts_with("MinMax")) {
    one.attrs["ema"] = draw.Chance(2);
    one.attrs["ema_decay"] = 0.75;
    one.operands[0] = NoGradient(one.operands[0]);
  } else {
    one.attrs["symmetric"] = draw.Chance(2);
    one.attrs["num_bits"] = draw.Pick({3, 8});
  }
  return one;
}

/// Nothing is dropped: then slices and the whole agree. What is dropped is random per slice.
ProofCase CertainDropoutCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(1, 2)), Integers({1}, 1, 9, DType::kInt64),
                       Integers({1}, 1, 9, DType::kInt64)},
          .attrs = {{"p", 0.0}},
          .compared = {true, false}};
}

ProofCase ChoiceCase(Draw& draw) {
  return {.operands = {Bools(draw.AnyShape(1, 3))},
          .attrs = {{"count", draw.Uniform(1, 8)}, {"seed", 3}, {"seed2", 5}}};
}

ProofCase SamplerCase(Draw& draw) {
  const Shape classes = draw.AnyShape(2, 2);
  return {.operands = {Indices(classes, 9, DType::kInt64)},
          .attrs = {{"num_true", classes[1]},
                    {"num_sampled", 4},
                    {"unique", draw.Chance(2)},
                    {"range_max", 9},
                    {"remove_accidental_hits", draw.Chance(4)},
                    {"seed", 7}}};
}

PROOF_CASES_OF(Scaled, ScaledCase, "AntiQuant", "Dequant", "QuantV2");
PROOF_CASES(Quant, QuantCase);
PROOF_CASES(DynamicQuantExt, DynamicQuantCase);
PROOF_CASES_OF(Limits, LimitsCase, "FakeQuantPerLayer", "FakeQuantPerChannel",
               "MinMaxUpdatePerLayer", "MinMaxUpdatePerChannel");
PROOF_CASES(DropoutExt, CertainDropoutCase);
PROOF_CASES(RandomChoiceWithMask, ChoiceCase);
PROOF_CASES(UniformCandidateSampler, SamplerCase);
PROOF_NONE(RandomNumbers, "every slice draws from its own seed; see random_rule_test.cc",
           "UniformReal", "StandardNormal", "Gamma", "DropoutGenMask", "DropoutDoMask");

}  // namespace
}  // namespace drydock::strategies::proof
