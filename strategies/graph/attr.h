#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "strategies/layout/rank_pattern.h"

namespace drydock::strategies {

/// Attribute of a node: nothing ("None"), a scalar, text, a list, or a number that depends on the
/// rank.
///
/// RankExpr occurs only in sharded programs; `ResolveAttr` turns it into a plain number.
/// Example: begin of a StridedSlice on dimension 1: list of {0, RankExpr{4 * digit}}.
struct Attr {
  using List = std::vector<Attr>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, RankExpr> value = {};

  Attr() = default;
  Attr(bool v) : value(v) {}  // NOLINT(google-explicit-constructor): literals
  Attr(int v)                 // NOLINT(google-explicit-constructor): literals
      : value(static_cast<std::int64_t>(v)) {}
  Attr(std::int64_t v) : value(v) {}              // NOLINT(google-explicit-constructor): literals
  Attr(double v) : value(v) {}                    // NOLINT(google-explicit-constructor): literals
  Attr(const char* v) : value(std::string(v)) {}  // NOLINT(google-explicit-constructor): literals
  Attr(std::string v) : value(std::move(v)) {}    // NOLINT(google-explicit-constructor): literals
  Attr(List v) : value(std::move(v)) {}           // NOLINT(google-explicit-constructor): literals
  Attr(RankExpr v) : value(std::move(v)) {}       // NOLINT(google-explicit-constructor): literals
  Attr(const std::vector<std::int64_t>& v);       // NOLINT(google-explicit-constructor): literals

  friend bool operator==(const Attr&, const Attr&) = default;
};

/// Attributes by name; ordered, so that everything derived from them is deterministic.
using AttrMap = std::map<std::string, Attr, std::less<>>;

/// True for std::monostate.
[[nodiscard]] bool IsNone(const Attr& attr);

/// Value of attribute `name` in the given form; `fallback` if absent or None.
/// A rank-dependent number counts as its value at position 0 (shapes never depend on the rank).
/// @error kInvalidArgument  present with another type
[[nodiscard]] Result<bool> BoolAttr(const AttrMap& attrs, std::string_view name, bool fallback);
[[nodiscard]] Result<std::int64_t> IntAttr(const AttrMap& attrs, std::string_view name,
                                           std::int64_t fallback);
[[nodiscard]] Result<double> FloatAttr(const AttrMap& attrs, std::string_view name,
                                       double fallback);
[[nodiscard]] Result<std::string> TextAttr(const AttrMap& attrs, std::string_view name,
                                           std::string fallback);
/// A list of integers; a single integer counts as a list of one; nullopt if absent or None.
[[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> IntListAttr(const AttrMap& attrs,
                                                                           std::string_view name);

/// The attribute with every rank-dependent number replaced by its value at `position`.
[[nodiscard]] Attr ResolveAttr(const Attr& attr, std::int64_t position);

/// Text as Python would print it: True, 1, 0.5, 'text', (1, 2), None.
[[nodiscard]] std::string AttrText(const Attr& attr);

}  // namespace drydock::strategies
