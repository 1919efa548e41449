#include "tests/strategies/op_cases.h"

#include <cstdlib>
#include <fstream>

#include "tests/source_dir.h"

namespace drydock::strategies::cases {
namespace {

Attr AttrFrom(const json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value.is_string()) {
    return value.get<std::string>();
  }
  Attr::List list;
  for (const json& item : value) {
    list.push_back(AttrFrom(item));
  }
  return list;
}

}  // namespace

std::optional<OpCase> SampleOf(const OpEntry& entry) {
  Result<OpExample> example = ExampleOf(entry);
  return example ? std::optional(*std::move(example)) : std::nullopt;
}

json VectorDocument(const std::string& name) {
  const char* folder = std::getenv("DRYDOCK_VECTORS");
  std::ifstream file(std::string(folder != nullptr ? folder : SourceDir() + "/tests/vectors") +
                     "/" + name);
  return json::parse(file, nullptr, /*allow_exceptions=*/false);
}

const OpEntry* EntryOf(std::string_view name, std::size_t input_rank) {
  if (name == "MatMul" && input_rank > 2) {
    return FindOp("BatchMatMul");
  }
  if (name == "_identity") {  // the element-wise operator of the reference's own tests
    return FindOp("Identity");
  }
  const OpEntry* entry = FindOp(name);
  return entry != nullptr ? entry : FindOp("_" + std::string(name));
}

OpCase CaseFrom(const OpEntry& entry, const json& input_shapes, const json& output_shapes,
                const json& attrs) {
  OpCase one{.entry = &entry};
  const std::optional<OpCase> sample = SampleOf(entry);
  for (const json& shape : input_shapes) {
    const std::size_t i = one.inputs.size();
    const bool known = sample && i < sample->inputs.size();
    one.inputs.push_back(
        {.shape = shape.get<Shape>(), .dtype = known ? sample->inputs[i].dtype : DType::kFloat32});
  }
  for (const json& shape : output_shapes) {
    one.outputs.push_back({.shape = shape.get<Shape>(), .dtype = DType::kFloat32});
  }
  for (const auto& [name, value] : attrs.items()) {
    one.attrs[name == "perm" ? "input_perm" : name] = AttrFrom(value);
  }
  return one;
}

Strategy StrategyFrom(const json& entries) {
  return entries.get<Strategy>();
}

json MapOf(const TensorLayout& layout) {
  json map = json::array();
  for (const std::vector<std::int64_t>& axes : layout.tensor_map) {
    if (axes.size() == 1) {
      map.push_back(axes.front());
    } else if (axes.empty()) {
      map.push_back(-1);
    } else {
      map.push_back(axes);
    }
  }
  return map;
}

GroupPattern MirrorGroup(const OpEntry& entry, const OpSharding& sharding, std::size_t input) {
  const std::string position = std::to_string(input);
  const bool may =
      entry.mirrored.empty() || entry.mirrored.find(position) != std::string_view::npos;
  return may ? ReplicaPattern(sharding.inputs[input]) : GroupPattern{};
}

std::vector<std::string> AttrTexts(const Graph& graph, std::string_view op, std::string_view name,
                                   std::int64_t position) {
  std::vector<std::string> texts;
  for (const Node& node : graph.nodes) {
    const auto it = node.attrs.find(name);
    if (node.op == op && it != node.attrs.end()) {
      texts.push_back(AttrText(ResolveAttr(it->second, position)));
    }
  }
  return texts;
}

std::string TestName(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    c = plain ? c : '_';
  }
  return text;
}

}  // namespace drydock::strategies::cases
