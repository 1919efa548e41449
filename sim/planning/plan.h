#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/planning/model_shape.h"

namespace drydock::sim {

/// What of the forward pass is not kept but computed again.
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  ///< The core of the attention: scores, softmax, their product with the values.
  kProducts,   ///< All but the attention's result and every second product.
  kFull,       ///< Whole layers; their inputs are kept.
};

/// How a training job is cut over its devices.
///
/// devices = data * tensor * pipeline * context; experts lie on parts of data * context * tensor.
/// Example: 1,024 devices as {.data = 8, .tensor = 8, .pipeline = 16}.
struct Plan {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t interleave = 1;  ///< Parts of the model on each stage.
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t micro_batch = 1;  ///< Samples.
  std::int64_t optimizer_level =
      0;  ///< 0 nothing sharded, 1 optimizer state, 2 and gradients, 3 and weights.
  bool sequence_parallel = false;  ///< Between the cut products the tokens are cut.
  Recompute recompute = Recompute::kNone;
  [[nodiscard]] std::int64_t Devices() const { return data * tensor * pipeline * context; }
  friend auto operator<=>(const Plan&, const Plan&) = default;
};

/// Bytes that a weight costs beside what is computed with it.
struct Storage {
  double weight = 2;
  double gradient = 4;      ///< Cut by level 2 and up.
  double accumulation = 0;  ///< A further gradient, never cut.
  double optimizer = 12;    ///< Master copy and moments; cut by level 1 and up.
  double computed = 2;      ///< Of a weight as products take it, where it is gathered or cast.
  /// Weights are stored cut from level 1 on, and whole copies as products take them live from the
  /// forward to the backward pass below level 3: MindSpore's optimizer parallelism.
  bool cut_weights = false;
  friend bool operator==(const Storage&, const Storage&) = default;
};

/// How attention is computed.
enum class AttentionKernel : std::uint8_t {
  kPlain,  ///< Scores exist: tokens x tokens.
  kFused,  ///< Scores do not exist; sums of exponentials are kept.
};

/// What of the collectives between cut products runs beside products.
enum class TensorOverlap : std::uint8_t {
  kNone,
  /// Sums of input gradients, beside the weight's gradient of the same product: Megatron from 2022
  /// on. Source: arXiv 2205.05198, table 4, whose backward passes are 1.5 times the forward one.
  kGradients,
  /// Each is cut into as many pieces as there are tensor parts, and only one piece is waited for:
  /// NVIDIA/Megatron-LM --tp-comm-overlap.
  kProducts,
};

/// What is trained, on what; the question to which plans are answers.
struct TrainingJob {
  ModelShape model = {};
  std::int64_t sequence = 0;
  std::int64_t global_batch = 0;  ///< Samples of a step.
  std::int64_t devices = 1;
  Storage storage = {};
  /// Bytes that fused attention keeps for each head and token: 4 where the logarithm of the sum is
  /// kept, 64 on Ascend, which keeps maximum and sum with eight columns each.
  double attention_sum_bytes = 4;
  double logit_bytes = 10;  ///< For each logit at the loss: 16-bit, 32-bit, gradient.
  /// Bytes moved to make 8-bit operands of a 16-bit number: its largest is looked for (2), it is
  /// read, written and written transposed (4). Scales of rows do all of that in both directions.
  double eight_bit_bytes = 6;
  /// How often passes over memory read and write what fused kernels do once: 1 where they are
  /// fused, more where each operator is a kernel of its own.
  double memory_passes = 1;
  /// Seconds that the host needs to launch a layer's forward pass, twice that for its backward
  /// pass; devices wait for it. 0: launches run ahead.
  double host_layer_seconds = 0;
  /// Seconds that the host needs to launch a local expert's forward pass, which nothing hides. 0:
  /// all experts are one kernel, whose sizes stay on the device.
  double host_expert_seconds = 0;
  /// Bytes that a program copies on the device for each whole weight and micro batch where weights
  /// are cut (level 3): what was gathered is taken apart, gradients are cast and put together.
  double weight_copy_bytes = 0;
  /// Bytes that the optimizer moves for each weight. 0: gradient, state and weight once.
  double optimizer_bytes = 0;
  /// Bytes moved for each weight and micro batch to add its gradient to the sum of those before. 0:
  /// the product does it.
  double summing_bytes = 0;
  AttentionKernel attention = AttentionKernel::kFused;
  TensorOverlap overlap_tensor = TensorOverlap::kNone;
  /// Tensors of PyTorch's DTensor and pipelining: what is gathered for a cut product is kept whole,
  /// its gradient is whole until it is scattered, stages have buffers for every micro batch.
  bool distributed_tensors = false;
  bool fused_gate = false;  ///< The gate's activation is computed again in the backward pass.
  bool eight_bit_products = false;
  bool causal = true;  ///< Fused attention skips what lies above the diagonal.
  /// Each operator is a kernel: gradients are cast and added up for every micro batch, and the
  /// optimizer is a chain of them, as MindSpore's programs are without fusion.
  bool separate_operators = false;
  /// Every tensor part sends a stage's whole output on; else each sends its share.
  bool whole_messages = false;
  /// A stage sends its result and receives the next operand one after the other instead of at once.
  /// Source: deepspeedai/DeepSpeed: deepspeed/runtime/pipe/schedule.py, an instruction for each.
  bool separate_messages = false;
  bool overlap_data = true;  ///< Gradient reduction runs beside the backward pass.
  /// Tokens of one micro batch are exchanged while another is computed: NVIDIA/Megatron-LM
  /// --overlap-moe-expert-parallel-comm.
  bool overlap_experts = false;
  /// Replicas exchange in one ring, which leaves a node through one adapter.
  bool one_ring = false;
};

/// Samples in a step of one pipeline. 0 if the batch cannot be divided.
[[nodiscard]] std::int64_t MicroBatches(const TrainingJob& job, const Plan& plan);

/// Whether the plan can be run at all: everything divides that has to.
/// @error kInvalidArgument  what does not divide, and what would
[[nodiscard]] Status CheckPlan(const TrainingJob& job, const Plan& plan);
/// The same without saying why. Every part of the plan has to be at least 1.
[[nodiscard]] bool IsPossible(const TrainingJob& job, const Plan& plan);

/// "dp8 tp8 pp16 vpp2 cp1 ep1 sp op1 selective mb1": how tables and --explain name a plan; parts
/// that are 1 or absent are left out.
[[nodiscard]] std::string PlanText(const Plan& plan);

/// The plan that `PlanText` writes so; what is not written stays as in `plan`. @error
/// kInvalidArgument  which word is not understood
[[nodiscard]] Result<Plan> ParsePlan(std::string_view text, Plan plan = {});

/// "none", "selective", "products", "full".
[[nodiscard]] std::string_view RecomputeName(Recompute recompute);

}  // namespace drydock::sim
