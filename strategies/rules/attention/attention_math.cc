#include "strategies/rules/attention/attention_math.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

/// The eight equal numbers that statistics hold per query and head.
constexpr std::size_t kCopies = 8;

/// One query of one head.
struct Row {
  AttentionSequence sequence = {};
  std::int64_t head = 0;
  std::int64_t query = 0;  ///< In its sequence.
};

class Rows {
 public:
  explicit Rows(const AttentionProblem& problem)
      : problem_(problem),
        form_(problem.form),
        query_{form_.layout, form_.batch, form_.heads, form_.q_length, form_.dim},
        out_{form_.layout, form_.batch, form_.heads, form_.q_length, form_.value_dim},
        key_{form_.layout, form_.batch, form_.kv_heads, form_.kv_length, form_.dim},
        value_{form_.layout, form_.batch, form_.kv_heads, form_.kv_length, form_.value_dim} {}

  template <typename F>
  void ForEach(F f) const {
    for (const AttentionSequence& sequence : problem_.sequences) {
      for (std::int64_t n = 0; n < form_.heads; ++n) {
        for (std::int64_t s = 0; s < sequence.q_length; ++s) {
          f(Row{.sequence = sequence, .head = n, .query = s});
        }
      }
    }
  }

  [[nodiscard]] std::size_t QueryAt(const Row& row) const {
    return query_.At(row.sequence.batch, row.head, row.sequence.q_begin + row.query);
  }
  [[nodiscard]] std::size_t OutAt(const Row& row) const {
    return out_.At(row.sequence.batch, row.head, row.sequence.q_begin + row.query);
  }
  [[nodiscard]] std::size_t KeyAt(const Row& row, std::int64_t t) const {
    return key_.At(row.sequence.batch, KeyHead(row), row.sequence.kv_begin + t);
  }
  [[nodiscard]] std::size_t ValueAt(const Row& row, std::int64_t t) const {
    return value_.At(row.sequence.batch, KeyHead(row), row.sequence.kv_begin + t);
  }
  /// Statistics are (B, N, S, 8), packed (T, N, 8).
  [[nodiscard]] std::size_t StatisticAt(const Row& row) const {
    const std::int64_t token = row.sequence.q_begin + row.query;
    const std::int64_t line =
        form_.IsPacked() ? token * form_.heads + row.head
                         : (row.sequence.batch * form_.heads + row.head) * form_.q_length + token;
    return static_cast<std::size_t>(line) * kCopies;
  }

  [[nodiscard]] bool Sees(const Row& row, std::int64_t t) const {
    const std::int64_t corner = row.sequence.kv_length - row.sequence.q_length;
    const std::int64_t s = row.query;
    switch (problem_.mode) {
      case SparseMode::kDefault:
        return problem_.mask == nullptr ||
               (!IsMasked(row, t) && t >= s - problem_.pre_tokens && t <= s + problem_.next_tokens);
      case SparseMode::kAllMask:
        return !IsMasked(row, t);
      case SparseMode::kLeftUpCausal:
      case SparseMode::kVarlenLeft:
        return t <= s;
      case SparseMode::kRightDownCausal:
      case SparseMode::kVarlenRight:
        return t <= s + corner;
      case SparseMode::kBand:
        return t >= s + corner - problem_.pre_tokens && t <= s + corner + problem_.next_tokens;
      case SparseMode::kPrefix:
      case SparseMode::kPrefixCompressed:
        return t <= s + corner ||
               (problem_.prefix != nullptr &&
                static_cast<double>(t) < problem_.prefix->data[Index(row.sequence.batch)]);
    }
    return true;
  }

  /// scale * (q . k + shift).
  [[nodiscard]] double Score(const Row& row, std::int64_t t) const {
    double product = 0;
    for (std::int64_t d = 0; d < form_.dim; ++d) {
      product += problem_.query->data[QueryAt(row) + Index(d)] *
                 problem_.key->data[KeyAt(row, t) + Index(d)];
    }
    if (problem_.shift != nullptr) {
      product += problem_.shift->data[BroadcastAt(*problem_.shift, row, t)];
    }
    return problem_.scale * product;
  }

  /// What a weight is multiplied by: 0, or 1 / keep_prob.
  [[nodiscard]] double Kept(const Row& row, std::int64_t t) const {
    if (problem_.drop == nullptr) {
      return 1.0;
    }
    const std::int64_t line =
        (row.sequence.batch * form_.heads + row.head) * form_.q_length + row.query;
    const double byte = problem_.drop->data[Index(line * (form_.kv_length / 8) + t / 8)];
    const bool keep = ((static_cast<std::int64_t>(byte) >> (t % 8)) & 1) == 1;
    return keep ? 1.0 / problem_.keep_prob : 0.0;
  }

  /// Offset in a (B or 1, N or 1, S or 1, T) or (S, T) tensor.
  [[nodiscard]] static std::size_t BroadcastAt(const NdArray& array, const Row& row,
                                               std::int64_t t) {
    const std::int64_t wanted[] = {row.sequence.batch, row.head, row.query, t};
    const std::size_t rank = array.shape.size();
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t at = wanted[4 - rank + d];
      offset = offset * array.shape[d] + (array.shape[d] == 1 ? 0 : at);
    }
    return Index(offset);
  }

  static std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

 private:
  [[nodiscard]] std::int64_t KeyHead(const Row& row) const {
    return row.head / (form_.heads / form_.kv_heads);
  }
  [[nodiscard]] bool IsMasked(const Row& row, std::int64_t t) const {
    return problem_.mask != nullptr &&
           problem_.mask->data[BroadcastAt(*problem_.mask, row, t)] != 0;
  }

  const AttentionProblem& problem_;
  const AttentionForm& form_;
  AttentionIndex query_;
  AttentionIndex out_;
  AttentionIndex key_;
  AttentionIndex value_;
};

}  // namespace

