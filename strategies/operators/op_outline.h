#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Whether gradients flow through an operator.
enum class GradientSupport : std::uint8_t {
  kMissing,    ///< The entry does not say; a defect of the entry.
  kYes,        ///< Backward operators are derived.
  kNo,         ///< It has no backward form: NoBackward.
  kNotNeeded,  ///< GradientNotNeeded.
};
[[nodiscard]] GradientSupport GradientSupportOf(const OpEntry& entry);

/// Communication that follows once an axis is cut.
struct OutlineCommunication {
  std::string collective = {};  ///< The operator that is inserted.
  std::string reduce = {};      ///< "sum", "max", ...; empty where nothing is reduced.
  std::string axis = {};        ///< The axis whose cut brings it.
  friend bool operator==(const OutlineCommunication&, const OutlineCommunication&) = default;
};

/// How an operator may be cut, found by trying its rule on its example.
///
/// Dimensions carry the names of their axes in device-matrix order, "a", "b", ...; equal names tie
/// cuts; "_" must stay whole. Example: a product of matrices has inputs {{"a", "b"}, {"b", "c"}},
/// outputs {{"a", "c"}} and communication {"AllReduce", "sum", "b"}.
struct OpOutline {
  bool known = false;  ///< False: no rule, no example, or an operator that takes layouts only.
  std::vector<std::vector<std::string>> inputs = {};   ///< Of the example; the strategy's too,
                                                       ///< unless `entries` is given.
  std::vector<std::vector<std::string>> entries = {};  ///< Where a strategy describes other things.
  std::vector<std::vector<std::string>> outputs = {};
  std::vector<OutlineCommunication> communication = {};
};
[[nodiscard]] OpOutline OutlineOf(const OpEntry& entry);

/// "(a, b), (b, c) -> (a, c)"; "-" if the outline is not known. Operators whose strategy describes
/// other things than the operands begin with these: "strategy (a, b): (a) -> (a, b)".
[[nodiscard]] std::string CutsText(const OpOutline& outline);

/// "AllReduce sum over b"; "-" if there is none. Axes of equal communication are joined.
[[nodiscard]] std::string CommunicationText(const OpOutline& outline);

}  // namespace drydock::strategies
