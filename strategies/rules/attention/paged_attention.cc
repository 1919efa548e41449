#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Attention of one query per sample to keys and values that lie in blocks of a cache, which all
/// samples share: query (b, 1, hidden), caches (blocks, block size, hidden) or (blocks, block size,
/// heads, dim), block_tables (b, blocks of the sample), context_lens (b; behind those of the batch
/// there may be more, which are not read). The queries of all samples may also stand one behind the
/// other, (tokens, hidden): then only heads are cut. `mla_v_dim` of latent attention: values are
/// that many numbers of the one key each, and so is the result of a head. Inference only. Source:
/// mindspore ops_info/paged_attention_info.cc, ops_func_impl/paged_attention.cc.
namespace drydock::strategies {
namespace {

enum PagedOperand : std::size_t {
  kQuery,
  kKeyCache,
  kValueCache,
  kTables,
  kLengths,
  kScale,
  kOffset,
  kMask,
  kQueryLengths,
  kAlibi,
  kPagedOperands
};

/// The mask of PagedAttentionMask stands where PagedAttention has its scale.
template <bool WithMask>
constexpr std::size_t kAlibiAt = WithMask ? kScale : kAlibi;

struct Heads {
  std::int64_t query = 1;
  std::int64_t key = 1;
  std::int64_t dim = 1;
};

std::int64_t HiddenOf(const Shape& cache) {
  std::int64_t hidden = 1;
  for (std::size_t d = 2; d < cache.size(); ++d) {
    hidden *= cache[d];
  }
  return hidden;
}

Result<Heads> HeadsOf(const OpView& op) {
  Heads heads = {};
  DRYDOCK_TRY(heads.query, IntAttr(*op.attrs, "head_num", 1));
  DRYDOCK_TRY(const std::int64_t given, IntAttr(*op.attrs, "kv_head_num", 0));
  heads.key = given == 0 ? heads.query : given;
  const std::int64_t hidden = op.inputs[0].shape.back();
  const std::int64_t cached = HiddenOf(op.inputs[1].shape);
  const bool fits = heads.query > 0 && heads.key > 0 && heads.query % heads.key == 0 &&
                    hidden > 0 && hidden % heads.query == 0 &&
                    cached == hidden / heads.query * heads.key;
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of a query of shape " +
                      TupleText(op.inputs[0].shape) + " and a cache of shape " +
                      TupleText(op.inputs[1].shape) + ": " + std::to_string(heads.query) +
                      " query heads and " + std::to_string(heads.key) + " key heads do not fit");
  }
  heads.dim = hidden / heads.query;
  return heads;
}

/// Queries one behind the other, without a dimension of samples.
bool InOneRow(const Shape& query) {
  return query.size() == 2;
}

/// The result: that of the queries, with `mla_v_dim` in place of the numbers of a key.
Result<TensorType> ResultOf(const OpView& op, const Heads& heads) {
  TensorType result = op.inputs[0];
  DRYDOCK_TRY(const std::int64_t values, IntAttr(*op.attrs, "mla_v_dim", 0));
  if (values < 0 || values > heads.dim) {
    return FailOp(op, "mla-v-dim",
                  "'" + std::string(op.op) + "' has mla_v_dim " + std::to_string(values) +
                      ", but a key has " + std::to_string(heads.dim) + " numbers");
  }
  if (values > 0) {
    result.shape.back() = heads.query * values;
  }
  return result;
}

template <bool WithMask>
Result<std::vector<TensorType>> InferPaged(const OpView& op) {
  const std::size_t most = WithMask ? kAlibiAt<true> + 1 : kPagedOperands;
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, WithMask ? most : 3, most));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, WithMask ? 3 : 2, 3));
  if ((op.absent & 3U) != 0) {
    return FailOp(op, "input-count", "'" + std::string(op.op) + "' needs a query and a cache");
  }
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 3, 4));
  const TensorType* values = OptionalType(op, kValueCache);
  if (values != nullptr && values->shape != op.inputs[1].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' has a cache of keys of shape " +
                      TupleText(op.inputs[1].shape) + " and one of values of shape " +
                      TupleText(values->shape));
  }
  const TensorType* tables = OptionalType(op, kTables);
  const TensorType* lengths = OptionalType(op, kLengths);
  const bool fits = tables != nullptr && lengths != nullptr && tables->shape.size() == 2 &&
                    lengths->shape.size() == 1 &&
                    (InOneRow(op.inputs[0].shape) || tables->shape[0] == op.inputs[0].shape[0]) &&
                    lengths->shape[0] >= tables->shape[0];
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) +
                      "' needs block_tables (batch, blocks) and context_lens (at least batch)");
  }
  DRYDOCK_TRY(const Heads heads, HeadsOf(op));
  DRYDOCK_TRY(TensorType result, ResultOf(op, heads));
  return std::vector<TensorType>{std::move(result)};
}