std::vector<AttentionSequence> SequencesOf(const AttentionForm& form, const NdArray* q_ends,
                                           const NdArray* kv_ends) {
  std::vector<AttentionSequence> sequences;
  if (!form.IsPacked() || q_ends == nullptr || kv_ends == nullptr) {
    for (std::int64_t b = 0; b < form.batch; ++b) {
      sequences.push_back({.batch = b, .q_length = form.q_length, .kv_length = form.kv_length});
    }
    return sequences;
  }
  AttentionSequence next = {};
  for (std::size_t i = 0; i < std::min(q_ends->data.size(), kv_ends->data.size()); ++i) {
    const auto q_end = std::clamp<std::int64_t>(static_cast<std::int64_t>(q_ends->data[i]),
                                                next.q_begin, form.q_length);
    const auto kv_end = std::clamp<std::int64_t>(static_cast<std::int64_t>(kv_ends->data[i]),
                                                 next.kv_begin, form.kv_length);
    next.q_length = q_end - next.q_begin;
    next.kv_length = kv_end - next.kv_begin;
    sequences.push_back(next);
    next.q_begin = q_end;
    next.kv_begin = kv_end;
  }
  return sequences;
}

AttentionResult Attend(const AttentionProblem& problem, const Shape& statistic_shape) {
  const Rows rows(problem);
  AttentionResult result{.maximum = FilledArray(statistic_shape, 0.0),
                         .sum = FilledArray(statistic_shape, 0.0),
                         .out = FilledArray(AttentionResultShape(problem.form), 0.0)};
  rows.ForEach([&](const Row& row) {
    std::vector<std::pair<std::int64_t, double>> scores;
    for (std::int64_t t = 0; t < row.sequence.kv_length; ++t) {
      if (rows.Sees(row, t)) {
        scores.emplace_back(t, rows.Score(row, t));
      }
    }
    if (scores.empty()) {
      return;  // Nothing to see: the result is 0.
    }
    double maximum = scores.front().second;
    for (const auto& [t, score] : scores) {
      maximum = std::max(maximum, score);
    }
    double sum = 0;
    for (const auto& [t, score] : scores) {
      sum += std::exp(score - maximum);
    }
    for (const auto& [t, score] : scores) {
      const double weight = std::exp(score - maximum) / sum * rows.Kept(row, t);
      for (std::int64_t d = 0; d < problem.form.value_dim; ++d) {
        result.out.data[rows.OutAt(row) + Rows::Index(d)] +=
            weight * problem.value->data[rows.ValueAt(row, t) + Rows::Index(d)];
      }
    }
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      result.maximum.data[rows.StatisticAt(row) + copy] = maximum;
      result.sum.data[rows.StatisticAt(row) + copy] = sum;
    }
  });
  return result;
}

AttentionGradients AttendBackward(const AttentionProblem& problem, const NdArray& dy,
                                  const AttentionResult& forward) {
  const Rows rows(problem);
  AttentionGradients gradients{.query = FilledArray(problem.query->shape, 0.0),
                               .key = FilledArray(problem.key->shape, 0.0),
                               .value = FilledArray(problem.value->shape, 0.0)};
  if (problem.shift != nullptr) {
    gradients.shift = FilledArray(problem.shift->shape, 0.0);
  }
  rows.ForEach([&](const Row& row) {
    const double sum = forward.sum.data[rows.StatisticAt(row)];
    if (sum == 0) {
      return;
    }
    const double maximum = forward.maximum.data[rows.StatisticAt(row)];
    const std::size_t out = rows.OutAt(row);
    double along = 0;  // Sum over keys of weight * its gradient = dy . out.
    for (std::size_t d = 0; d < Rows::Index(problem.form.value_dim); ++d) {
      along += dy.data[out + d] * forward.out.data[out + d];
    }
    for (std::int64_t t = 0; t < row.sequence.kv_length; ++t) {
      if (!rows.Sees(row, t)) {
        continue;
      }
      const double weight = std::exp(rows.Score(row, t) - maximum) / sum;
      const double kept = rows.Kept(row, t);
      double arriving = 0;
      for (std::size_t d = 0; d < Rows::Index(problem.form.value_dim); ++d) {
        const std::size_t v = rows.ValueAt(row, t) + d;
        arriving += dy.data[out + d] * problem.value->data[v];
        gradients.value.data[v] += weight * kept * dy.data[out + d];
      }
      const double score = problem.scale * weight * (kept * arriving - along);
      for (std::size_t d = 0; d < Rows::Index(problem.form.dim); ++d) {
        const std::size_t q = rows.QueryAt(row) + d;
        const std::size_t k = rows.KeyAt(row, t) + d;
        gradients.query.data[q] += score * problem.key->data[k];
        gradients.key.data[k] += score * problem.query->data[q];
      }
      if (problem.shift != nullptr) {
        gradients.shift.data[Rows::BroadcastAt(*problem.shift, row, t)] += score;
      }
    }
  });
  return gradients;
}

}  // namespace drydock::strategies
