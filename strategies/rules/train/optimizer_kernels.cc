#include "strategies/rules/train/optimizer_kernels.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/graph/kept_constant.h"

/// Optimizer steps that MindSpore's back end for Ascend takes apart into several kernels.
///
/// AdamWeightDecay: %1 = Sub(1, beta1); %2 = Sub(1, beta2), which all parameters share;
/// AdamApplyOneWithDecayAssign(Depend(gradient, state), v, m, weight, lr, beta1, %1, beta2, %2,
/// decay, eps): the gradient waits for what is before, and what comes later for all three results.
/// Weights and moments of half precision are cast, AdamApplyOneWithDecay computes, and what it
/// gives is cast back and assigned. Of the constants among these, only beta1 and the first beta2
/// are shared: the front end merges tensors of one type and shape only with the first of them
/// (mindspore/ccsrc/utils/cse.cc). Lamb: %3 = Cast(TensorMove(global_step)); %4 =
/// LambApplyOptimizerAssign(gradient, v, m, weight, beta1, %1, beta2, %2, eps, %3, 1, decay); the
/// norms Sqrt(ReduceSum(Square(x))) of weight and %4; LambApplyWeightAssign(norm, norm, lr, %4,
/// weight). Each waits for what was read before it, and what comes later for
/// Depend(LambApplyWeightAssign, UpdateState of it). Norms are those of the rank's slices. Source:
/// passes adam_weight_decay_fission, lamb_fission of mindspore/ccsrc/plugin/device/ascend; graphs
/// "graph_build" of MindSpore 2.10.
namespace drydock::strategies {
namespace {

const TensorType kScalar = {.shape = {}, .dtype = DType::kFloat32};
const TensorType kOne = {.shape = {1}, .dtype = DType::kFloat32};

/// 1 - beta.
KernelId Rest(KernelBuilder& builder, KernelId beta) {
  // Not one with numbers of the script, which were joined before.
  const KernelId one = builder.Constant(kScalar, "1 of differences");
  return builder.Once("rest", {beta}, [&builder, one, beta] {
    return builder.Kernel(
        {.name = "Sub", .inputs = {one, beta}, .results = {builder.TypeOf(beta)}});
  });
}

/// Root of the sum of squares; the sum's arguments are constants of its own.
KernelId Norm(KernelBuilder& builder, KernelId x) {
  const TensorType type = builder.TypeOf(x);
  const KernelId square = builder.Kernel({.name = "Square", .inputs = {x}, .results = {type}});
  const TensorType flag = {.shape = {}, .dtype = DType::kBool};
  const TensorType axes = {.shape = {std::ssize(type.shape)}, .dtype = DType::kInt64};
  const KernelId sum =
      builder.Kernel({.name = "ReduceSum",
                      .inputs = {square, builder.Constant(axes, ""), builder.Constant(flag, ""),
                                 builder.Constant(flag, "")},
                      .results = {kOne}});
  return builder.Kernel({.name = "Sqrt", .inputs = {sum}, .results = {kOne}});
}

/// A constant like `id` that no other kernel reads; what is computed stays.
KernelId OwnOne(KernelBuilder& builder, KernelId id) {
  return builder.graph().at(id).kind == KernelKind::kConstant
             ? builder.Constant(TensorType(builder.TypeOf(id)), "")
             : id;
}

bool IsNewest(const KernelBuilder& builder, KernelId id) {
  return static_cast<std::size_t>(id) + 1 == builder.graph().nodes.size();
}

/// Decays are made into tensors once per shape of weights if these come in groups, else for every
/// weight; of those only the ones of the first weight are merged.
KernelId Decay(const LowerContext& context, KernelId decay) {
  KernelBuilder& builder = context.builder;
  const auto own = [&builder, decay] { return OwnOne(builder, decay); };
  if (!context.node.attrs.contains("by_groups")) {
    return own();
  }
  const KernelId first = builder.Once("decay of the first weight", {}, own);
  const KernelId made = IsNewest(builder, first) ? first : kNoKernel;
  const KernelId known = builder.Once("decay of " + TupleText(context.OutputType(0).shape), {decay},
                                      [made] { return made; });
  return known == kNoKernel ? own() : known;
}

/// The operand, not before the state of memory, in single precision.
KernelId Single(const LowerContext& context, KernelId operand) {
  KernelBuilder& builder = context.builder;
  const KernelId now = builder.Virtual(KernelKind::kDepend, {operand, context.state});
  TensorType type = builder.TypeOf(operand);
  if (type.dtype == DType::kFloat32) {
    return now;
  }
  type.dtype = DType::kFloat32;
  return builder.Kernel({.name = "Cast", .inputs = {now}, .results = {type}});
}

/// Of a weight that is not in single precision: what AdamApplyOneWithDecay computes is cast back
/// and assigned, result by result.
std::vector<KernelId> LowerHalfStep(const LowerContext& context, std::vector<KernelId> numbers) {
  const auto in = context.inputs;
  KernelBuilder& builder = context.builder;
  std::vector<KernelId> inputs;
  std::vector<TensorType> types;
  for (const std::size_t operand : {8U, 2U, 1U, 0U}) {
    inputs.push_back(Single(context, in[operand]));
    types.push_back(builder.TypeOf(inputs.back()));
  }
  inputs.insert(inputs.end(), numbers.begin(), numbers.end());
  const KernelId step = builder.Kernel({.name = "AdamApplyOneWithDecay",
                                        .inputs = std::move(inputs),
                                        .results = {types.begin() + 1, types.end()}});
  std::vector<KernelId> assigned;
  for (const std::size_t operand : {0U, 1U, 2U}) {
    const TensorType& type = context.OutputType(operand);
    KernelId now =
        builder.Virtual(KernelKind::kTupleGetItem, {step}, 2 - static_cast<std::int32_t>(operand));
    if (type.dtype != DType::kFloat32) {
      now = builder.Kernel({.name = "Cast", .inputs = {now}, .results = {type}});
    }
    assigned.push_back(builder.Kernel({.name = "Assign",
                                       .inputs = {in[operand], now, context.state},
                                       .results = {type},
                                       .shares = {0}}));
  }
  (void)builder.Virtual(KernelKind::kMakeTuple, assigned);  // What comes later waits for.
  return assigned;
}

}  // namespace

Result<std::vector<KernelId>> LowerAdamWeightDecay(const LowerContext& context) {
  const auto in = context.inputs;  // weight, m, v, lr, beta1, beta2, epsilon, decay, gradient
  KernelBuilder& builder = context.builder;
  if (context.OutputType(0).dtype != DType::kFloat32) {
    const KernelId rest1 = Rest(builder, in[4]);
    const KernelId rest2 = Rest(builder, in[5]);
    const KernelId beta2 = IsNewest(builder, rest2) ? in[5] : OwnOne(builder, in[5]);
    return LowerHalfStep(context, {in[3], in[4], rest1, beta2, rest2, Decay(context, in[7]),
                                   OwnOne(builder, in[6])});
  }
  const KernelId gradient = builder.Virtual(KernelKind::kDepend, {in[8], context.state});
  const KernelId rest1 = Rest(builder, in[4]);
  const KernelId rest2 = Rest(builder, in[5]);
  const KernelId beta2 = IsNewest(builder, rest2) ? in[5] : OwnOne(builder, in[5]);
  const TensorType& weight = context.OutputType(0);
  const KernelId step =
      builder.Kernel({.name = "AdamApplyOneWithDecayAssign",
                      .inputs = {gradient, in[2], in[1], in[0], in[3], in[4], rest1, beta2, rest2,
                                 Decay(context, in[7]), OwnOne(builder, in[6])},
                      .results = {context.OutputType(2), context.OutputType(1), weight},
                      .shares = {1, 2, 3}});
  const KernelId all = builder.Virtual(KernelKind::kMakeTuple, builder.Results(step));
  std::vector<KernelId> weight_first;
  for (const std::int32_t item : {2, 1, 0}) {
    weight_first.push_back(builder.Virtual(KernelKind::kTupleGetItem, {all}, item));
  }
  (void)builder.Virtual(KernelKind::kMakeTuple, weight_first);  // What comes later waits for.
  return weight_first;
}

Result<std::vector<KernelId>> LowerLamb(const LowerContext& context) {
  // weight, m, v, lr, beta1, beta2, epsilon, decay, global_step, gradient
  const auto in = context.inputs;
  KernelBuilder& builder = context.builder;
  const TensorType& weight = context.OutputType(0);
  const KernelId before = builder.Virtual(KernelKind::kLoad, {in[0], context.state});
  const KernelId of_weight = Norm(builder, before);
  const KernelId rest1 = Rest(builder, in[4]);
  const KernelId rest2 = Rest(builder, in[5]);
  if (!IsNewest(builder, rest2)) {
    // The 1 of differences that were merged into the first.
    KeepUnread(builder.graph(), builder.Constant(kScalar, ""));
  }
  const KernelId steps = builder.Virtual(KernelKind::kLoad, {in[8], context.state});
  const KernelId moved =
      builder.Kernel({.name = "TensorMove", .inputs = {steps}, .results = {context.InputType(8)}});
  const KernelId count = builder.Kernel({.name = "Cast", .inputs = {moved}, .results = {kOne}});
  const KernelId read = builder.Virtual(KernelKind::kMakeTuple, {before, moved});
  const KernelId state = builder.Virtual(KernelKind::kUpdateState, {context.state, read});
  const KernelId step =
      builder.Kernel({.name = "LambApplyOptimizerAssign",
                      .inputs = {in[9], in[2], in[1], before, in[4], rest1, in[5], rest2, in[6],
                                 count, builder.Constant(kScalar, ""), in[7], state},
                      .results = {weight, context.OutputType(2), context.OutputType(1)},
                      .shares = {-1, 1, 2}});
  const KernelId all = builder.Virtual(KernelKind::kMakeTuple, builder.Results(step));
  const KernelId change = builder.Virtual(KernelKind::kTupleGetItem, {all}, 0);
  const KernelId of_change = Norm(builder, change);
  const KernelId changed = builder.Virtual(KernelKind::kUpdateState, {state, change});
  const KernelId applied =
      builder.Kernel({.name = "LambApplyWeightAssign",
                      .inputs = {of_weight, of_change, in[3], change, before, changed},
                      .results = {weight},
                      .shares = {4}});
  const KernelId after = builder.Virtual(KernelKind::kUpdateState, {changed, applied});
  const KernelId moment2 = builder.Virtual(KernelKind::kTupleGetItem, {all}, 1);
  const KernelId moment1 = builder.Virtual(KernelKind::kTupleGetItem, {all}, 2);
  const KernelId done = builder.Virtual(KernelKind::kDepend, {applied, after});
  return std::vector<KernelId>{done, moment1, moment2};
}

namespace {

/// Operands, each constant among them once more.
std::vector<KernelId> OwnNumbers(const LowerContext& context) {
  std::vector<KernelId> inputs(context.inputs.begin(), context.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId operand = context.node.inputs[i];
    if (operand != kNoValue && context.graph.at(operand).kind == ValueKind::kConstant) {
      inputs[i] = context.builder.Constant(context.InputType(i), "");
    }
  }
  return inputs;
}

}  // namespace

Result<std::vector<KernelId>> LowerWithOwnNumbers(const LowerContext& context) {
  const std::vector<KernelId> inputs = OwnNumbers(context);
  return LowerByDefault({.builder = context.builder,
                         .graph = context.graph,
                         .node = context.node,
                         .inputs = inputs,
                         .state = context.state,
                         .first_state = context.first_state});
}

std::vector<KernelId> LowerToWeight(const LowerContext& context, bool own) {
  std::vector<KernelId> inputs =
      own ? OwnNumbers(context) : std::vector(context.inputs.begin(), context.inputs.end());
  std::vector<KernelId> results = {context.builder.Kernel({.name = context.node.op,
                                                           .inputs = std::move(inputs),
                                                           .results = {context.OutputType()},
                                                           .shares = {0}})};
  for (std::size_t i = 1; i < context.node.outputs.size(); ++i) {
    results.push_back(context.inputs[i]);
  }
  return results;
}

}  // namespace drydock::strategies
