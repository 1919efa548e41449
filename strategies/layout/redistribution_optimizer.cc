// Peephole optimizer of redistributions (mindspore
// ccsrc/frontend/parallel/tensor_layout/tensor_transform.cc). The passes run in the order the
// reference runs them; each one keeps the data and changes only how it is reached.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "strategies/layout/redistribution_plan.h"

namespace drydock::strategies {
namespace {

bool LeadingOnes(const Shape& shape, std::int64_t count) {
  return std::all_of(shape.begin(), shape.begin() + count,
                     [](std::int64_t extent) { return extent == 1; });
}

/// Concats before slices; concats by falling, slices by rising axis. A Reshape equals everything,
/// which is not a proper order: the result is what a stable merge sort makes of it.
bool ComesBefore(const PlanOp& a, const PlanOp& b) {
  if (a.kind == PlanOp::Kind::kReshape || b.kind == PlanOp::Kind::kReshape) {
    return false;
  }
  if (a.kind != b.kind) {
    return a.kind == PlanOp::Kind::kConcat;
  }
  return a.kind == PlanOp::Kind::kConcat ? a.axis > b.axis : a.axis < b.axis;
}

/// Concats behind leading ones only are concats on axis 0 of another shape.
std::vector<PlanOp> WithConcatsOnAxisZero(std::vector<PlanOp> ops, const Shape& start) {
  std::vector<PlanOp> result;
  Shape shape = start;
  std::optional<Shape> last_output;  // of the nearest operator that is no Reshape
  for (PlanOp& op : ops) {
    Shape output = ShapeAfter(op, shape);
    if (op.kind == PlanOp::Kind::kConcat && op.axis > 0 && LeadingOnes(shape, op.axis)) {
      const Shape flat = last_output.value_or(Shape(shape.begin() + op.axis, shape.end()));
      op.axis = 0;
      last_output = ShapeAfter(op, flat);
      result.push_back(ReshapeTo(flat));
      result.push_back(std::move(op));
      result.push_back(ReshapeTo(output));
    } else {
      if (op.kind != PlanOp::Kind::kReshape) {
        last_output = output;
      }
      result.push_back(std::move(op));
    }
    shape = std::move(output);
  }
  return result;
}

/// The same for slices in front of a Reshape, from the back so that they move one after the other.
void MoveSlicesBehindReshapes(std::vector<PlanOp>* ops, const Shape& start) {
  std::vector<Shape> inputs = {start};
  for (const PlanOp& op : *ops) {
    inputs.push_back(ShapeAfter(op, inputs.back()));
  }
  for (std::size_t i = ops->size(); i-- > 1;) {
    PlanOp& slice = (*ops)[i - 1];
    PlanOp& reshape = (*ops)[i];
    if (slice.kind != PlanOp::Kind::kSlice || reshape.kind != PlanOp::Kind::kReshape ||
        reshape.shape.empty() || !LeadingOnes(inputs[i - 1], slice.axis)) {
      continue;
    }
    reshape.shape[0] *= slice.parts;
    slice.axis = 0;
    std::swap(slice, reshape);
  }
}

/// Stride of the digit outside that of a concat.
std::int64_t EndOf(const PlanOp& concat) {
  return concat.digits.front().stride * concat.digits.front().extent;
}

/// Neighbouring concats whose groups are the inner and the outer part of one digit.
std::vector<PlanOp> WithMergedConcats(std::vector<PlanOp> ops) {
  std::vector<PlanOp> merged;
  for (PlanOp& op : ops) {
    if (!merged.empty() && op.kind == PlanOp::Kind::kConcat &&
        merged.back().kind == PlanOp::Kind::kConcat && merged.back().axis == op.axis &&
        EndOf(merged.back()) == op.digits.front().stride) {
      merged.back().digits.front().extent *= op.digits.front().extent;
      merged.back().parts *= op.parts;
    } else {
      merged.push_back(std::move(op));
    }
  }
  return merged;
}

/// Slices on one axis become one; Reshapes between them go.
std::vector<PlanOp> WithMergedSlices(std::vector<PlanOp> ops) {
  std::vector<PlanOp> merged;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t open = kNone;  // the slice that only Reshapes follow in `merged`
  for (PlanOp& op : ops) {
    if (op.kind == PlanOp::Kind::kSlice && open != kNone && merged[open].axis == op.axis) {
      PlanOp& first = merged[open];
      first.index = Plus(Times(first.index, op.parts), op.index);
      first.parts *= op.parts;
      merged.resize(open + 1);
      continue;
    }
    if (op.kind == PlanOp::Kind::kSlice) {
      open = merged.size();
    } else if (op.kind != PlanOp::Kind::kReshape) {
      open = kNone;
    }
    merged.push_back(std::move(op));
  }
  return merged;
}

/// The reference leaves lists alone that have one primitive only or an AlltoAll.
bool IsOptimized(const std::vector<PlanOp>& ops) {
  const bool has_exchange = std::any_of(
      ops.begin(), ops.end(), [](const PlanOp& op) { return op.kind == PlanOp::Kind::kExchange; });
  const bool is_one_primitive =
      ops.size() == 1 && (ops[0].kind != PlanOp::Kind::kConcat || ops[0].axis == 0);
  return !ops.empty() && !has_exchange && !is_one_primitive;
}

}  // namespace

std::vector<PlanOp> WithoutIdleReshapes(std::vector<PlanOp> ops, const Shape& start) {
  std::vector<PlanOp> kept;
  kept.reserve(ops.size());
  Shape before_run = start;  // shape in front of the Reshapes at the end of `kept`
  for (PlanOp& op : ops) {
    if (op.kind != PlanOp::Kind::kReshape) {
      if (!kept.empty() && kept.back().kind == PlanOp::Kind::kReshape) {
        before_run = kept.back().shape;
      }
      before_run = ShapeAfter(op, before_run);
      kept.push_back(std::move(op));
      continue;
    }
    if (!kept.empty() && kept.back().kind == PlanOp::Kind::kReshape) {
      kept.pop_back();
    }
    if (op.shape != before_run) {
      kept.push_back(std::move(op));
    }
  }
  return kept;
}

std::vector<PlanOp> OptimizePlan(std::vector<PlanOp> ops, const Shape& start) {
  if (!IsOptimized(ops)) {
    return ops;
  }
  ops = WithoutIdleReshapes(std::move(ops), start);
  std::stable_sort(ops.begin(), ops.end(), ComesBefore);
  ops = WithConcatsOnAxisZero(std::move(ops), start);
  MoveSlicesBehindReshapes(&ops, start);
  ops = WithoutIdleReshapes(std::move(ops), start);
  ops = WithMergedConcats(std::move(ops));
  return WithMergedSlices(std::move(ops));
}

}  // namespace drydock::strategies
