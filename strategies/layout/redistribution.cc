#include "strategies/layout/redistribution.h"

#include <cstddef>
#include <utility>

#include "base/checked.h"
#include "strategies/layout/redistribution_plan.h"
#include "strategies/layout/redistribution_search.h"

namespace drydock::strategies {
namespace {

using Kind = RedistributionOp::Kind;

/// Writes plan operations out as primitives and follows the local shape.
class PrimitiveWriter {
 public:
  explicit PrimitiveWriter(Shape start) : shape_(std::move(start)) {}

  void Add(const PlanOp& op) {
    switch (op.kind) {
      case PlanOp::Kind::kConcat:
        AddConcat(op);
        break;
      case PlanOp::Kind::kSlice:
        AddSlice(op);
        break;
      case PlanOp::Kind::kExchange:
        AddExchange(op);
        break;
      case PlanOp::Kind::kMove:
        AddMove(op);
        break;
      case PlanOp::Kind::kReshape:
        Push({.kind = Kind::kReshape}, op.shape);
        break;
    }
  }

  std::vector<RedistributionOp> Take() { return std::move(primitives_); }

 private:
  void Push(RedistributionOp primitive, Shape output) {
    primitive.input_shape = std::move(shape_);
    primitive.output_shape = output;
    shape_ = std::move(output);
    primitives_.push_back(std::move(primitive));
  }

  /// AllGather concatenates on dimension 0; any other dimension takes the parts apart again.
  void AddConcat(const PlanOp& op) {
    const Shape part = shape_;
    Shape gathered = shape_;
    gathered[0] *= op.parts;
    Push({.kind = Kind::kAllGather, .group = MakeGroupPattern(op.digits)}, std::move(gathered));
    if (op.axis == 0) {
      return;
    }
    Push({.kind = Kind::kSplit, .axis = 0, .parts = op.parts}, part);
    Push({.kind = Kind::kConcat, .axis = op.axis, .parts = op.parts}, ShapeAfter(op, part));
  }

  void AddSlice(const PlanOp& op) {
    Shape output = ShapeAfter(op, shape_);
    RedistributionOp primitive{.kind = Kind::kStridedSlice};
    primitive.begin.resize(output.size());
    primitive.end.resize(output.size());
    for (std::size_t d = 0; d < output.size(); ++d) {
      primitive.end[d].constant = output[d];
    }
    const auto axis = static_cast<std::size_t>(op.axis);
    primitive.begin[axis] = Times(op.index, output[axis]);
    primitive.end[axis] = primitive.begin[axis];
    primitive.end[axis].constant += output[axis];
    Push(std::move(primitive), std::move(output));
  }

  void AddExchange(const PlanOp& op) {
    Push({.kind = Kind::kAlltoAll,
          .group = MakeGroupPattern(op.digits),
          .parts = op.parts,
          .split_dim = op.axis,
          .concat_dim = op.concat_axis},
         ShapeAfter(op, shape_));
  }

  void AddMove(const PlanOp& op) {
    Shape moved = ShapeAfter(op, shape_);
    Shape part = shape_;
    part[static_cast<std::size_t>(op.axis)] /= op.parts;
    Push({.kind = Kind::kSplit, .axis = op.axis, .parts = op.parts}, std::move(part));
    Push({.kind = Kind::kConcat, .axis = op.concat_axis, .parts = op.parts}, std::move(moved));
  }

  Shape shape_;
  std::vector<RedistributionOp> primitives_;
};

/// Adds the cost of one step. The reference also counts a communication as a local slice (the
/// trailing + x of the table); that is kept, since searches compare with it.
void AddStepCost(const LayoutStep& step, double elements, RedistributionCost* cost) {
  const auto count = static_cast<double>(step.count);
  cost->computation += elements;
  cost->memory += elements;
  if (step.kind == LayoutStep::Kind::kSplit) {
    return;
  }
  const bool permutes = step.kind == LayoutStep::Kind::kPermute;
  const double forward = permutes ? 2 * elements : 0.5 * count * elements;
  const double backward = permutes ? 2 * elements : 0.5 * elements;
  cost->forward_communication += forward;
  cost->backward_communication += backward;
  cost->communication += forward + backward;
  const std::int64_t joined = permutes ? step.concat_dimension : step.dimension;
  if (joined != 0) {
    cost->computation += elements + 2 * count * elements;
    cost->memory += elements + 2 * count * elements;
  } else {
    cost->computation += elements;
    cost->memory += permutes ? elements : count * elements;
  }
}

std::vector<RedistributionOp> Written(const std::vector<PlanOp>& ops, const Shape& start) {
  PrimitiveWriter writer(start);
  for (const PlanOp& op : ops) {
    writer.Add(op);
  }
  return writer.Take();
}

/// What the reference's algorithm emits.
Result<std::vector<RedistributionOp>> ReferenceOps(const TensorLayout& from, const TensorLayout& to,
                                                   const RedistributionOptions& options) {
  DRYDOCK_TRY(RedistributionPlan plan, PlanRedistribution(from, to, options));
  if (options.optimize) {
    plan.ops = OptimizePlan(std::move(plan.ops), plan.start);
  }
  return Written(plan.ops, plan.start);
}

}  // namespace

Result<std::vector<RedistributionOp>> InferRedistribution(const TensorLayout& from,
                                                          const TensorLayout& to,
                                                          const RedistributionOptions& options) {
  if (!options.keep_reshape && from == to) {
    DRYDOCK_RETURN_IF_ERROR(ValidateLayout(from));
    return std::vector<RedistributionOp>();
  }
  DRYDOCK_TRY(std::vector<RedistributionOp> ops, ReferenceOps(from, to, options));
  std::int64_t sent = options.cheapest ? SentElements(ops) : 0;
  if (sent > 0 && !options.enable_alltoall) {
    RedistributionOptions exchanging = options;
    exchanging.enable_alltoall = true;
    DRYDOCK_TRY(std::vector<RedistributionOp> exchanged, ReferenceOps(from, to, exchanging));
    if (SentElements(exchanged) < sent) {
      sent = SentElements(exchanged);
      ops = std::move(exchanged);
    }
  }
  if (sent > 0) {
    if (const auto cheaper = PlanCheapest(from, to, sent)) {
      return Written(cheaper->ops, cheaper->start);
    }
  }
  return ops;
}

Result<RedistributionCost> CostOfRedistribution(const TensorLayout& from, const TensorLayout& to,
                                                const RedistributionOptions& options) {
  DRYDOCK_TRY(const RedistributionPlan plan, PlanRedistribution(from, to, options));
  RedistributionCost cost;
  bool has_reshape = false;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    AddStepCost(plan.steps[i], static_cast<double>(plan.step_elements[i]), &cost);
  }
  for (const PlanOp& op : plan.ops) {
    has_reshape = has_reshape || op.kind == PlanOp::Kind::kReshape;
  }
  if (has_reshape) {
    cost.computation += 2 * static_cast<double>(plan.reshaped_elements);
    cost.memory += 2 * static_cast<double>(plan.reshaped_elements);
  }
  return cost;
}

}  // namespace drydock::strategies
