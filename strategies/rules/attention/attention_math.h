#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/rules/attention/attention_form.h"

/// Attention on numbers: softmax(scale * (Q K^T + shift), masked) V, with its statistics and
/// gradients. Clear, not fast.
namespace drydock::strategies {

/// Which key positions a query position sees (attribute sparse_mode).
/// Source: mindspore ops_info/flash_attention_score_info.cc.
enum class SparseMode : std::uint8_t {
  kDefault = 0,          ///< Mask given in full, within pre_tokens and next_tokens; no mask: all.
  kAllMask = 1,          ///< Mask given in full.
  kLeftUpCausal = 2,     ///< Key t <= query s.
  kRightDownCausal = 3,  ///< The last query sees the last key.
  kBand = 4,    ///< Within pre_tokens and next_tokens, counted from the lower right corner.
  kPrefix = 5,  ///< As 3, and the first prefix[b] keys.
  kPrefixCompressed = 6,
  kVarlenRight = 7,
  kVarlenLeft = 8,  ///< As 2, for every sequence.
};

/// Queries and keys of one sequence: token ranges in the operands.
struct AttentionSequence {
  std::int64_t batch = 0;
  std::int64_t q_begin = 0;
  std::int64_t q_length = 0;
  std::int64_t kv_begin = 0;
  std::int64_t kv_length = 0;
};

struct AttentionProblem {
  AttentionForm form = {};
  std::vector<AttentionSequence> sequences = {};
  SparseMode mode = SparseMode::kDefault;
  std::int64_t pre_tokens = 0;
  std::int64_t next_tokens = 0;
  double scale = 1.0;
  double keep_prob = 1.0;
  const NdArray* query = nullptr;
  const NdArray* key = nullptr;
  const NdArray* value = nullptr;
  const NdArray* shift = nullptr;   ///< (B or 1, N, S or 1, T), added to the products.
  const NdArray* drop = nullptr;    ///< Bits (B, N, S, T / 8): 1 keeps a weight.
  const NdArray* mask = nullptr;    ///< (S, T) or (B or 1, N or 1, S, T): not 0 hides a key.
  const NdArray* prefix = nullptr;  ///< (B).
};

/// Every batch one sequence of full length, or the token ranges whose ends are listed.
[[nodiscard]] std::vector<AttentionSequence> SequencesOf(const AttentionForm& form,
                                                         const NdArray* q_ends,
                                                         const NdArray* kv_ends);

struct AttentionResult {
  NdArray maximum = {};  ///< Per query and head, eight times (the statistics' layout).
  NdArray sum = {};
  NdArray out = {};
};

/// @param statistic_shape  shape of maximum and sum
[[nodiscard]] AttentionResult Attend(const AttentionProblem& problem, const Shape& statistic_shape);

struct AttentionGradients {
  NdArray query = {};
  NdArray key = {};
  NdArray value = {};
  NdArray shift = {};  ///< Empty without a shift.
};

/// Gradients from those of the result and from statistics and result of the forward run, which may
/// cover more keys than this problem has (ring attention).
[[nodiscard]] AttentionGradients AttendBackward(const AttentionProblem& problem, const NdArray& dy,
                                                const AttentionResult& forward);

}  // namespace drydock::strategies
