// What operators of traces compute.
//
// By the table of operators where it has one of the same name; PyTorch's names of products and of
// fused attention stand here. Example: aten::mm of [1000, 1000] and [1000, 500] is 2 * 1000 * 1000
// * 500 operations; aten::_flash_attention_forward of [8, 4096, 32, 128], causal, 2 * 8 * 32 *
// 4096^2 * (128 + 128) / 2.
#include "sim/calibration/operator_work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "strategies/operators/op_entry.h"

namespace drydock::sim {
namespace {

using Shape = std::vector<std::int64_t>;

double Count(const Shape& shape) {
  double count = 1;
  for (const std::int64_t extent : shape) {
    count *= static_cast<double>(extent);
  }
  return count;
}

/// [.., m, k] x [.., k, n]; the second one may be transposed, which the sizes say unless square.
std::optional<double> ProductFlops(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() < 2) {
    return std::nullopt;
  }
  const std::int64_t k = a.back();
  const std::int64_t n =
      b[b.size() - 2] == k ? b.back() : (b.back() == k ? b[b.size() - 2] : std::int64_t{-1});
  return n < 0 ? std::nullopt : std::optional(2 * Count(a) * static_cast<double>(n));
}

/// PyTorch's names of products and where their two factors stand.
std::optional<std::size_t> FirstFactor(std::string_view name) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::matmul" ||
      name == "aten::linear") {
    return 0;
  }
  return name == "aten::addmm" || name == "aten::baddbmm" ? std::optional<std::size_t>(1)
                                                          : std::nullopt;
}

/// "Default/net/MatMul-op3", "aclnnMatmul_..." stay what they are but for scope and number.
std::string_view OperatorOf(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  return name.substr(0, name.rfind("-op"));
}

/// An attention of PyTorch: where its query stands, which axis of it counts tokens, which of the
/// other values says that it is causal, and whether it is the backward pass.
struct AttentionName {
  std::string_view name;
  std::size_t query = 0;
  std::size_t tokens = 1;
  std::size_t causal = 0;
  bool backward = false;
};

/// Source: pytorch/pytorch: aten/src/ATen/native/native_functions.yaml.
constexpr std::array kAttentions = {
    AttentionName{"aten::_flash_attention_forward", 0, 1, 8, false},
    AttentionName{"aten::_flash_attention_backward", 1, 1, 11, true},
    AttentionName{"aten::_scaled_dot_product_flash_attention", 0, 2, 4, false},
    AttentionName{"aten::_scaled_dot_product_flash_attention_backward", 1, 2, 11, true},
    AttentionName{"aten::_scaled_dot_product_cudnn_attention", 0, 2, 6, false},
    AttentionName{"aten::_scaled_dot_product_cudnn_attention_backward", 1, 2, 14, true},
    AttentionName{"aten::scaled_dot_product_attention", 0, 2, 5, false}};

double Extent(const Shape& shape, std::size_t axis) {
  return axis < shape.size() ? static_cast<double>(shape[axis]) : 0;
}

/// 2 (width of keys + width of values) operations for each pair of a query and a key; the backward
/// pass has five products for two. Causal ones compute half of the pairs.
double AttentionFlops(const Shape& query, const Shape& key, const Shape& value,
                      std::size_t tokens) {
  const double pairs =
      Count(query) / std::max(1.0, Extent(query, query.size() - 1)) * Extent(key, tokens);
  return 2 * pairs * (Extent(query, query.size() - 1) + Extent(value, value.size() - 1));
}

std::optional<OperatorWork> AttentionOf(const TraceEvent& event, strategies::DType dtype) {
  OperatorWork work{.kind = EfficiencyKind::kAttention, .dtype = dtype};
  for (const AttentionName& known : kAttentions) {
    if (known.name != event.name || event.shapes.size() < known.query + 3) {
      continue;
    }
    const Shape& query = event.shapes[known.query];
    if (query.size() != 4) {
      return std::nullopt;  // Sequences in one row: where each ends is not said.
    }
    const bool causal =
        known.causal < event.values.size() &&
        (event.values[known.causal] == "True" || event.values[known.causal] == "true");
    work.flops = (known.backward ? 2.5 : 1) * (causal ? 0.5 : 1) *
                 AttentionFlops(query, event.shapes[known.query + 1], event.shapes[known.query + 2],
                                known.tokens);
    return work;
  }
  return std::nullopt;
}