// ---- Sharding -----------------------------------------------------------------------------------

Status CheckHeadCut(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const Heads heads, HeadsOf(op));
  const std::size_t last = op.inputs[0].shape.size() - 1;
  const std::int64_t cut = strategy.empty() || strategy[0].size() != last + 1
                               ? 1
                               : std::max<std::int64_t>(1, strategy[0][last]);
  if (heads.query % cut == 0 && heads.key % cut == 0) {
    return {};
  }
  return FailOp(op, "strategy-heads",
                CutText(op, 0, last, cut) + ", but there are " + std::to_string(heads.query) +
                    " query heads and " + std::to_string(heads.key) + " key heads");
}

/// Axes are [b, c0, c1, s, h], those of the form with a mask [b, h].
template <bool WithMask>
constexpr AxisIndex kHeadAxis = WithMask ? 1 : 4;

template <bool WithMask>
TensorAxes QueryAxes(const Shape& query) {
  if (InOneRow(query)) {
    return {{}, {kHeadAxis<WithMask>}};
  }
  return {{0}, WithMask ? DimAxes{} : DimAxes{3}, {kHeadAxis<WithMask>}};
}

/// Axes of an operand that only one of the two forms has, or that may have several forms.
template <bool WithMask>
TensorAxes AxesOfExtra(std::size_t operand, const Shape& shape, bool in_one_row) {
  TensorAxes axes(shape.size());
  if (operand == kAlibiAt<WithMask> && axes.size() == 4) {
    axes[0] = shape[0] == 1 || in_one_row ? DimAxes{} : DimAxes{0};
    axes[1] = shape[1] == 1 ? DimAxes{} : DimAxes{kHeadAxis<WithMask>};
  } else if (!WithMask && operand == kMask && axes.size() == 3 && !in_one_row) {
    axes[0] = {0};
  } else if (!WithMask && (operand == kScale || operand == kOffset) && axes.size() == 2) {
    axes.back() = {kHeadAxis<WithMask>};
  }
  return axes;
}

template <bool WithMask>
TensorAxes AxesOfOperand(std::size_t operand, const Shape& shape, const Shape& query) {
  TensorAxes axes(shape.size());
  switch (operand) {
    case kQuery:
      return QueryAxes<WithMask>(query);
    case kKeyCache:
    case kValueCache:
      axes[0] = WithMask ? DimAxes{} : DimAxes{1};
      axes[1] = WithMask ? DimAxes{} : DimAxes{2};
      axes[2] = {kHeadAxis<WithMask>};
      return axes;
    case kTables:
      axes[0] = InOneRow(query) ? DimAxes{} : DimAxes{0};
      return axes;
    case kLengths:
      if (WithMask && shape[0] == query[0]) {
        axes[0] = {0};
      }
      return axes;
    default:
      return AxesOfExtra<WithMask>(operand, shape, InOneRow(query));
  }
}

template <bool WithMask>
Result<ShardRule> ShardPaged(const OpView& op, const Strategy& strategy) {
  DRYDOCK_RETURN_IF_ERROR(CheckHeadCut(op, strategy));
  ShardRule rule{.axis_count = WithMask ? 2 : 5};
  for (std::size_t operand = 0; operand < kPagedOperands; ++operand) {
    if (const TensorType* type = OptionalType(op, operand); type != nullptr) {
      rule.inputs.push_back(AxesOfOperand<WithMask>(operand, type->shape, op.inputs[0].shape));
    }
  }
  rule.outputs = {QueryAxes<WithMask>(op.inputs[0].shape)};
  if (!WithMask) {
    rule.uncut = {{.axis = 1, .what = "a cache's blocks"},
                  {.axis = 2, .what = "a cache's block"},
                  {.axis = 3, .what = "the sequence"}};
  }
  return rule;
}

