#include "tests/proof/proof_case.h"

/// Operators of one operand, element by element.
namespace drydock::strategies::proof {
namespace {

ProofCase Single(Draw& draw, double low, double high) {
  return {.operands = {Floats(draw.AnyShape(0, 4), low, high)}};
}

/// Defined everywhere; (-4, 4) has the kinks of ReLU, HSigmoid and rounding at eighths.
ProofCase AnywhereCase(Draw& draw) {
  return Single(draw, -4.0, 4.0);
}

/// Large arguments would only test rounding: the values grow exponentially.
ProofCase GrowingCase(Draw& draw) {
  return Single(draw, -2.0, 2.0);
}

ProofCase BetweenPolesCase(Draw& draw) {
  return Single(draw, -1.2, 1.2);
}

ProofCase InsideUnitCase(Draw& draw) {
  return Single(draw, -0.9, 0.9);
}

ProofCase AboveOneCase(Draw& draw) {
  return Single(draw, 1.1, 4.0);
}

ProofCase PositiveCase(Draw& draw) {
  return Single(draw, 0.3, 3.3);
}

ProofCase UpToSixCase(Draw& draw) {
  return Single(draw, -2.0, 8.0);
}

ProofCase BoolCase(Draw& draw) {
  return {.operands = {Bools(draw.AnyShape(0, 4))}};
}

ProofCase RoundCase(Draw& draw) {
  ProofCase one = AnywhereCase(draw);
  one.attrs = {{"decimals", draw.Pick({0, 0, 1})}};
  return one;
}

ProofCase CastCase(Draw& draw) {
  ProofCase one = AnywhereCase(draw);
  one.attrs = {{"dtype", draw.Pick({"float16", "float64", "int32", "bool"})}};
  return one;
}

/// The second operand only orders execution.
ProofCase DependCase(Draw& draw) {
  ProofCase one = AnywhereCase(draw);
  one.operands.push_back(FedAs(NoGradient(Floats({})), Feed::kParameter));
  return one;
}

PROOF_CASES_OF(Anywhere, AnywhereCase, "Abs", "Asinh", "Atan", "Ceil", "Contiguous", "Cos", "Erf",
               "Erfc", "FastGeLU", "Floor", "GeLU", "HSigmoid", "Identity", "IsFinite", "Neg",
               "OnesLike", "ReLU", "Rint", "Sigmoid", "SiLU", "Sign", "Sin", "Softplus", "Square",
               "Tanh", "Trunc", "ZerosLike", "ZerosLikeExt");

ProofCase GeluExtCase(Draw& draw) {
  ProofCase one = AnywhereCase(draw);
  one.attrs = {{"approximate", draw.Pick({"none", "tanh"})}};
  return one;
}
PROOF_CASES(GeluExt, GeluExtCase);

/// No gradient passes, whatever the slope.
ProofCase StopGradientCase(Draw& draw) {
  ProofCase one = AnywhereCase(draw);
  one.check_slope = false;
  return one;
}
PROOF_CASES(StopGradient, StopGradientCase);
PROOF_CASES_OF(Growing, GrowingCase, "Cosh", "Exp", "Expm1", "Sinh");
PROOF_CASES_OF(BetweenPoles, BetweenPolesCase, "Tan");
PROOF_CASES_OF(InsideUnit, InsideUnitCase, "ACos", "Asin", "Atanh");
PROOF_CASES_OF(AboveOne, AboveOneCase, "Acosh");
PROOF_CASES_OF(Positive, PositiveCase, "Log", "Log1p", "Reciprocal", "Rsqrt", "Sqrt");
PROOF_CASES(ReLU6, UpToSixCase);
PROOF_CASES(LogicalNot, BoolCase);
PROOF_CASES(Round, RoundCase);
PROOF_CASES(Cast, CastCase);
PROOF_CASES(Depend, DependCase);

PROOF_NONE(Parts, "part of the local program of BatchNorm, ResizeBilinearV2 or FlashAttentionScore",
           "BNTrainingReduce", "BNTrainingUpdate", "ParallelResizeBilinear", "RingAttentionUpdate",
           "_RingAttention");
PROOF_NONE(Inserted, "put in by the compiler: every program of the proof runs them",
           "_GetTensorSlice", "_MirrorOperator", "_RankScalar", "_VirtualDiv");
PROOF_NONE(
    Accumulated,
    "put in for gradients of micro batches; see accumulation_test.cc, which compares a step of "
    "micro batches with one of the whole batch",
    "_AccumulateGradient", "_AccumulatedGradient", "_AddMicroBatches", "_All", "_FinishGradient",
    "_MicroBatch", "_MicroSum", "_MirrorMicroStepOperator", "_VirtualAssignAdd",
    "_VirtualMicroJoin");
PROOF_NONE(HostNumbers, "put in for the ends of a slice of LinSpace, whose proof runs them",
           "_ScalarAdd", "_ScalarDiv", "_ScalarMul", "_ScalarSub");
PROOF_NONE(Staged, "put in at the edges of pipeline stages; see pipeline_stages_test.cc",
           "_JoinSends", "_StageTransfer");
PROOF_NONE(OwnBackward,
           "marks what a cell gives as its backward pass, of which only copies run; see the record "
           "of cell_bprop.py",
           "_CellGradients", "_CellSeeds");
PROOF_NONE(FloatStatus, "the overflow flag of a device, which no dry run sets",
           "NPUClearFloatStatusV2", "NPUGetFloatStatusV2");
PROOF_NONE(Dumps, "writes a file; nobody reads its result, see tests/sim/tracer/python",
           "TensorDump");
PROOF_NONE(Load, "refers to a parameter; no program computes with it", "Load");

}  // namespace
}  // namespace drydock::strategies::proof
