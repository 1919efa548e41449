#include "tests/strategies/layout/redistribution_oracle.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "base/checked.h"

namespace drydock::strategies::oracle {
namespace {

using Kind = RedistributionOp::Kind;
using Numbers = std::vector<std::int64_t>;

Tensor Zeros(const Shape& shape) {
  return {.shape = shape, .values = Numbers(static_cast<std::size_t>(Product(shape)), 0)};
}

/// Calls `visit(index in block, index in whole)` for the block of shape `shape` at `begin`.
template <typename Visit>
void ForEachInBlock(const Shape& whole, const Numbers& begin, const Shape& shape, Visit visit) {
  const std::int64_t count = Product(shape);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::int64_t stride = 1;
    std::int64_t target = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      target += (begin[d] + rest % shape[d]) * stride;
      rest /= shape[d];
      stride *= whole[d];
    }
    visit(static_cast<std::size_t>(flat), static_cast<std::size_t>(target));
  }
}

Tensor Block(const Tensor& whole, const Numbers& begin, const Shape& shape) {
  Tensor block = Zeros(shape);
  ForEachInBlock(whole.shape, begin, shape,
                 [&](std::size_t i, std::size_t j) { block.values[i] = whole.values[j]; });
  return block;
}

/// Part number `index` of `parts` along `axis`.
Tensor Part(const Tensor& whole, std::int64_t axis, std::int64_t parts, std::int64_t index) {
  const auto d = static_cast<std::size_t>(axis);
  Shape shape = whole.shape;
  EXPECT_EQ(shape.at(d) % parts, 0);
  shape[d] /= parts;
  Numbers begin(shape.size(), 0);
  begin[d] = index * shape[d];
  return Block(whole, begin, shape);
}

Tensor Join(const std::vector<Tensor>& parts, std::int64_t axis) {
  const auto d = static_cast<std::size_t>(axis);
  Tensor whole = parts.at(0);
  whole.shape.at(d) *= std::ssize(parts);
  whole = Zeros(whole.shape);
  Numbers begin(whole.shape.size(), 0);
  for (const Tensor& part : parts) {
    ForEachInBlock(whole.shape, begin, part.shape,
                   [&](std::size_t i, std::size_t j) { whole.values[j] = part.values[i]; });
    begin[d] += part.shape[d];
  }
  return whole;
}

Numbers ValuesOf(const std::vector<RankExpr>& exprs, std::int64_t position) {
  Numbers values;
  for (const RankExpr& expr : exprs) {
    values.push_back(ValueAt(expr, position));
  }
  return values;
}

Tensor Reshaped(Tensor tensor, const Shape& shape) {
  EXPECT_EQ(Product(shape), std::ssize(tensor.values));
  tensor.shape = shape;
  return tensor;
}

/// The group of a rank; checks that the rank is a member and that all members agree on it.
Numbers GroupOf(const RedistributionOp& op, std::int64_t position, std::int64_t ranks) {
  const Numbers group = GroupRanks(op.group, position, 0);
  EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
  EXPECT_NE(std::find(group.begin(), group.end(), position), group.end());
  for (const std::int64_t member : group) {
    EXPECT_LT(member, ranks);
    EXPECT_EQ(GroupRanks(op.group, member, 0), group);
  }
  return group;
}

/// What the ranks exchange: position q of a group joins part q of every member.
Tensor Exchange(const Job& job, const Numbers& group, std::int64_t position,
                std::int64_t split_axis, std::int64_t join_axis) {
  const auto own = std::find(group.begin(), group.end(), position) - group.begin();
  std::vector<Tensor> parts;
  for (const std::int64_t member : group) {
    parts.push_back(
        Part(job[static_cast<std::size_t>(member)], split_axis, std::ssize(group), own));
  }
  return Join(parts, join_axis);
}

/// AllGather on dimension `axis`; the library writes axis > 0 as AllGather, Split, Concat.
Tensor Gather(const Job& job, const Numbers& group, std::int64_t axis) {
  std::vector<Tensor> parts;
  for (const std::int64_t member : group) {
    parts.push_back(job[static_cast<std::size_t>(member)]);
  }
  return Join(parts, axis);
}

Tensor RunOne(const RedistributionOp& op, const Job& job, std::int64_t position) {
  const Tensor& own = job[static_cast<std::size_t>(position)];
  EXPECT_EQ(own.shape, op.input_shape);
  switch (op.kind) {
    case Kind::kAllGather:
      return Gather(job, GroupOf(op, position, std::ssize(job)), 0);
    case Kind::kStridedSlice: {
      const Numbers begin = ValuesOf(op.begin, position);
      Shape shape = ValuesOf(op.end, position);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        shape[d] -= begin[d];
        EXPECT_GE(begin[d], 0);
        EXPECT_LE(begin[d] + shape[d], own.shape.at(d));
      }
      return Block(own, begin, shape);
    }
    case Kind::kReshape:
      return Reshaped(own, op.output_shape);
    case Kind::kAlltoAll: {
      const Numbers group = GroupOf(op, position, std::ssize(job));
      EXPECT_EQ(std::ssize(group), op.parts);
      return Exchange(job, group, position, op.split_dim, op.concat_dim);
    }
    case Kind::kSplit:
    case Kind::kConcat:
      break;  // executed as a pair
  }
  ADD_FAILURE() << "Split without Concat";
  return own;
}

