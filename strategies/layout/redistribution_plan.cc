#include "strategies/layout/redistribution_plan.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/layout/layout_unification.h"
#include "strategies/layout/redistribution_search.h"

namespace drydock::strategies {
namespace {

Status CheckPair(const TensorLayout& from, const TensorLayout& to) {
  DRYDOCK_RETURN_IF_ERROR(ValidateLayout(from));
  DRYDOCK_RETURN_IF_ERROR(ValidateLayout(to));
  if (Product(from.device_matrix) != Product(to.device_matrix)) {
    return FailInput("Redistribution:device-count",
                     "device matrices " + TupleText(from.device_matrix) + " and " +
                         TupleText(to.device_matrix) + " have different numbers of devices",
                     "both layouts must lie on all devices of the stage");
  }
  if (Product(from.shape) != Product(to.shape)) {
    return FailInput("Redistribution:element-count", "shapes " + TupleText(from.shape) + " and " +
                                                         TupleText(to.shape) +
                                                         " have different numbers of elements");
  }
  return {};
}

PlanOp ToPlanOp(const LayoutStep& step, const std::vector<std::int64_t>& device_matrix) {
  const std::size_t axis = device_matrix.size() - 1 - static_cast<std::size_t>(step.axis);
  PlanOp op{
      .axis = step.dimension, .parts = step.count, .digits = {AxisDigit(device_matrix, axis)}};
  switch (step.kind) {
    case LayoutStep::Kind::kSplit:
      op.kind = PlanOp::Kind::kSlice;
      op.index = DigitTimes(op.digits.front(), 1);
      break;
    case LayoutStep::Kind::kConcat:
      op.kind = PlanOp::Kind::kConcat;
      break;
    case LayoutStep::Kind::kPermute:
      op.kind = PlanOp::Kind::kExchange;
      op.concat_axis = step.concat_dimension;
      break;
  }
  return op;
}

/// The two layouts of a redistribution in the forms section 8.5 names.
struct Endpoints {
  PlainLayout from = {};  ///< Extended, standard form ("f0").
  PlainLayout to = {};
  Shape from_base = {};  ///< Slice shapes on the dimensions the user wrote.
  Shape to_base = {};
  Shape from_slice = {};  ///< Slice shapes of the extended forms.
  Shape to_slice = {};
};

Endpoints EndpointsOf(const TensorLayout& from, const TensorLayout& to) {
  Endpoints ends{.from = StandardForm(ExtendedForm(from)),
                 .to = StandardForm(ExtendedForm(to)),
                 .from_base = SliceShape(from),
                 .to_base = SliceShape(to)};
  ends.from_slice = SliceShape(ends.from);
  ends.to_slice = SliceShape(ends.to);
  return ends;
}

// ---- One exchange along several device axes -----------------------------------------------------

using Permutes = std::span<const LayoutStep>;  ///< Outermost axis first, dimensions all different.

/// The local shape with dimensions `first` to `first + count - 1` seen as one.
Shape Merged(const Shape& shape, std::int64_t first, std::ptrdiff_t count) {
  Shape merged(shape.begin(), shape.begin() + first + 1);
  for (std::ptrdiff_t d = first + 1; d < first + count; ++d) {
    merged.back() *= shape[static_cast<std::size_t>(d)];
  }
  merged.insert(merged.end(), shape.begin() + first + count, shape.end());
  return merged;
}

/// True if the cut dimensions are neighbours that can be cut as one, and the joined ones likewise:
/// within them nothing is left of any dimension but the last.
bool AreNeighbours(Permutes permutes, const Shape& slice) {
  for (std::size_t i = 0; i + 1 < permutes.size(); ++i) {
    const LayoutStep& outer = permutes[i];
    const LayoutStep& inner = permutes[i + 1];
    if (inner.dimension != outer.dimension + 1 ||
        inner.concat_dimension != outer.concat_dimension + 1 ||
        slice[static_cast<std::size_t>(outer.dimension)] != outer.count ||
        slice[static_cast<std::size_t>(outer.concat_dimension)] != 1) {
      return false;
    }
  }
  return true;
}

/// All cut dimensions as one, all joined dimensions as one.
void ExchangeMerged(Permutes permutes, PlanOp exchange, std::vector<PlanOp>* ops) {
  const std::int64_t cut = permutes.front().dimension;
  const std::int64_t joined = permutes.front().concat_dimension;
  const std::ptrdiff_t count = std::ssize(permutes);
  const Shape& slice = permutes.front().slice_before;
  ops->push_back(
      ReshapeTo(Merged(Merged(slice, std::max(cut, joined), count), std::min(cut, joined), count)));
  exchange.axis = cut - (cut > joined ? count - 1 : 0);
  exchange.concat_axis = joined - (joined > cut ? count - 1 : 0);
  ops->push_back(std::move(exchange));
}

/// Through a dimension in front of the others that counts the parts.
void ExchangeInFront(Permutes permutes, PlanOp exchange, std::vector<PlanOp>* ops) {
  Shape counted = permutes.front().slice_before;
  counted.insert(counted.begin(), 1);
  ops->push_back(ReshapeTo(std::move(counted)));
  for (std::size_t i = permutes.size(); i-- > 0;) {
    ops->push_back({.kind = PlanOp::Kind::kMove,
                    .axis = permutes[i].dimension + 1,
                    .concat_axis = 0,
                    .parts = permutes[i].count});
  }
  ops->push_back(std::move(exchange));
  for (const LayoutStep& permute : permutes) {
    ops->push_back({.kind = PlanOp::Kind::kMove,
                    .axis = 0,
                    .concat_axis = permute.concat_dimension + 1,
                    .parts = permute.count});
  }
}

void AppendExchange(Permutes permutes, const std::vector<std::int64_t>& device_matrix,
                    std::vector<PlanOp>* ops) {
  PlanOp exchange{.kind = PlanOp::Kind::kExchange, .parts = 1};
  Shape after = permutes.front().slice_before;
  for (const LayoutStep& permute : permutes) {
    const PlanOp op = ToPlanOp(permute, device_matrix);
    after = ShapeAfter(op, after);
    exchange.parts *= op.parts;
    exchange.digits.push_back(op.digits.front());
  }
  if (AreNeighbours(permutes, permutes.front().slice_before)) {
    ExchangeMerged(permutes, std::move(exchange), ops);
  } else {
    ExchangeInFront(permutes, std::move(exchange), ops);
  }
  ops->push_back(ReshapeTo(std::move(after)));
}

void AppendSteps(std::vector<LayoutStep> steps, const std::vector<std::int64_t>& device_matrix,
                 RedistributionPlan* plan) {
  const std::int64_t elements = steps.empty() ? 0 : Product(steps[0].slice_before);
  plan->step_elements.resize(plan->step_elements.size() + steps.size(), elements);
  std::span<const LayoutStep> rest = steps;
  while (!rest.empty()) {
    const std::size_t length = MoveLength(rest);
    if (length > 1) {
      AppendExchange(rest.first(length), device_matrix, &plan->ops);
    } else {
      plan->ops.push_back(ToPlanOp(rest.front(), device_matrix));
    }
    rest = rest.subspan(length);
  }
  std::ranges::move(steps, std::back_inserter(plan->steps));
}

void PlanUnified(const Endpoints& ends, const UnifiedLayouts& unified,
                 std::vector<LayoutStep> steps, RedistributionPlan* plan) {
  Shape unified_from = SliceShape(unified.from);
  if (ends.from_slice != unified_from) {
    plan->ops.push_back(ReshapeTo(std::move(unified_from)));
  }
  AppendSteps(std::move(steps), unified.from.device_matrix, plan);
  if (SliceShape(unified.to) != ends.to_slice) {
    plan->ops.push_back(ReshapeTo(ends.to_slice));
  }
}

/// Through the whole tensor on every rank.
void PlanThroughWhole(const Endpoints& ends, bool enable_alltoall, RedistributionPlan* plan) {
  const std::vector<std::int64_t> whole_from(ends.from.shape.size(), -1);
  AppendSteps(InferSteps(ends.from, whole_from, enable_alltoall), ends.from.device_matrix, plan);
  if (ends.from.shape != ends.to.shape) {
    plan->ops.push_back(ReshapeTo(ends.to.shape));
  }
  PlainLayout whole = ends.to;
  whole.tensor_map.assign(whole.tensor_map.size(), -1);
  AppendSteps(InferSteps(whole, ends.to.tensor_map, enable_alltoall), whole.device_matrix, plan);
}

// ---- The search's plans -------------------------------------------------------------------------

constexpr std::size_t kMaxCutDimensions = 5;  ///< Subsets of more are not tried.

/// `layout` with the dimensions of `mask` made whole (bit i = i-th cut dimension).
PlainLayout PartlyWhole(PlainLayout layout, std::uint32_t mask) {
  std::uint32_t bit = 1;
  for (std::int64_t& axis : layout.tensor_map) {
    if (axis != -1) {
      axis = (mask & bit) != 0 ? -1 : axis;
      bit <<= 1U;
    }
  }
  return layout;
}

/// The same ownership with every uncut dimension merged into the one before it.
PlainLayout Coarsened(const PlainLayout& layout) {
  PlainLayout coarse{.device_matrix = layout.device_matrix};
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.tensor_map[d] == -1 && !coarse.shape.empty()) {
      coarse.shape.back() *= layout.shape[d];
    } else {
      coarse.shape.push_back(layout.shape[d]);
      coarse.tensor_map.push_back(layout.tensor_map[d]);
    }
  }
  return coarse;
}

