#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// Element type of a tensor. Order inside a class = promotion order.
enum class DType : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

/// Bytes of one element.
[[nodiscard]] std::int64_t DTypeBytes(DType dtype);

/// Name as users write it: "float32".
[[nodiscard]] std::string_view DTypeName(DType dtype);

/// Name as IR dumps print it: "Float32".
[[nodiscard]] std::string_view DTypeIrName(DType dtype);

/// "float32", "Float32" or "bool_" -> the type. @error kInvalidArgument  no such type
[[nodiscard]] Result<DType> ParseDType(std::string_view name);

[[nodiscard]] bool IsFloating(DType dtype);
[[nodiscard]] bool IsComplex(DType dtype);

/// Common type of two operands. Source: mindspore ops/infer `promote`.
/// @error kInvalidArgument  the two do not combine (uint16 with int32, ...)
[[nodiscard]] Result<DType> PromoteDTypes(DType a, DType b);

/// Shape and element type of a tensor; the shape is global or local depending on the program.
struct TensorType {
  Shape shape = {};
  DType dtype = DType::kFloat32;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Elements of a shape. @error kInvalidArgument  it does not fit 64 bits
[[nodiscard]] Result<std::int64_t> ElementCount(const Shape& shape);

/// Bytes of a tensor whose shape was validated when it entered the graph.
[[nodiscard]] std::int64_t ByteSize(const TensorType& type);

/// "float32 (8, 16)".
[[nodiscard]] std::string TypeText(const TensorType& type);

}  // namespace drydock::strategies
