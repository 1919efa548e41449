#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Weighted key-value recurrence of RWKV networks: an attention whose weights decay with distance.
///
/// Per sample and channel, with decay w and bonus u: out[t] = (a + e^(u + k) v) / (b + e^(u + k)),
/// then a = e^w a + e^k v and b = e^w b + e^k. The state holds a and b scaled by e^-m (sp, sq) and
/// the exponent m (sm). The steps of a sequence depend on each other, so it stays whole.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferWkv(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 7, 7));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 2, 3, 3));
  const Shape& k = op.inputs[2].shape;
  const Shape channels = {k[2]};
  const Shape state = {k[0], k[2]};
  const bool fits = op.inputs[0].shape == channels && op.inputs[1].shape == channels &&
                    op.inputs[3].shape == k && op.inputs[4].shape == state &&
                    op.inputs[5].shape == state && op.inputs[6].shape == state;
  if (!fits) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of keys of shape " + TupleText(k) +
                      " takes w and u of shape " + TupleText(channels) + " and states of shape " +
                      TupleText(state));
  }
  return std::vector<TensorType>{op.inputs[2], op.inputs[4], op.inputs[5], op.inputs[6]};
}

Result<ShardRule> ShardWkv(const OpView& /*op*/, const Strategy& /*strategy*/) {
  const TensorAxes channels = {{2}};
  const TensorAxes steps = {{0}, {1}, {2}};
  const TensorAxes state = {{0}, {2}};
  ShardRule rule{.axis_count = 3,
                 .inputs = {channels, channels, steps, steps, state, state, state},
                 .outputs = {steps, state, state, state}};
  rule.uncut.push_back({.axis = 1, .what = "the sequence"});
  return rule;
}

/// Keys, values and states on dimension 0.
Result<Strategy> DefaultWkv(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, {false, false, true, true, true, true, true});
}

/// Calls f(channel, offset of step 0 in k, offset in a state) for every sample and channel; steps
/// are `channels` apart.
template <typename F>
void ForEachLine(const Shape& k, F f) {
  const auto channels = static_cast<std::size_t>(k[2]);
  for (std::size_t b = 0; b < static_cast<std::size_t>(k[0]); ++b) {
    for (std::size_t c = 0; c < channels; ++c) {
      f(c, b * static_cast<std::size_t>(k[1]) * channels + c, b * channels + c);
    }
  }
}

Result<std::vector<NdArray>> EvaluateWkv(const EvaluateContext& context) {
  const auto& w = context.inputs[0].data;
  const auto& u = context.inputs[1].data;
  const NdArray& k = context.inputs[2];
  const auto& v = context.inputs[3].data;
  NdArray out = FilledArray(k.shape, 0.0);
  NdArray sp = context.inputs[4];
  NdArray sq = context.inputs[5];
  NdArray sm = context.inputs[6];
  ForEachLine(k.shape, [&](std::size_t c, std::size_t line, std::size_t state) {
    double& a = sp.data[state];
    double& b = sq.data[state];
    double& m = sm.data[state];
    for (std::int64_t t = 0; t < k.shape[1]; ++t) {
      const std::size_t i = line + static_cast<std::size_t>(t * k.shape[2]);
      const double now = std::max(m, u[c] + k.data[i]);
      const double bonus = std::exp(u[c] + k.data[i] - now);
      const double old = std::exp(m - now);
      out.data[i] = (old * a + bonus * v[i]) / (old * b + bonus);
      const double next = std::max(m + w[c], k.data[i]);
      const double decay = std::exp(m + w[c] - next);
      const double key = std::exp(k.data[i] - next);
      a = decay * a + key * v[i];
      b = decay * b + key;
      m = next;
    }
  });
  return std::vector<NdArray>{std::move(out), std::move(sp), std::move(sq), std::move(sm)};
}

/// The reference's kernel starts from an empty state: states are not trained through.
Result<std::vector<ValueId>> GradientOfWkv(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  if (OutputGradient(context) == kNoValue) {
    return gradients;
  }
  const Node& node = context.node;
  DRYDOCK_TRY(const std::vector<ValueId> four,
              EmitAll(context, "WKVGrad",
                      {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[3],
                       OutputGradient(context)}));
  std::ranges::copy(four, gradients.begin());
  return gradients;
}

