#include "strategies/graph/attr.h"

#include <cmath>
#include <cstdio>

namespace drydock::strategies {
namespace {

tl::unexpected<Error> WrongType(std::string_view name, std::string_view wanted, const Attr& attr) {
  return FailInput("attribute:type", "attribute '" + std::string(name) + "' must be " +
                                         std::string(wanted) + ", but it is " + AttrText(attr));
}

const Attr* Find(const AttrMap& attrs, std::string_view name) {
  const auto it = attrs.find(name);
  return it == attrs.end() || IsNone(it->second) ? nullptr : &it->second;
}

std::optional<std::int64_t> AsInt(const Attr& attr) {
  if (const auto* number = std::get_if<std::int64_t>(&attr.value)) {
    return *number;
  }
  if (const auto* flag = std::get_if<bool>(&attr.value)) {
    return *flag ? 1 : 0;
  }
  if (const auto* expr = std::get_if<RankExpr>(&attr.value)) {
    return ValueAt(*expr, 0);
  }
  return std::nullopt;
}

std::string NumberText(double number) {
  char buffer[32] = {};
  for (const int digits : {6, 9, 15, 17}) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    if (std::strtod(buffer, nullptr) == number) {
      break;
    }
  }
  std::string text = buffer;
  if (std::isfinite(number) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string ExprText(const RankExpr& expr) {
  std::string text = std::to_string(expr.constant);
  for (const RankExpr::Term& term : expr.terms) {
    text += "+" + std::to_string(term.scale) + "*(rank/" + std::to_string(term.digit.stride) + "%" +
            std::to_string(term.digit.extent) + ")";
  }
  return text;
}

std::string ListText(const Attr::List& list) {
  std::string text = "(";
  for (std::size_t i = 0; i < list.size(); ++i) {
    text += (i > 0 ? ", " : "") + AttrText(list[i]);
  }
  return text + (list.size() == 1 ? ",)" : ")");
}

}  // namespace

Attr::Attr(const std::vector<std::int64_t>& v) : value(List(v.begin(), v.end())) {}

bool IsNone(const Attr& attr) {
  return std::holds_alternative<std::monostate>(attr.value);
}

Result<bool> BoolAttr(const AttrMap& attrs, std::string_view name, bool fallback) {
  const Attr* attr = Find(attrs, name);
  if (attr == nullptr) {
    return fallback;
  }
  const std::optional<std::int64_t> number = AsInt(*attr);
  if (!number) {
    return WrongType(name, "True or False", *attr);
  }
  return *number != 0;
}

Result<std::int64_t> IntAttr(const AttrMap& attrs, std::string_view name, std::int64_t fallback) {
  const Attr* attr = Find(attrs, name);
  if (attr == nullptr) {
    return fallback;
  }
  const std::optional<std::int64_t> number = AsInt(*attr);
  if (!number) {
    return WrongType(name, "an integer", *attr);
  }
  return *number;
}

Result<double> FloatAttr(const AttrMap& attrs, std::string_view name, double fallback) {
  const Attr* attr = Find(attrs, name);
  if (attr == nullptr) {
    return fallback;
  }
  if (const auto* number = std::get_if<double>(&attr->value)) {
    return *number;
  }
  const std::optional<std::int64_t> number = AsInt(*attr);
  if (!number) {
    return WrongType(name, "a number", *attr);
  }
  return static_cast<double>(*number);
}

Result<std::string> TextAttr(const AttrMap& attrs, std::string_view name, std::string fallback) {
  const Attr* attr = Find(attrs, name);
  if (attr == nullptr) {
    return fallback;
  }
  const auto* text = std::get_if<std::string>(&attr->value);
  if (text == nullptr) {
    return WrongType(name, "a string", *attr);
  }
  return *text;
}

Result<std::optional<std::vector<std::int64_t>>> IntListAttr(const AttrMap& attrs,
                                                             std::string_view name) {
  const Attr* attr = Find(attrs, name);
  if (attr == nullptr) {
    return std::optional<std::vector<std::int64_t>>();
  }
  std::vector<std::int64_t> numbers;
  if (const auto* list = std::get_if<Attr::List>(&attr->value)) {
    for (const Attr& item : *list) {
      const std::optional<std::int64_t> number = AsInt(item);
      if (!number) {
        return WrongType(name, "a tuple of integers", *attr);
      }
      numbers.push_back(*number);
    }
    return std::optional(std::move(numbers));
  }
  const std::optional<std::int64_t> number = AsInt(*attr);
  if (!number) {
    return WrongType(name, "a tuple of integers", *attr);
  }
  return std::optional(std::vector<std::int64_t>{*number});
}

Attr ResolveAttr(const Attr& attr, std::int64_t position) {
  if (const auto* expr = std::get_if<RankExpr>(&attr.value)) {
    return ValueAt(*expr, position);
  }
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    Attr::List resolved;
    resolved.reserve(list->size());
    for (const Attr& item : *list) {
      resolved.push_back(ResolveAttr(item, position));
    }
    return resolved;
  }
  return attr;
}

std::string AttrText(const Attr& attr) {
  struct Printer {
    std::string operator()(std::monostate /*none*/) const { return "None"; }
    std::string operator()(bool flag) const { return flag ? "True" : "False"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return NumberText(number); }
    std::string operator()(const std::string& text) const { return "'" + text + "'"; }
    std::string operator()(const Attr::List& list) const { return ListText(list); }
    std::string operator()(const RankExpr& expr) const { return ExprText(expr); }
  };
  return std::visit(Printer{}, attr.value);
}

}  // namespace drydock::strategies