Tensor SplitAndConcat(const RedistributionOp& split, const RedistributionOp& concat,
                      const Tensor& own) {
  EXPECT_EQ(concat.kind, Kind::kConcat);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < split.parts; ++i) {
    parts.push_back(Part(own, split.axis, split.parts, i));
    EXPECT_EQ(parts.back().shape, split.output_shape);
    EXPECT_EQ(parts.back().shape, concat.input_shape);
  }
  return Join(parts, concat.axis);
}

Tensor BackwardOne(const RedistributionOp& op, const Job& gradients, std::int64_t position) {
  const Tensor& own = gradients[static_cast<std::size_t>(position)];
  switch (op.kind) {
    case Kind::kAllGather: {  // ReduceScatter
      const Numbers group = GroupOf(op, position, std::ssize(gradients));
      const auto index = std::find(group.begin(), group.end(), position) - group.begin();
      Tensor sum = Zeros(op.input_shape);
      for (const std::int64_t member : group) {
        const Tensor part =
            Part(gradients[static_cast<std::size_t>(member)], 0, std::ssize(group), index);
        std::transform(sum.values.begin(), sum.values.end(), part.values.begin(),
                       sum.values.begin(), std::plus<>());
      }
      return sum;
    }
    case Kind::kStridedSlice: {  // StridedSliceGrad
      Tensor padded = Zeros(op.input_shape);
      ForEachInBlock(op.input_shape, ValuesOf(op.begin, position), own.shape,
                     [&](std::size_t i, std::size_t j) { padded.values[j] = own.values[i]; });
      return padded;
    }
    case Kind::kReshape:
      return Reshaped(own, op.input_shape);
    case Kind::kAlltoAll:
      return Exchange(gradients, GroupOf(op, position, std::ssize(gradients)), position,
                      op.concat_dim, op.split_dim);
    case Kind::kSplit:
    case Kind::kConcat:
      break;
  }
  return own;
}

}  // namespace

Tensor OwnedSlice(const Tensor& whole, const TensorLayout& layout, std::int64_t position) {
  const Numbers& matrix = layout.device_matrix;
  Numbers coordinates(matrix.size());
  for (std::size_t a = matrix.size(); a-- > 0;) {
    coordinates[a] = position % matrix[a];
    position /= matrix[a];
  }
  Shape shape = layout.shape;
  Numbers begin(shape.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t index = 0;
    for (const std::int64_t axis : layout.tensor_map[d]) {
      const std::size_t a = matrix.size() - 1 - static_cast<std::size_t>(axis);
      index = index * matrix[a] + coordinates[a];
      shape[d] /= matrix[a];
    }
    begin[d] = index * shape[d];
  }
  return Block(whole, begin, shape);
}

Job SlicesOfCountingTensor(const TensorLayout& layout) {
  Tensor whole = Zeros(layout.shape);
  std::iota(whole.values.begin(), whole.values.end(), std::int64_t{0});
  Job job;
  for (std::int64_t position = 0; position < Product(layout.device_matrix); ++position) {
    job.push_back(OwnedSlice(whole, layout, position));
  }
  return job;
}

Job RunForward(const std::vector<RedistributionOp>& ops, Job job) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Job next;
    const bool is_pair = ops[i].kind == Kind::kSplit && i + 1 < ops.size();
    for (std::int64_t position = 0; position < std::ssize(job); ++position) {
      next.push_back(
          is_pair ? SplitAndConcat(ops[i], ops[i + 1], job[static_cast<std::size_t>(position)])
                  : RunOne(ops[i], job, position));
    }
    job = std::move(next);
    i += is_pair ? 1 : 0;
    EXPECT_EQ(job[0].shape, ops[i].output_shape);
  }
  return job;
}

Job RunBackward(const std::vector<RedistributionOp>& ops, Job gradients) {
  for (std::size_t i = ops.size(); i-- > 0;) {
    Job next;
    const bool is_pair = ops[i].kind == Kind::kConcat && i > 0;
    for (std::int64_t position = 0; position < std::ssize(gradients); ++position) {
      const Tensor& own = gradients[static_cast<std::size_t>(position)];
      if (is_pair) {  // the parts of the gradient, joined where they were split
        std::vector<Tensor> parts;
        for (std::int64_t part = 0; part < ops[i].parts; ++part) {
          parts.push_back(Part(own, ops[i].axis, ops[i].parts, part));
        }
        next.push_back(Join(parts, ops[i - 1].axis));
      } else {
        next.push_back(BackwardOne(ops[i], gradients, position));
      }
    }
    gradients = std::move(next);
    i -= is_pair ? 1 : 0;
  }
  return gradients;
}

}  // namespace drydock::strategies::oracle
