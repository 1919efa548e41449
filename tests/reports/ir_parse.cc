#include "tests/reports/ir_parse.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace drydock::reports {
namespace {

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::size_t EndOfBracket(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (std::string_view("([{<").find(text[i]) != std::string_view::npos) {
      ++depth;
    } else if (std::string_view(")]}").find(text[i]) != std::string_view::npos ||
               (text[i] == '>' && (i == 0 || text[i - 1] != '-'))) {
      if (--depth == 0) {
        return i;
      }
    }
  }
  return text.size();
}

std::vector<std::string> SplitTop(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size();) {
    if (i == text.size() || text[i] == ',') {
      if (const std::string part = Trim(text.substr(begin, i - begin)); !part.empty()) {
        parts.push_back(part);
      }
      begin = ++i;
    } else if (std::string_view("([{<").find(text[i]) != std::string_view::npos) {
      i = EndOfBracket(text, i) + 1;
    } else {
      ++i;
    }
  }
  return parts;
}

std::string WithoutNoise(std::string text) {
  for (std::size_t at = text.find(", sequence_nodes={"); at != std::string::npos;
       at = text.find(", sequence_nodes={")) {
    const std::size_t open = text.find('{', at);
    text.erase(at, EndOfBracket(text, open) + 1 - at);
  }
  text = std::regex_replace(text, std::regex("para[0-9]+_"), "para_");
  text = std::regex_replace(text, std::regex("@[0-9A-Za-z_.]+"), "@graph");
  text = std::regex_replace(text, std::regex("\\[CNode\\][0-9]+"), "[CNode]");
  return text;
}

std::string Operand(const std::string& text) {
  return std::regex_match(text, std::regex("%[0-9]+")) ? "%" : text;
}

/// Contents of the braces behind `key`, empty if the line has none.
std::string Block(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t open = line.find('{', at);
  return line.substr(open + 1, EndOfBracket(line, open) - open - 1);
}

void ParseNodeLine(const std::string& line, std::vector<ParsedIrNode>& nodes) {
  ParsedIrNode node;
  const std::size_t equals = line.find(" = ");
  const std::size_t label = line.find('(') + 1;
  node.label = line.substr(label, equals - 1 - label);
  const std::size_t open = line.find('(', equals);
  node.op = line.substr(equals + 3, open - equals - 3);
  const std::size_t close = EndOfBracket(line, open);
  for (const std::string& operand : SplitTop(line.substr(open + 1, close - open - 1))) {
    node.operands.push_back(Operand(operand));
  }
  const std::string rest = line.substr(std::min(close + 1, line.size()));
  const std::string instance = Block(rest, "{instance name: ");
  node.instance = instance.empty() ? "" : instance.substr(std::string("instance name: ").size());
  for (const std::string& attr : SplitTop(Block(rest, "primitive_attrs: {"))) {
    node.primitive_attrs.insert(attr);
  }
  for (const std::string& attr : SplitTop(Block(rest, "cnode_attrs: {"))) {
    node.cnode_attrs.insert(attr);
  }
  const std::size_t strategy = rest.rfind(" {in_strategy: ");
  if (strategy != std::string::npos) {
    node.in_strategy = rest.substr(strategy + 15, rest.size() - strategy - 16);
  }
  nodes.push_back(std::move(node));
}

void ParseTypeLine(const std::string& line, ParsedIrNode& node) {
  const std::size_t open = line.find('(');
  const std::size_t close = EndOfBracket(line, open);
  node.input_types = SplitTop(line.substr(open + 1, close - open - 1));
  const std::size_t arrow = line.find("-> (", close);
  node.output_type =
      arrow == std::string::npos ? "" : line.substr(arrow + 4, line.size() - arrow - 5);
}

}  // namespace

std::vector<ParsedIrNode> ParseIrNodes(std::string_view text) {
  std::vector<ParsedIrNode> nodes;
  std::istringstream lines{std::string(text)};
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = WithoutNoise(Trim(raw));
    if (line.starts_with("%") && line.find(" = ") != std::string::npos) {
      ParseNodeLine(line, nodes);
    } else if (nodes.empty()) {
      continue;
    } else if (line.starts_with(": (")) {
      if (nodes.back().output_type.empty()) {
        ParseTypeLine(line, nodes.back());
      }
    } else if (line.starts_with("# scope: (")) {
      nodes.back().scope = line.substr(10, line.size() - 11);
    } else if (line.starts_with("# In file ")) {
      nodes.back().places.push_back(line.substr(10));
    }
  }
  return nodes;
}

ParsedIrNode FindIrNode(const std::vector<ParsedIrNode>& nodes, std::string_view op,
                        std::string_view instance) {
  const auto node = std::ranges::find_if(nodes, [&](const ParsedIrNode& candidate) {
    return candidate.op == op && (instance.empty() || candidate.instance == instance);
  });
  return node == nodes.end() ? ParsedIrNode{} : *node;
}

}  // namespace drydock::reports
