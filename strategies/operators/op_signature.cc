#include "strategies/operators/op_signature.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {
namespace {

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// Bracket depth and open quote while walking over a text.
struct Nesting {
  int depth = 0;
  char quote = 0;

  void Step(char c) {
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    }
  }
};

/// Parts of a list between commas outside brackets; empty parts are left out.
std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  Nesting nesting;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && nesting.depth == 0 && nesting.quote == 0)) {
      if (const std::string_view part = Trimmed(text.substr(begin, i - begin)); !part.empty()) {
        parts.push_back(part);
      }
      begin = i + 1;
    } else {
      nesting.Step(text[i]);
    }
  }
  return parts;
}

/// Contents of the bracket that opens at `open`; `end` becomes the index behind it.
std::string_view Bracket(std::string_view text, std::size_t open, std::size_t& end) {
  Nesting nesting;
  for (std::size_t i = open; i < text.size(); ++i) {
    nesting.Step(text[i]);
    if (nesting.depth == 0) {
      end = i + 1;
      return text.substr(open + 1, i - open - 1);
    }
  }
  end = text.size();
  return {};
}

std::optional<Attr> NumberAttr(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && stop == end) {
    return Attr(whole);
  }
  double real = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, real);
      error == std::errc() && stop == end) {
    return Attr(real);
  }
  return std::nullopt;
}

/// Lists nest at most one level in signatures, so the recursion is bounded by the text.
std::optional<Attr> ParseDefault(std::string_view text) {
  if (text == "True" || text == "False") {
    return Attr(text == "True");
  }
  if (text == "None") {
    return Attr();
  }
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) {
    return Attr(std::string(text.substr(1, text.size() - 2)));
  }
  if (text.size() >= 2 && text.front() == '(') {
    Attr::List list;
    for (const std::string_view part : SplitList(text.substr(1, text.size() - 2))) {
      std::optional<Attr> item = ParseDefault(part);
      if (!item) {
        return std::nullopt;
      }
      list.push_back(*std::move(item));
    }
    return Attr(std::move(list));
  }
  return NumberAttr(text);
}

SignatureArgument ParseArgument(std::string_view text, bool in_constructor) {
  SignatureArgument argument;
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    argument.default_value = ParseDefault(Trimmed(text.substr(equals + 1)));
    text = Trimmed(text.substr(0, equals));
  }
  switch (text.empty() ? ' ' : text.front()) {
    case '#':
      argument.kind = ArgumentKind::kAttribute;
      break;
    case '?':
      argument.kind = ArgumentKind::kOptionalTensor;
      break;
    case '*':
      argument.kind = ArgumentKind::kTensorList;
      break;
    default:
      argument.kind = in_constructor ? ArgumentKind::kAttribute : ArgumentKind::kTensor;
      argument.name = text;
      return argument;
  }
  argument.name = Trimmed(text.substr(1));
  return argument;
}

/// "int32(4, 6)", "(4, 6)".
Result<TensorType> OperandType(std::string_view text) {
  TensorType type;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    return FailInput("call:operand", "'" + std::string(text) + "' is not a type");
  }
  if (open > 0) {
    DRYDOCK_TRY(type.dtype, ParseDType(text.substr(0, open)));
  }
  std::size_t end = 0;
  for (const std::string_view part : SplitList(Bracket(text, open, end))) {
    const std::optional<Attr> extent = NumberAttr(part);
    if (!extent || !std::holds_alternative<std::int64_t>(extent->value)) {
      return FailInput("call:operand", "'" + std::string(part) + "' is not an extent");
    }
    type.shape.push_back(std::get<std::int64_t>(extent->value));
  }
  return type;
}

}  // namespace

OpSignature ParseSignature(std::string_view signature) {
  OpSignature parsed;
  const std::size_t open = signature.find('(');
  if (open == std::string_view::npos) {
    return parsed;
  }
  std::size_t end = 0;
  for (const std::string_view text : SplitList(Bracket(signature, open, end))) {
    parsed.constructor.push_back(ParseArgument(text, true));
  }
  const std::size_t call = signature.find('(', end);
  if (call != std::string_view::npos) {
    for (const std::string_view text : SplitList(Bracket(signature, call, end))) {
      parsed.call.push_back(ParseArgument(text, false));
    }
    parsed.tuple_result = Trimmed(signature.substr(end)).starts_with("-> *");
  }
  return parsed;
}

Result<TypedCall> ParseTypedCall(std::string_view text) {
  TypedCall call;
  std::size_t end = 0;
  for (const std::string_view part : SplitList(Bracket(text, 0, end))) {
    SignatureArgument argument = ParseArgument(part, true);
    if (!argument.default_value) {
      return FailInput("call:attribute", "'" + std::string(part) + "' is not an attribute");
    }
    call.attrs[argument.name] = *std::move(argument.default_value);
  }
  if (end >= text.size()) {
    return FailInput("call:operands", "'" + std::string(text) + "' has no operands");
  }
  for (const std::string_view part : SplitList(Bracket(text, end, end))) {
    if (part == "None") {
      call.operands.emplace_back();
      continue;
    }
    DRYDOCK_TRY(call.operands.emplace_back(), OperandType(part));
  }
  return call;
}

Status CheckOperands(const OpEntry& entry, std::span<const ValueId> operands) {
  std::size_t end = 0;
  Bracket(entry.signature, entry.signature.find('('), end);
  const std::size_t call = entry.signature.find('(', end);
  if (call == std::string_view::npos) {
    return {};
  }
  std::size_t position = 0;
  bool has_list = false;
  bool only_list_follows = false;
  for (const std::string_view text : SplitList(Bracket(entry.signature, call, end))) {
    const char mark = text.empty() ? '#' : text.front();
    only_list_follows = mark == '#' ? only_list_follows : mark == '*' && !has_list;
    has_list = has_list || mark == '*';
    if (mark == '#' || has_list) {
      continue;  // What stands behind a tuple has no fixed position.
    }
    const bool given = position < operands.size() && operands[position] != kNoValue;
    if (!given && mark != '?') {
      return FailInput(std::string(entry.name) + ":input-count",
                       "'" + std::string(entry.name) + "' needs tensor " +
                           std::to_string(position) + " (" + std::string(text) + ")");
    }
    ++position;
  }
  const auto members = operands.subspan(std::min(position, operands.size()));
  if (only_list_follows && std::ranges::find(members, kNoValue) != members.end()) {
    return FailInput(std::string(entry.name) + ":input-count",
                     "'" + std::string(entry.name) +
                         "' takes a tuple of tensors, and one of them " + "is left out");
  }
  if (!has_list && operands.size() > position) {
    return FailInput(std::string(entry.name) + ":input-count",
                     "'" + std::string(entry.name) + "' takes " + std::to_string(position) +
                         " tensors, but " + std::to_string(operands.size()) + " are given");
  }
  return {};
}

}  // namespace drydock::strategies
