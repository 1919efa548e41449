#include "tests/reports/schema_check.h"

#include <algorithm>
#include <set>

namespace drydock::reports {
namespace {

using nlohmann::json;

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void Check(const json& schema, const json& value, const std::string& path) {
    static const std::set<std::string> kKnown = {"$schema",     "$id",  "$defs",    "$ref",
                                                 "description", "type", "required", "properties",
                                                 "items",       "enum"};
    for (const auto& [key, unused] : schema.items()) {
      if (!kKnown.contains(key)) {
        Complain(path, "unknown keyword " + key);
      }
    }
    if (schema.contains("$ref")) {
      Check(root_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, path);
    }
    if (schema.contains("type") && !HasType(value, schema["type"])) {
      Complain(path, "is no " + schema["type"].get<std::string>());
      return;
    }
    if (schema.contains("enum") &&
        std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
      Complain(path, "is not one of the allowed values");
    }
    if (value.is_object() && schema.contains("properties")) {
      CheckObject(schema, value, path);
    }
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        Check(schema["items"], value[i], path + "/" + std::to_string(i));
      }
    }
  }

  std::vector<std::string> complaints;

 private:
  static bool HasType(const json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number());
  }

  void CheckObject(const json& schema, const json& value, const std::string& path) {
    for (const json& name : schema.value("required", json::array())) {
      if (!value.contains(name.get<std::string>())) {
        Complain(path, "lacks " + name.get<std::string>());
      }
    }
    for (const auto& [key, item] : value.items()) {
      if (schema["properties"].contains(key)) {
        Check(schema["properties"][key], item, path + "/" + key);
      } else {
        Complain(path, "may not have " + key);
      }
    }
  }

  void Complain(const std::string& path, const std::string& what) {
    complaints.push_back(path + " " + what);
  }

  const json& root_;
};

}  // namespace

std::vector<std::string> SchemaComplaints(const json& schema, const json& document) {
  Checker checker(schema);
  checker.Check(schema, document, "");
  return checker.complaints;
}

}  // namespace drydock::reports
