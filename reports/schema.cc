#include "reports/schema.h"

namespace drydock::reports {
namespace {

void WriteItemSchema(JsonWriter& writer, const FieldFacts& field) {
  if (!field.object_name.empty()) {
    writer.Key("$ref");
    writer.Text("#/$defs/" + field.object_name);
    return;
  }
  writer.Key("type");
  writer.Text(field.json_type);
  if (!field.allowed.empty()) {
    writer.Key("enum");
    writer.BeginArray(true);
    for (const std::string& text : field.allowed) {
      writer.Text(text);
    }
    writer.EndArray();
  }
}

void WriteFieldSchema(JsonWriter& writer, const FieldFacts& field) {
  writer.Key(field.name);
  writer.BeginObject();
  writer.Key("description");
  writer.Text(field.doc);
  if (field.list) {
    writer.Key("type");
    writer.Text("array");
    writer.Key("items");
    writer.BeginObject(true);
    WriteItemSchema(writer, field);
    writer.EndObject();
  } else {
    WriteItemSchema(writer, field);
  }
  writer.EndObject();
}

void WriteTypeSchema(JsonWriter& writer, const TypeFacts& type) {
  writer.Key("description");
  writer.Text(type.meaning);
  writer.Key("type");
  writer.Text("object");
  writer.Key("required");
  writer.BeginArray(true);
  for (const FieldFacts& field : type.fields) {
    if (!field.optional) {
      writer.Text(field.name);
    }
  }
  writer.EndArray();
  writer.Key("properties");
  writer.BeginObject();
  for (const FieldFacts& field : type.fields) {
    WriteFieldSchema(writer, field);
  }
  writer.EndObject();
}

std::string FieldTypeText(const FieldFacts& field) {
  const std::string item = field.object_name.empty() ? field.json_type : field.object_name;
  return (field.list ? "list of " + item : item) + (field.optional ? ", optional" : "");
}

}  // namespace

std::string SchemaText(std::string_view file_name, const std::vector<TypeFacts>& types) {
  JsonWriter writer;
  writer.BeginObject();
  writer.Key("$schema");
  writer.Text("https://json-schema.org/draft/2020-12/schema");
  writer.Key("$id");
  writer.Text(file_name);
  WriteTypeSchema(writer, types.front());
  writer.Key("$defs");
  writer.BeginObject();
  for (std::size_t i = 1; i < types.size(); ++i) {
    writer.Key(types[i].name);
    writer.BeginObject();
    WriteTypeSchema(writer, types[i]);
    writer.EndObject();
  }
  writer.EndObject();
  writer.EndObject();
  return std::move(writer).Take();
}

std::string FieldsMarkdown(const std::vector<TypeFacts>& types) {
  std::string text;
  for (const TypeFacts& type : types) {
    text += "### " + type.name + "\n\n" + type.meaning +
            "\n\n| field | type | meaning |\n|---|---|---|\n";
    for (const FieldFacts& field : type.fields) {
      text += "| `" + field.name + "` | " + FieldTypeText(field) + " | " + field.doc;
      for (std::size_t i = 0; i < field.allowed.size(); ++i) {
        text += (i == 0 ? " One of `" : ", `") + field.allowed[i] + "`";
      }
      text += field.allowed.empty() ? " |\n" : ". |\n";
    }
    text += "\n";
  }
  return text;
}

}  // namespace drydock::reports