// ---- WKVGrad: w, u, k, v, dy -> dw, du, dk, dv --------------------------------------------------

Result<std::vector<TensorType>> InferWkvGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  return std::vector<TensorType>(op.inputs.begin(), op.inputs.begin() + 4);
}

/// One sample and channel, forwards for the sums before each step, then backwards.
struct Line {
  double w = 0;
  double u = 0;
  std::vector<double> k = {};
  std::vector<double> v = {};
  std::vector<double> dy = {};
  double dw = 0;
  double du = 0;
  std::vector<double> dk = {};
  std::vector<double> dv = {};

  void Run() {
    const std::size_t steps = k.size();
    std::vector<double> a(steps + 1, 0.0);
    std::vector<double> b(steps + 1, 0.0);
    for (std::size_t t = 0; t < steps; ++t) {
      a[t + 1] = std::exp(w) * a[t] + std::exp(k[t]) * v[t];
      b[t + 1] = std::exp(w) * b[t] + std::exp(k[t]);
    }
    dk.assign(steps, 0.0);
    dv.assign(steps, 0.0);
    double da = 0;  // Gradient of the sums behind step t.
    double db = 0;
    for (std::size_t t = steps; t-- > 0;) {
      const double bonus = std::exp(u + k[t]);
      const double divisor = b[t] + bonus;
      const double dn = dy[t] / divisor;
      const double dd = -dy[t] * (a[t] + bonus * v[t]) / (divisor * divisor);
      const double key = std::exp(k[t]);
      du += bonus * (dn * v[t] + dd);
      dk[t] = bonus * (dn * v[t] + dd) + key * (v[t] * da + db);
      dv[t] = bonus * dn + key * da;
      dw += std::exp(w) * (a[t] * da + b[t] * db);
      da = dn + std::exp(w) * da;
      db = dd + std::exp(w) * db;
    }
  }
};

Result<std::vector<NdArray>> EvaluateWkvGrad(const EvaluateContext& context) {
  std::vector<NdArray> gradients;
  for (std::size_t i = 0; i < 4; ++i) {
    gradients.push_back(FilledArray(context.inputs[i].shape, 0.0));
  }
  const Shape& shape = context.inputs[2].shape;
  ForEachLine(shape, [&](std::size_t c, std::size_t begin, std::size_t /*state*/) {
    Line line{.w = context.inputs[0].data[c], .u = context.inputs[1].data[c]};
    const auto at = [&](std::int64_t t) { return begin + static_cast<std::size_t>(t * shape[2]); };
    for (std::int64_t t = 0; t < shape[1]; ++t) {
      line.k.push_back(context.inputs[2].data[at(t)]);
      line.v.push_back(context.inputs[3].data[at(t)]);
      line.dy.push_back(context.inputs[4].data[at(t)]);
    }
    line.Run();
    gradients[0].data[c] += line.dw;
    gradients[1].data[c] += line.du;
    for (std::int64_t t = 0; t < shape[1]; ++t) {
      gradients[2].data[at(t)] = line.dk[static_cast<std::size_t>(t)];
      gradients[3].data[at(t)] = line.dv[static_cast<std::size_t>(t)];
    }
  });
  return gradients;
}

double WkvFlops(const OpView& op) {
  return 10.0 * Elements(op.inputs[2]);
}

double WkvGradFlops(const OpView& op) {
  return 2.0 * WkvFlops(op);
}

DRYDOCK_OP(WKV, .family = "attention", .signature = "WKV()(w, u, k, v, sp, sq, sm)",
           .infer = InferWkv, .shard = ShardWkv, .default_strategy = DefaultWkv,
           .gradient = GradientOfWkv, .evaluate = EvaluateWkv, .flops = WkvFlops,
           .example = "()((6), (6), (4, 8, 6), (4, 8, 6), (4, 6), (4, 6), (4, 6))");
DRYDOCK_OP(WKVGrad, .family = "gradient", .signature = "WKVGrad()(w, u, k, v, gy)",
           .infer = InferWkvGrad, .gradient = GradientNotNeeded, .evaluate = EvaluateWkvGrad,
           .flops = WkvGradFlops);

}  // namespace
}  // namespace drydock::strategies
