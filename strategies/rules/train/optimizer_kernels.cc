#include "strategies/rules/train/optimizer_kernels.h"

#include <string_view>
#include <utility>

/// Optimizer steps that MindSpore's back end for Ascend takes apart into several kernels.
///
/// AdamWeightDecay: %1 = Sub(1, beta1); %2 = Sub(1, beta2), which all parameters share;
/// AdamApplyOneWithDecayAssign(gradient, v, m, weight, lr, beta1, %1, beta2, %2, decay, eps).
/// Lamb: %3 = Cast(TensorMove(global_step)); %4 = LambApplyOptimizerAssign(gradient, v, m, weight,
/// beta1, %1, beta2, %2, eps, %3, 1, decay); the norms Sqrt(ReduceSum(Square(x))) of weight and %4;
/// LambApplyWeightAssign(norm, norm, lr, %4, weight).
/// Norms are those of the rank's slices. Source: passes adam_weight_decay_fission, lamb_fission of
/// mindspore/ccsrc/plugin/device/ascend; graphs "graph_build" of MindSpore 2.10.
namespace drydock::strategies {
namespace {

const TensorType kScalar = {.shape = {}, .dtype = DType::kFloat32};
const TensorType kOne = {.shape = {1}, .dtype = DType::kFloat32};

/// 1 - beta.
KernelId Rest(KernelBuilder& builder, KernelId beta) {
  const KernelId one = builder.Constant(kScalar, "1.000000");
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

/// Results of a node (weight, m, v) that a kernel writes as (v, m, weight).
std::vector<KernelId> WeightFirst(const std::vector<KernelId>& items) {
  return {items[2], items[1], items[0]};
}

}  // namespace

Result<std::vector<KernelId>> LowerAdamWeightDecay(const LowerContext& context) {
  const auto in = context.inputs;  // weight, m, v, lr, beta1, beta2, epsilon, decay, gradient
  KernelBuilder& builder = context.builder;
  const KernelId rest1 = Rest(builder, in[4]);
  const KernelId rest2 = Rest(builder, in[5]);
  const TensorType& weight = context.OutputType(0);
  const KernelId step = builder.Kernel(
      {.name = "AdamApplyOneWithDecayAssign",
       .inputs = {in[8], in[2], in[1], in[0], in[3], in[4], rest1, in[5], rest2, in[7], in[6]},
       .results = {context.OutputType(2), context.OutputType(1), weight},
       .shares = {1, 2, 3}});
  return WeightFirst(builder.Results(step));
}

Result<std::vector<KernelId>> LowerLamb(const LowerContext& context) {
  // weight, m, v, lr, beta1, beta2, epsilon, decay, global_step, gradient
  const auto in = context.inputs;
  KernelBuilder& builder = context.builder;
  const TensorType& weight = context.OutputType(0);
  const KernelId rest1 = Rest(builder, in[4]);
  const KernelId rest2 = Rest(builder, in[5]);
  const KernelId of_weight = Norm(builder, in[0]);
  const KernelId moved =
      builder.Kernel({.name = "TensorMove", .inputs = {in[8]}, .results = {context.InputType(8)}});
  const KernelId count = builder.Kernel({.name = "Cast", .inputs = {moved}, .results = {kOne}});
  const KernelId step = builder.Kernel(
      {.name = "LambApplyOptimizerAssign",
       .inputs = {in[9], in[2], in[1], in[0], in[4], rest1, in[5], rest2, in[6], count,
                  builder.Constant(kScalar, "1.000000"), in[7], context.state},
       .results = {weight, context.OutputType(2), context.OutputType(1)},
       .shares = {-1, 1, 2}});
  const std::vector<KernelId> items = builder.Results(step);
  const KernelId state = builder.Virtual(KernelKind::kUpdateState, {context.state, items.front()});
  const KernelId of_step = Norm(builder, items.front());
  const KernelId applied =
      builder.Kernel({.name = "LambApplyWeightAssign",
                      .inputs = {of_weight, of_step, in[3], items.front(), in[0], state},
                      .results = {weight},
                      .shares = {4}});
  return std::vector<KernelId>{applied, items[2], items[1]};
}

}  // namespace drydock::strategies
