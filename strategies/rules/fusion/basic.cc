#include <cmath>
#include <limits>

#include "strategies/operators/basic_program.h"

/// Kernels that may be part of a fused one at jit_level O1.
///
/// MindSpore's vector machine for Ascend (DVM) computes these, of the types that are given, and
/// these only. What stands in the fused kernel is made simpler where no rounding changes: numbers
/// of numbers, x + 0, x * 1, x / 1, 1 / x, powers 1, 2 and -1, a cast to the type that is there,
/// sums over single elements.
/// Source: mindspore/ccsrc/backend/common/graph_kernel (adapter/graph_kernel_cluster_cloud.cc,
/// core/arithmetic_simplify.cc at exact_precision_mode, model/op_register.cc).
namespace drydock::strategies {
namespace {

using Rewrite = std::optional<BasicRewrite>;
using Source = BasicValue::Source;

double Unknown(const std::vector<BasicValue>& /*numbers*/) {
  return std::numeric_limits<double>::quiet_NaN();
}
double SumOf(const std::vector<BasicValue>& n) {
  return n[0].number + n[1].number;
}
double DifferenceOf(const std::vector<BasicValue>& n) {
  return n[0].number - n[1].number;
}
double ProductOf(const std::vector<BasicValue>& n) {
  return n[0].number * n[1].number;
}
double QuotientOf(const std::vector<BasicValue>& n) {
  return n[0].number / n[1].number;
}
double NegativeOf(const std::vector<BasicValue>& n) {
  return -n[0].number;
}
double SameAs(const std::vector<BasicValue>& n) {
  return n[0].number;
}

bool Is(const BasicValue& value, double number) {
  return value.source == Source::kNumber && value.number == number;
}

/// Operand `index` stands for the result, unless the other one gives it more dimensions.
Rewrite Same(const BasicProgram& program, const BasicOp& op, std::size_t index) {
  if (program.TypeOf(op.inputs[index]).shape.size() != op.type.shape.size()) {
    return std::nullopt;
  }
  return BasicRewrite{.value = op.inputs[index]};
}

BasicRewrite Instead(const BasicOp& op, std::string_view kernel, std::vector<BasicValue> inputs) {
  return {.op = BasicOp{.facts = FindBasic(kernel), .inputs = std::move(inputs), .type = op.type}};
}

Rewrite SimplifyAdd(const BasicProgram& program, const BasicOp& op) {
  for (const std::size_t i : {1U, 0U}) {
    if (Is(op.inputs[i], 0.0)) {
      return Same(program, op, 1 - i);
    }
  }
  return std::nullopt;
}

Rewrite SimplifySub(const BasicProgram& program, const BasicOp& op) {
  if (Is(op.inputs[1], 0.0)) {
    return Same(program, op, 0);
  }
  if (op.inputs[1].source == Source::kNumber) {
    BasicValue negative = op.inputs[1];
    negative.number = -negative.number;
    return Instead(op, "Add", {op.inputs[0], negative});
  }
  return std::nullopt;
}

Rewrite SimplifyMul(const BasicProgram& program, const BasicOp& op) {
  for (const std::size_t i : {1U, 0U}) {
    if (Is(op.inputs[i], 1.0)) {
      return Same(program, op, 1 - i);
    }
  }
  return std::nullopt;
}

Rewrite SimplifyRealDiv(const BasicProgram& program, const BasicOp& op) {
  if (Is(op.inputs[0], 1.0)) {
    return Instead(op, "Reciprocal", {op.inputs[1]});
  }
  return Is(op.inputs[1], 1.0) ? Same(program, op, 0) : std::nullopt;
}

Rewrite SimplifyPow(const BasicProgram& program, const BasicOp& op) {
  if (Is(op.inputs[1], 1.0)) {
    return Same(program, op, 0);
  }
  if (Is(op.inputs[1], 2.0)) {
    return Instead(op, "Mul", {op.inputs[0], op.inputs[0]});
  }
  return Is(op.inputs[1], -1.0) ? Rewrite(Instead(op, "Reciprocal", {op.inputs[0]})) : std::nullopt;
}

Rewrite SimplifyNeg(const BasicProgram& program, const BasicOp& op) {
  if (op.inputs[0].source == Source::kResult) {
    const BasicOp& inner = program.ops[static_cast<std::size_t>(op.inputs[0].index)];
    if (inner.facts == op.facts) {
      return BasicRewrite{.value = inner.inputs[0]};
    }
  }
  return std::nullopt;
}

Rewrite SimplifyCast(const BasicProgram& program, const BasicOp& op) {
  if (program.TypeOf(op.inputs[0]).dtype == op.type.dtype) {
    return BasicRewrite{.value = op.inputs[0]};
  }
  return std::nullopt;
}

/// A sum over dimensions of one element each.
Rewrite SimplifySum(const BasicProgram& program, const BasicOp& op) {
  const Shape& from = program.TypeOf(op.inputs[0]).shape;
  if (ElementCount(from).value_or(0) != ElementCount(op.type.shape).value_or(1)) {
    return std::nullopt;
  }
  return Instead(op, "Reshape", {op.inputs[0]});
}

Rewrite SimplifySelect(const BasicProgram& /*program*/, const BasicOp& op) {
  return op.inputs[1] == op.inputs[2] ? Rewrite(BasicRewrite{.value = op.inputs[1]}) : std::nullopt;
}

}  // namespace

DRYDOCK_BASIC(Add, .tensors = 2, .types = FusedTypes::kFloatsOrInt32, .number = SumOf,
              .simplify = SimplifyAdd);
DRYDOCK_BASIC(Sub, .tensors = 2, .types = FusedTypes::kFloatsOrInt32, .number = DifferenceOf,
              .simplify = SimplifySub);
DRYDOCK_BASIC(Mul, .tensors = 2, .types = FusedTypes::kMixed, .number = ProductOf,
              .simplify = SimplifyMul);
DRYDOCK_BASIC(Div, .tensors = 2, .types = FusedTypes::kMixed, .number = QuotientOf);
DRYDOCK_BASIC(RealDiv, .tensors = 2, .number = QuotientOf, .simplify = SimplifyRealDiv);
DRYDOCK_BASIC(Maximum, .tensors = 2, .types = FusedTypes::kFloatsOrInt32);
DRYDOCK_BASIC(Minimum, .tensors = 2, .types = FusedTypes::kFloatsOrInt32);
DRYDOCK_BASIC(Pow, .tensors = 2, .simplify = SimplifyPow);
DRYDOCK_BASIC(Neg, .tensors = 1, .types = FusedTypes::kFloatsOrInt32, .number = NegativeOf,
              .simplify = SimplifyNeg);
DRYDOCK_BASIC(Abs, .tensors = 1, .types = FusedTypes::kFloatsOrInt32);
DRYDOCK_BASIC(Exp, .tensors = 1);
DRYDOCK_BASIC(Log, .tensors = 1);
DRYDOCK_BASIC(Reciprocal, .tensors = 1);
DRYDOCK_BASIC(Rsqrt, .tensors = 1);
DRYDOCK_BASIC(Sqrt, .tensors = 1);
DRYDOCK_BASIC(Floor, .tensors = 1);
DRYDOCK_BASIC(Ceil, .tensors = 1);
DRYDOCK_BASIC(Trunc, .tensors = 1);

DRYDOCK_BASIC(Equal, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(NotEqual, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(Greater, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(GreaterEqual, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(Less, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(LessEqual, .tensors = 2, .types = FusedTypes::kCompared);
DRYDOCK_BASIC(IsFinite, .tensors = 1, .types = FusedTypes::kTested);
DRYDOCK_BASIC(Select, .tensors = 3, .types = FusedTypes::kChosen, .number = Unknown,
              .simplify = SimplifySelect);

DRYDOCK_BASIC(Cast, .tensors = 1, .types = FusedTypes::kConverted, .stays_alone = true,
              .number = SameAs, .simplify = SimplifyCast);
DRYDOCK_BASIC(Transpose, .tensors = 1, .types = FusedTypes::kMoved,
              .pattern = BasicPattern::kOpaque, .stays_alone = true);
DRYDOCK_BASIC(BroadcastTo, .tensors = 1, .types = FusedTypes::kFirstOrInt32,
              .pattern = BasicPattern::kBroadcast);
DRYDOCK_BASIC(ReduceSum, .tensors = 1, .types = FusedTypes::kFirst,
              .pattern = BasicPattern::kReduce, .simplify = SimplifySum, .own_from = 2);
DRYDOCK_BASIC(Assign, .tensors = 2, .types = FusedTypes::kFloatsOrInt32,
              .pattern = BasicPattern::kVirtual, .stays_alone = true, .never_alone = true,
              .writes = true, .waits_with = 0);
/// Only what others are taken apart into.
DRYDOCK_BASIC(Reshape, .pattern = BasicPattern::kReshape, .stays_alone = true, .number = SameAs);

/// Not part of any, but their arguments are taken off and put back, so that they are their own.
DRYDOCK_BASIC(MatMul, .own_from = 2);
DRYDOCK_BASIC(BatchMatMul, .own_from = 2);
DRYDOCK_BASIC(LayerNorm, .own_from = 3);
DRYDOCK_BASIC(LayerNormGrad, .own_from = 5);
DRYDOCK_BASIC(Softmax, .own_from = 1);
DRYDOCK_BASIC(LogSoftmax, .own_from = 1);
DRYDOCK_BASIC(LogSoftmaxGrad, .own_from = 2);
DRYDOCK_BASIC(OneHot, .own_from = 4);
DRYDOCK_BASIC(Gather, .own_from = 3);
DRYDOCK_BASIC(CumSum, .own_from = 2);
DRYDOCK_BASIC(StridedSlice, .own_from = 4);

}  // namespace drydock::strategies