/// Fine dimensions leave the search more ways; coarse ones fit more often.
std::optional<UnifiedLayouts> UnifyAnyhow(const PlainLayout& from, const PlainLayout& to) {
  const PlainLayout squeezed_from = Squeezed(from);
  const PlainLayout squeezed_to = Squeezed(to);
  const auto unified = UnifyLayouts(squeezed_from, squeezed_to);
  return unified ? unified : UnifyLayouts(Coarsened(squeezed_from), Coarsened(squeezed_to));
}

std::uint32_t SubsetCount(const PlainLayout& layout) {
  const auto cut = std::ranges::count_if(layout.tensor_map, [](auto axis) { return axis != -1; });
  return 1U << std::min(static_cast<std::size_t>(cut), kMaxCutDimensions);
}

/// A way over layouts in which only some dimensions are whole; both ends of it can be unified.
struct Detour {
  std::vector<LayoutStep> before = {};
  UnifiedLayouts unified = {};
  std::vector<LayoutStep> steps = {};
  PlainLayout last = {};  ///< Before the final slices.
};

std::optional<Detour> CheapestDetour(const Endpoints& ends, std::int64_t limit) {
  std::optional<Detour> best;
  for (std::uint32_t gathered = 0; gathered < SubsetCount(ends.from); ++gathered) {
    const PlainLayout first = PartlyWhole(ends.from, gathered);
    const std::vector<LayoutStep> before = InferSteps(ends.from, first.tensor_map, false);
    const std::int64_t before_sent = SentElements(before);
    const std::int64_t held = Product(SliceShape(first));
    for (std::uint32_t sliced = 0; before_sent < limit && sliced < SubsetCount(ends.to); ++sliced) {
      const PlainLayout last = PartlyWhole(ends.to, sliced);
      if (before_sent + Product(SliceShape(last)) - held >= limit) {
        continue;  // What a rank does not hold it must be sent.
      }
      const auto unified = UnifyAnyhow(first, last);
      if (!unified) {
        continue;
      }
      auto steps = CheapestSteps(unified->from, unified->to.tensor_map, limit - before_sent);
      if (steps) {
        limit = before_sent + SentElements(*steps);
        best = {.before = before, .unified = *unified, .steps = *std::move(steps), .last = last};
      }
    }
  }
  return best;
}

