#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/graph/graph.h"

namespace drydock::reports {

/// How the text of an IR dump looks: as MindSpore 2.0 printed it or as releases of 2025 do.
/// Source: mindspore ccsrc/common/debug/anf_ir_dump.cc.
enum class IrStyle : std::uint8_t { kR20, k2025 };

/// "r2.0" or "2025". @error kInvalidArgument  anything else
[[nodiscard]] Result<IrStyle> ParseIrStyle(std::string_view text);

/// Attribute value: `false`, `0`, `sum`, `(0, 1)` in r2.0; `Bool(0)`, `I64(0)`, `"sum"` in 2025.
[[nodiscard]] std::string IrAttrText(const strategies::Attr& attr, IrStyle style);

/// Cuts without the comma Python needs after a single entry: `((2, 4))`.
[[nodiscard]] std::string IrStrategyText(const strategies::Strategy& strategy);

/// `<Tensor[Float32], (16, 32)>`.
[[nodiscard]] std::string IrTensorType(const strategies::TensorType& type);

/// A parameter: `<Ref[Tensor(F32)], (4, 16), ref_key=:w2>` in r2.0.
[[nodiscard]] std::string IrRefType(const strategies::TensorType& type, std::string_view name,
                                    IrStyle style);

/// Several results of one node: `<Tuple[Tensor[Float32]*2], TupleShape((16, 32), (16, 16))>`.
[[nodiscard]] std::string IrTupleType(const std::vector<strategies::TensorType>& types);

/// An attribute handed over as an operand: `<Tuple[Int64*2]>`, `<Int64>`, `<String>`, `<None>`.
[[nodiscard]] std::string IrOperandType(const strategies::Attr& attr, IrStyle style);

/// The operand that orders side effects: `U` of type `<UMonad>` in r2.0.
[[nodiscard]] std::string_view IrMonadText(IrStyle style);
[[nodiscard]] std::string_view IrMonadType(IrStyle style);

/// A tensor constant: `Tensor(shape=[], dtype=Float32, value=0.125)`; large ones without their
/// values.
[[nodiscard]] std::string IrConstantText(const strategies::Graph& graph,
                                         const strategies::Value& value);

/// Name of an unnamed node: `[CNode]472` in r2.0, `CNode_472` in 2025.
[[nodiscard]] std::string IrNodeLabel(std::int64_t number, IrStyle style);

/// A frame of the script: `# In file net.py(45)/        out = self.matmul(x, self.weight)/` in
/// r2.0.
[[nodiscard]] std::string IrPlaceText(const SourcePlace& place, IrStyle style);

}  // namespace drydock::reports