/// The batch of every entry that has one.
template <bool WithMask>
Result<Strategy> DefaultPaged(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const ShardRule rule, ShardPaged<WithMask>(op, {}));
  Strategy strategy;
  for (const TensorAxes& entry : rule.inputs) {
    strategy.emplace_back();
    for (const DimAxes& axes : entry) {
      strategy.back().push_back(axes == DimAxes{0} ? device_count : 1);
    }
  }
  return strategy;
}

/// Own heads; the lengths are whole on every rank, of which the rank uses its part.
template <bool WithMask>
Result<std::vector<ValueId>> LocalizePaged(const LocalizeContext& context) {
  DRYDOCK_TRY(const Heads heads, HeadsOf(context.global));
  const std::size_t head = WithMask ? 1 : 4;
  const std::int64_t cut = GroupSize(context.sharding.axis_groups[head]);
  NodeSpec spec = context.spec;
  spec.attrs["head_num"] = heads.query / cut;
  spec.attrs["kv_head_num"] = heads.key / cut;
  if (!WithMask) {
    for (const std::size_t operand : {kLengths, kQueryLengths}) {
      if (operand < spec.inputs.size() && spec.inputs[operand] != kNoValue) {
        DRYDOCK_TRY(spec.inputs[operand], EmitOwnSlice(context, spec.inputs[operand], 0, 0));
      }
    }
  }
  return EmitLocal(context, std::move(spec));
}

// ---- Evaluation ---------------------------------------------------------------------------------

class PagedRun {
 public:
  /// @param values  numbers of a value that count
  PagedRun(const EvaluateContext& context, const Heads& heads, std::int64_t values, double scale,
           const NdArray* alibi)
      : context_(context), heads_(heads), values_(values), scale_(scale), alibi_(alibi) {}

  [[nodiscard]] NdArray Run() const {
    const NdArray& query = context_.inputs[kQuery];
    Shape shape = query.shape;
    shape.back() = heads_.query * values_;
    NdArray out = FilledArray(shape, 0.0);
    for (std::int64_t b = 0; b < query.shape[0]; ++b) {
      for (std::int64_t n = 0; n < heads_.query; ++n) {
        Attend(b, n, out);
      }
    }
    return out;
  }

 private:
  /// Where the key of token `t` of a sample lies in a cache.
  [[nodiscard]] std::size_t CacheAt(std::int64_t b, std::int64_t n, std::int64_t t) const {
    const NdArray& tables = context_.inputs[kTables];
    const std::int64_t block_size = context_.inputs[kKeyCache].shape[1];
    const auto entry = static_cast<std::size_t>(b * tables.shape[1] + t / block_size);
    const auto block = static_cast<std::int64_t>(tables.data[entry]);
    const std::int64_t line = block * block_size + t % block_size;
    const std::int64_t head = n / (heads_.query / heads_.key);
    return static_cast<std::size_t>((line * heads_.key + head) * heads_.dim);
  }

  [[nodiscard]] double Alibi(std::int64_t b, std::int64_t n, std::int64_t t) const {
    if (alibi_ == nullptr) {
      return 0;
    }
    const Shape& shape = alibi_->shape;
    const std::int64_t at[] = {std::min(b, shape[0] - 1), std::min(n, shape[1] - 1), 0,
                               std::min(t, shape[3] - 1)};
    return alibi_->data[OffsetOf(shape, at)];
  }

