#include "strategies/graph/dtype.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/checked.h"
#include "base/text.h"

namespace drydock::strategies {
namespace {

enum class Class : std::uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

struct DTypeFacts {
  DType dtype = DType::kBool;
  std::string_view name = {};
  std::string_view ir_name = {};
  std::int64_t bytes = 0;
  Class kind = Class::kBool;
};

constexpr std::array<DTypeFacts, 15> kFacts = {{
    {DType::kBool, "bool", "Bool", 1, Class::kBool},
    {DType::kInt8, "int8", "Int8", 1, Class::kSigned},
    {DType::kInt16, "int16", "Int16", 2, Class::kSigned},
    {DType::kInt32, "int32", "Int32", 4, Class::kSigned},
    {DType::kInt64, "int64", "Int64", 8, Class::kSigned},
    {DType::kUInt8, "uint8", "UInt8", 1, Class::kUnsigned},
    {DType::kUInt16, "uint16", "UInt16", 2, Class::kUnsigned},
    {DType::kUInt32, "uint32", "UInt32", 4, Class::kUnsigned},
    {DType::kUInt64, "uint64", "UInt64", 8, Class::kUnsigned},
    {DType::kFloat16, "float16", "Float16", 2, Class::kFloat},
    {DType::kBFloat16, "bfloat16", "BFloat16", 2, Class::kFloat},
    {DType::kFloat32, "float32", "Float32", 4, Class::kFloat},
    {DType::kFloat64, "float64", "Float64", 8, Class::kFloat},
    {DType::kComplex64, "complex64", "Complex64", 8, Class::kComplex},
    {DType::kComplex128, "complex128", "Complex128", 16, Class::kComplex},
}};

const DTypeFacts& FactsOf(DType dtype) {
  return kFacts[static_cast<std::size_t>(dtype)];
}

int Rank(Class kind) {
  switch (kind) {
    case Class::kBool:
      return 0;
    case Class::kSigned:
    case Class::kUnsigned:
      return 1;
    case Class::kFloat:
      return 2;
    case Class::kComplex:
      return 3;
  }
  return 0;
}

tl::unexpected<Error> NoCommonType(DType a, DType b) {
  return FailInput("dtype:no-common-type",
                   "element types " + std::string(DTypeName(a)) + " and " +
                       std::string(DTypeName(b)) + " have no common type",
                   "cast one of the operands explicitly");
}

Result<DType> PromoteIntegers(DType a, DType b) {
  if (FactsOf(a).kind == FactsOf(b).kind) {
    if (FactsOf(a).kind == Class::kUnsigned) {
      return NoCommonType(a, b);
    }
    return std::max(a, b);
  }
  const DType sign = FactsOf(a).kind == Class::kSigned ? a : b;
  const DType other = sign == a ? b : a;
  if (other != DType::kUInt8) {
    return NoCommonType(a, b);
  }
  return sign == DType::kInt8 ? DType::kInt16 : sign;
}

DType PromoteFloats(DType a, DType b) {
  const bool half_mix = std::min(a, b) == DType::kFloat16 && std::max(a, b) == DType::kBFloat16;
  return half_mix ? DType::kFloat32 : std::max(a, b);
}

}  // namespace

std::int64_t DTypeBytes(DType dtype) {
  return FactsOf(dtype).bytes;
}
std::string_view DTypeName(DType dtype) {
  return FactsOf(dtype).name;
}
std::string_view DTypeIrName(DType dtype) {
  return FactsOf(dtype).ir_name;
}
bool IsFloating(DType dtype) {
  return FactsOf(dtype).kind == Class::kFloat;
}
bool IsComplex(DType dtype) {
  return FactsOf(dtype).kind == Class::kComplex;
}

Result<DType> ParseDType(std::string_view name) {
  for (const DTypeFacts& facts : kFacts) {
    if (name == facts.name || name == facts.ir_name) {
      return facts.dtype;
    }
  }
  if (name == "bool_") {
    return DType::kBool;
  }
  return FailInput("dtype:unknown", "'" + std::string(name) + "' is not an element type",
                   "use one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
                   "float16, bfloat16, float32, float64, complex64, complex128");
}

Result<DType> PromoteDTypes(DType a, DType b) {
  if (a == b) {
    return a;
  }
  const Class kind_a = FactsOf(a).kind;
  const Class kind_b = FactsOf(b).kind;
  if (Rank(kind_a) != Rank(kind_b)) {
    const bool complex = std::max(Rank(kind_a), Rank(kind_b)) == Rank(Class::kComplex);
    const bool wide = a == DType::kFloat64 || b == DType::kFloat64;
    const DType higher = Rank(kind_a) > Rank(kind_b) ? a : b;
    return complex && wide ? DType::kComplex128 : higher;
  }
  if (kind_a == Class::kFloat) {
    return PromoteFloats(a, b);
  }
  if (kind_a == Class::kComplex) {
    return DType::kComplex128;
  }
  return PromoteIntegers(a, b);
}

Result<std::int64_t> ElementCount(const Shape& shape) {
  return ProductChecked(shape);
}

std::int64_t ByteSize(const TensorType& type) {
  return Product(type.shape) * DTypeBytes(type.dtype);
}

std::string TypeText(const TensorType& type) {
  return std::string(DTypeName(type.dtype)) + " " + TupleText(type.shape);
}

}  // namespace drydock::strategies