/// MindSpore's: (batch, tokens, width of all heads), or (batch, heads, tokens, width). Whether it
/// is causal is an attribute that traces do not have; networks that are trained with it mostly are,
/// so half of the pairs count.
std::optional<OperatorWork> MindsporeAttention(const TraceEvent& event, OperatorWork work,
                                               bool backward) {
  if (event.shapes.size() < 3) {
    return std::nullopt;
  }
  const Shape& query = event.shapes[0];
  const std::size_t rank = query.size();
  if ((rank != 3 && rank != 4) || event.shapes[1].size() != rank ||
      event.shapes[2].size() != rank) {
    return std::nullopt;
  }
  work.kind = EfficiencyKind::kAttention;
  work.flops = (backward ? 2.5 : 1) * 0.5 *
               AttentionFlops(query, event.shapes[1], event.shapes[2], rank - 2);
  return work;
}

}  // namespace

std::optional<strategies::DType> TraceTypeNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, strategies::DType>, 16> kNames = {{
      {"float", strategies::DType::kFloat32},
      {"c10::Half", strategies::DType::kFloat16},
      {"c10::BFloat16", strategies::DType::kBFloat16},
      {"double", strategies::DType::kFloat64},
      {"long int", strategies::DType::kInt64},
      {"long", strategies::DType::kInt64},
      {"int", strategies::DType::kInt32},
      {"half", strategies::DType::kFloat16},
      {"DT_BF16", strategies::DType::kBFloat16},
      {"BFloat16", strategies::DType::kBFloat16},
      {"Float", strategies::DType::kFloat32},
      {"Half", strategies::DType::kFloat16},
      {"Long", strategies::DType::kInt64},
      {"Int", strategies::DType::kInt32},
      {"Byte", strategies::DType::kUInt8},
      {"Double", strategies::DType::kFloat64},
  }};
  const auto* found =
      std::ranges::find(kNames, name, &std::pair<std::string_view, strategies::DType>::first);
  if (found != kNames.end()) {
    return found->second;
  }
  const auto parsed = strategies::ParseDType(name);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

namespace {

/// Bytes of the operands, of the first one's type; and of the largest.
struct Operands {
  strategies::DType dtype = strategies::DType::kFloat32;
  double bytes = 0;
  double largest = 0;
};

Operands OperandsOf(const TraceEvent& event) {
  Operands found;
  for (std::size_t i = 0; i < event.shapes.size() && i < event.types.size(); ++i) {
    const auto dtype = TraceTypeNamed(event.types[i]);
    if (!dtype || event.shapes[i].empty()) {
      continue;
    }
    found.dtype = found.bytes == 0 ? *dtype : found.dtype;
    const double bytes =
        Count(event.shapes[i]) * static_cast<double>(strategies::DTypeBytes(*dtype));
    found.bytes += bytes;
    found.largest = std::max(found.largest, bytes);
  }
  return found;
}

}  // namespace

std::optional<OperatorWork> WorkOf(const TraceEvent& event) {
  const Operands operands = OperandsOf(event);
  OperatorWork work{.dtype = operands.dtype, .bytes = operands.bytes};
  if (work.bytes <= 0) {
    return std::nullopt;
  }
  if (auto attention = AttentionOf(event, work.dtype)) {
    return attention;
  }
  std::optional<std::size_t> factor = FirstFactor(event.name);
  const strategies::OpEntry* entry = strategies::FindOp(OperatorOf(event.name));
  if (entry != nullptr && entry->work == strategies::WorkKind::kProduct) {
    factor = 0;
  }
  if (factor) {
    if (event.shapes.size() < *factor + 2) {
      return std::nullopt;
    }
    const auto flops = ProductFlops(event.shapes[*factor], event.shapes[*factor + 1]);
    if (!flops) {
      return std::nullopt;
    }
    work.kind = EfficiencyKind::kProduct;
    work.flops = *flops;
    return work;
  }
  if (entry != nullptr && entry->work == strategies::WorkKind::kAttention) {
    return MindsporeAttention(event, work, entry->family == "gradient");
  }
  const bool moves = (entry != nullptr && entry->flops == strategies::NoFlops) ||
                     event.name == "aten::copy_" || event.name == "aten::clone";
  work.kind = moves ? EfficiencyKind::kMovement : EfficiencyKind::kVector;
  work.bytes += operands.largest;  // The result is as large as the largest operand.
  return work;
}

}  // namespace drydock::sim
