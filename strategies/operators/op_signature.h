#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// What an argument of an operator's call is.
enum class ArgumentKind : std::uint8_t {
  kTensor,
  kOptionalTensor,  ///< "?bias": may be absent.
  kTensorList,      ///< "*tensors": any number.
  kAttribute,       ///< "#shape", and every constructor argument.
};

struct SignatureArgument {
  std::string name = {};
  ArgumentKind kind = ArgumentKind::kTensor;
  std::optional<Attr> default_value = {};
};

/// OpEntry::signature, taken apart.
///
/// Example: "MatMul(transpose_a=False, transpose_b=False)(x, y)".
struct OpSignature {
  std::vector<SignatureArgument> constructor = {};
  std::vector<SignatureArgument> call = {};
  bool tuple_result = false;  ///< "-> *y" behind the call: a tuple of tensors, also if it is one.
};

/// Takes a signature apart. What does not parse is left out: a default that is not True, False,
/// None, a number, a quoted text or a list of these counts as none.
[[nodiscard]] OpSignature ParseSignature(std::string_view signature);

/// A call with types in place of operands: "(axis=0)((8, 6), None, int32(4, 2))".
struct TypedCall {
  AttrMap attrs = {};
  std::vector<std::optional<TensorType>> operands = {};  ///< nullopt = None, left out.
};

/// Takes a call apart: `(8, 6)` is a float32 tensor, `int32(8, 6)` one of another element type.
/// @error kInvalidArgument  what does not parse
[[nodiscard]] Result<TypedCall> ParseTypedCall(std::string_view text);

/// Checks that a call has the tensors that the operator's signature asks for; kNoValue counts as
/// left out, which only optional tensors and members of several tuples may be.
/// @error kInvalidArgument  "<op>:input-count"
[[nodiscard]] Status CheckOperands(const OpEntry& entry, std::span<const ValueId> operands);

}  // namespace drydock::strategies