  void Attend(std::int64_t b, std::int64_t n, NdArray& out) const {
    const auto length =
        static_cast<std::int64_t>(context_.inputs[kLengths].data[static_cast<std::size_t>(b)]);
    const auto own = static_cast<std::size_t>((b * heads_.query + n) * heads_.dim);
    const auto dim = static_cast<std::size_t>(heads_.dim);
    std::vector<double> scores;
    for (std::int64_t t = 0; t < length; ++t) {
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        score += context_.inputs[kQuery].data[own + d] *
                 context_.inputs[kKeyCache].data[CacheAt(b, n, t) + d];
      }
      scores.push_back(scale_ * score + Alibi(b, n, t));
    }
    const double most = scores.empty() ? 0 : *std::ranges::max_element(scores);
    double sum = 0;
    for (double& score : scores) {
      score = std::exp(score - most);
      sum += score;
    }
    const auto result = static_cast<std::size_t>((b * heads_.query + n) * values_);
    for (std::int64_t t = 0; t < length; ++t) {
      for (std::size_t d = 0; d < static_cast<std::size_t>(values_); ++d) {
        out.data[result + d] += scores[static_cast<std::size_t>(t)] / sum *
                                context_.inputs[kValueCache].data[CacheAt(b, n, t) + d];
      }
    }
  }

  const EvaluateContext& context_;
  Heads heads_;
  std::int64_t values_;
  double scale_;
  const NdArray* alibi_;
};

/// Plain keys and values, one query per sample; everything else is our limit.
template <bool WithMask>
Result<std::vector<NdArray>> EvaluatePaged(const EvaluateContext& context) {
  const OpView view = context.View();
  const std::ptrdiff_t alibi = PresentIndex(view, kAlibiAt<WithMask>);
  const std::size_t plain = alibi < 0 ? 5 : 6;
  const Shape& query = context.inputs[0].shape;
  const std::int64_t tables = context.inputs.size() < plain ? 0 : context.inputs[kTables].shape[0];
  if ((context.absent & 31U) != 0 || context.inputs.size() != plain ||
      (InOneRow(query) ? query[0] != tables : query[1] != 1)) {
    return Fail(ErrorCode::kUnsupported,
                "quantised or masked paged attention, or several queries per sample, have no "
                "reference execution");
  }
  DRYDOCK_TRY(const Heads heads, HeadsOf(view));
  DRYDOCK_TRY(const double scale, FloatAttr(context.attrs, "scale_value", 1.0));
  DRYDOCK_TRY(const std::int64_t latent, IntAttr(context.attrs, "mla_v_dim", 0));
  const PagedRun run(context, heads, latent == 0 ? heads.dim : latent, scale,
                     alibi < 0 ? nullptr : &context.inputs[static_cast<std::size_t>(alibi)]);
  return std::vector<NdArray>{run.Run()};
}

/// Two products of every query with the keys of its blocks.
double PagedFlops(const OpView& op) {
  const TensorType* tables = OptionalType(op, kTables);
  const double keys = tables == nullptr ? 0.0
                                        : static_cast<double>(tables->shape.back()) *
                                              static_cast<double>(op.inputs[1].shape[1]);
  return 4.0 * Elements(op.inputs[0]) * keys;
}

#define DRYDOCK_PAGED(id, with_mask, operands, attrs, example_call)                             \
  DRYDOCK_OP(id, .family = "attention", .signature = #id "(" attrs ")(" operands ")",           \
             .infer = InferPaged<with_mask>, .shard = ShardPaged<with_mask>,                    \
             .default_strategy = DefaultPaged<with_mask>, .localize = LocalizePaged<with_mask>, \
             .gradient = NoBackward, .evaluate = EvaluatePaged<with_mask>, .flops = PagedFlops, \
             .cost = CostFamily::kMatMul, .work = WorkKind::kAttention, .example = example_call)

DRYDOCK_PAGED(PagedAttention, false,
              "query, key_cache, ?value_cache, ?block_tables, ?context_lens, ?antiquant_scale, "
              "?antiquant_offset, ?attn_mask, ?q_seq_lens, ?alibi_mask",
              "head_num=1, scale_value=1.0, kv_head_num=0, kv_cache_quant_mode='DEFAULT', "
              "mask_mode='MASK_DEFAULT', mla_v_dim=0",
              "(head_num=2)((4, 1, 6), (3, 2, 6), (3, 2, 6), int32(4, 2), int32(4))");
DRYDOCK_PAGED(
    PagedAttentionMask, true,
    "query, key_cache, value_cache, block_tables, context_lens, alibi_mask",
    "head_num=1, scale_value=1.0, kv_head_num=0",
    "(head_num=2)((4, 1, 6), (3, 2, 2, 3), (3, 2, 2, 3), int32(4, 2), int32(4), (4, 2, 1, 4))");

}  // namespace
}  // namespace drydock::strategies
