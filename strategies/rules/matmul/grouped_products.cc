#include "strategies/rules/matmul/grouped_products.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace drydock::strategies {
namespace {

/// Rows or columns of one group.
struct Block {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Groups of a list of ends; lists of several slices follow each other, `extent` rows each.
std::vector<Block> BlocksOf(const NdArray& list, std::int64_t groups, std::int64_t extent) {
  std::vector<Block> blocks = {};
  for (std::size_t i = 0; i < list.data.size(); ++i) {
    const auto slice = static_cast<std::int64_t>(i) / groups;
    const bool first = static_cast<std::int64_t>(i) % groups == 0;
    const std::int64_t begin = first ? slice * extent : blocks.back().end;
    const std::int64_t end = slice * extent + static_cast<std::int64_t>(list.data[i]);
    blocks.push_back({.begin = begin, .end = std::clamp(end, begin, (slice + 1) * extent)});
  }
  return blocks;
}

NdArray RowsOf(const NdArray& matrix, const Block& block) {
  return SliceArray(
      matrix, {{.begin = block.begin, .end = block.end}, {.begin = 0, .end = matrix.shape[1]}});
}

}  // namespace

NdArray GroupedRows(const NdArray& x, const NdArray& w, const NdArray& list, const Shape& shape) {
  const std::int64_t groups = w.shape[0];
  const std::int64_t slices = std::ssize(list.data) / groups;
  NdArray out = FilledArray(shape, 0.0);
  const std::vector<Block> blocks = BlocksOf(list, groups, x.shape[0] / slices);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t e = static_cast<std::int64_t>(i) % groups;
    const NdArray matrix = ReshapeArray(SliceArray(w, {{.begin = e, .end = e + 1},
                                                       {.begin = 0, .end = w.shape[1]},
                                                       {.begin = 0, .end = w.shape[2]}}),
                                        {w.shape[1], w.shape[2]});
    const NdArray part = MatMulArrays(RowsOf(x, blocks[i]), matrix);
    std::ranges::copy(part.data, out.data.begin() + blocks[i].begin * w.shape[2]);
  }
  return out;
}

NdArray GroupedColumns(const NdArray& x, const NdArray& w, const NdArray& list,
                       const Shape& shape) {
  NdArray out{.shape = shape};
  for (const Block& block : BlocksOf(list, std::ssize(list.data), x.shape[1])) {
    const NdArray columns =
        SliceArray(x, {{.begin = 0, .end = x.shape[0]}, {.begin = block.begin, .end = block.end}});
    const NdArray part = MatMulArrays(columns, RowsOf(w, block));
    out.data.insert(out.data.end(), part.data.begin(), part.data.end());
  }
  return out;
}

NdArray WithBias(const NdArray& product, const NdArray& bias) {
  NdArray addend = bias;
  if (product.shape.size() == 3 && bias.shape.size() == 2) {
    addend.shape.insert(addend.shape.begin() + 1, 1);
  }
  return MapArrays(product, addend, product.shape, SumOf);
}

NdArray WithBiasOfGroups(NdArray product, const NdArray& bias, const NdArray& list) {
  const std::int64_t groups = bias.shape[0];
  const std::int64_t width = bias.shape[1];
  const std::int64_t slices = std::ssize(list.data) / groups;
  const std::vector<Block> blocks = BlocksOf(list, groups, product.shape[0] / slices);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t group = static_cast<std::int64_t>(i) % groups;
    for (std::int64_t flat = blocks[i].begin * width; flat < blocks[i].end * width; ++flat) {
      product.data[static_cast<std::size_t>(flat)] +=
          bias.data[static_cast<std::size_t>(group * width + flat % width)];
    }
  }
  return product;
}

}  // namespace drydock::strategies