void PlanDetour(const Endpoints& ends, Detour detour, RedistributionPlan* plan) {
  AppendSteps(std::move(detour.before), ends.from.device_matrix, plan);
  plan->ops.push_back(ReshapeTo(SliceShape(detour.unified.from)));
  AppendSteps(std::move(detour.steps), detour.unified.from.device_matrix, plan);
  plan->ops.push_back(ReshapeTo(SliceShape(detour.last)));
  AppendSteps(InferSteps(detour.last, ends.to.tensor_map, false), ends.to.device_matrix, plan);
}

}  // namespace

std::optional<RedistributionPlan> PlanCheapest(const TensorLayout& from, const TensorLayout& to,
                                               std::int64_t limit) {
  const Endpoints ends = EndpointsOf(from, to);
  RedistributionPlan plan{.start = ends.from_base};
  plan.ops.push_back(ReshapeTo(ends.from_slice));
  const auto unified = UnifyLayouts(Squeezed(ends.from), Squeezed(ends.to));
  plan.expandable = unified.has_value();
  if (unified) {
    auto steps = CheapestSteps(unified->from, unified->to.tensor_map, limit);
    if (!steps) {
      return std::nullopt;
    }
    PlanUnified(ends, *unified, *std::move(steps), &plan);
  } else {
    std::optional<Detour> detour = CheapestDetour(ends, limit);
    if (!detour) {
      return std::nullopt;
    }
    PlanDetour(ends, *std::move(detour), &plan);
  }
  plan.ops.push_back(ReshapeTo(ends.to_base));
  plan.ops = WithoutIdleReshapes(std::move(plan.ops), plan.start);
  return plan;
}

