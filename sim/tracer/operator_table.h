#pragma once

#include <string>

namespace drydock::sim {

/// {"operators": [{"name", "constructor", "call", "tuple_result", "aliases", "kind"}]} of all that
/// a script can call; arguments are {"name", "kind": "tensor" | "optional" | "tuple" | "attr",
/// "default"}.
[[nodiscard]] std::string OperatorTable();

}  // namespace drydock::sim