Result<RedistributionPlan> PlanRedistribution(const TensorLayout& from, const TensorLayout& to,
                                              const RedistributionOptions& options) {
  DRYDOCK_RETURN_IF_ERROR(CheckPair(from, to));
  const Endpoints ends = EndpointsOf(from, to);
  RedistributionPlan plan{.start = ends.from_base};
  if (ends.from_base != ends.from_slice) {
    plan.ops.push_back(ReshapeTo(ends.from_slice));
  }
  const PlainLayout squeezed_from = Squeezed(ends.from);
  const auto unified = UnifyLayouts(squeezed_from, Squeezed(ends.to));
  plan.expandable = unified.has_value();
  if (unified) {
    PlanUnified(ends, *unified,
                InferSteps(unified->from, unified->to.tensor_map, options.enable_alltoall), &plan);
    plan.reshaped_elements = Product(SliceShape(squeezed_from));
  } else {
    PlanThroughWhole(ends, options.enable_alltoall, &plan);
    plan.reshaped_elements = Product(squeezed_from.shape);
  }
  if (ends.to_slice != ends.to_base) {
    plan.ops.push_back(ReshapeTo(ends.to_base));
  }
  if (plan.steps.empty()) {
    plan.ops.clear();
    if (ends.from_base != ends.to_base || options.keep_reshape) {
      plan.ops.push_back(ReshapeTo(ends.to_base));
    }
  }
  return plan;
}

PlanOp ReshapeTo(Shape shape) {
  return {.kind = PlanOp::Kind::kReshape, .shape = std::move(shape)};
}

Shape ShapeAfter(const PlanOp& op, const Shape& input) {
  Shape output = input;
  const auto axis = static_cast<std::size_t>(op.axis);
  switch (op.kind) {
    case PlanOp::Kind::kConcat:
      output[axis] *= op.parts;
      break;
    case PlanOp::Kind::kSlice:
      output[axis] /= op.parts;
      break;
    case PlanOp::Kind::kExchange:
    case PlanOp::Kind::kMove:
      output[axis] /= op.parts;
      output[static_cast<std::size_t>(op.concat_axis)] *= op.parts;
      break;
    case PlanOp::Kind::kReshape:
      output = op.shape;
      break;
  }
  return output;
}

}  // namespace drydock::strategies
