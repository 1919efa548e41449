#include "sim/calibration/workspace_table.h"

#include <algorithm>

#include "strategies/document/json_fields.h"

/// A table of workspaces is a list, sorted, so that two of them can be compared as text:
/// {"kernel": "MatMul", "result_bytes": [4608], "workspace_bytes": 16777216, "seen": 12}
namespace drydock::sim {
namespace {

using strategies::FailAtJson;
using strategies::JsonView;
using strategies::ObjectReader;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
constexpr std::string_view kSchema = "drydock.workspace/1";

Result<std::int64_t> Size(JsonView value, std::string_view what) {
  DRYDOCK_TRY(const std::int64_t bytes, strategies::ReadJsonInt(value, what));
  if (bytes < 0 || bytes > kMostBytes) {
    return FailAtJson(value, "workspace:absurd-size",
                      "'" + std::string(what) + "' is " + std::to_string(bytes),
                      "sizes are bytes, from 0 to 2^44");
  }
  return bytes;
}

Status ReadEntry(JsonView value, WorkspaceTable& table) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "kernel"));
  WorkspaceTable::Key key;
  WorkspaceTable::Entry entry;
  DRYDOCK_TRY(const JsonView name, object.Require("kernel"));
  DRYDOCK_TRY(key.kernel, strategies::ReadJsonText(name, "kernel"));
  DRYDOCK_TRY(const JsonView results, object.Require("result_bytes"));
  DRYDOCK_TRY(const std::vector<JsonView> sizes, strategies::ReadJsonList(results, "result_bytes"));
  for (const JsonView& size : sizes) {
    DRYDOCK_TRY(const std::int64_t bytes, Size(size, "result_bytes"));
    key.result_bytes.push_back(bytes);
  }
  DRYDOCK_TRY(const JsonView bytes, object.Require("workspace_bytes"));
  DRYDOCK_TRY(entry.bytes, Size(bytes, "workspace_bytes"));
  DRYDOCK_TRY(const JsonView seen, object.Require("seen"));
  DRYDOCK_TRY(entry.kernels, Size(seen, "seen"));
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  if (!table.entries.emplace(std::move(key), entry).second) {
    return FailAtJson(value, "workspace:twice", "the same kernel is listed twice",
                      "keep one of them");
  }
  return {};
}

Result<WorkspaceTable> ReadTable(JsonView document) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(document, "workspace table"));
  DRYDOCK_TRY(const JsonView schema, object.Require("schema"));
  DRYDOCK_TRY(const std::string schema_text, strategies::ReadJsonText(schema, "schema"));
  if (schema_text != kSchema) {
    return FailAtJson(schema, "workspace:schema",
                      "this is '" + schema_text + "', no table of workspaces",
                      "make one with: drydock calibrate memory_block.csv");
  }
  WorkspaceTable table;
  DRYDOCK_TRY(table.source, strategies::TextField(object, "source", ""));
  DRYDOCK_TRY(const JsonView kernels, object.Require("kernels"));
  DRYDOCK_TRY(const std::vector<JsonView> list, strategies::ReadJsonList(kernels, "kernels"));
  for (const JsonView& entry : list) {
    DRYDOCK_RETURN_IF_ERROR(ReadEntry(entry, table));
  }
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  return table;
}

}  // namespace

std::optional<std::int64_t> WorkspaceTable::Find(const Key& key) const {
  const auto found = entries.find(key);
  return found == entries.end() ? std::nullopt : std::optional(found->second.bytes);
}

std::string WorkspaceTableText(const WorkspaceTable& table) {
  std::string text = "{\n \"schema\": \"" + std::string(kSchema) + "\",\n \"source\": ";
  strategies::AppendJsonText(text, table.source);
  text += ",\n \"kernels\": [";
  bool first = true;
  for (const auto& [key, entry] : table.entries) {
    text += first ? "\n" : ",\n";
    first = false;
    text += "  {\"kernel\": ";
    strategies::AppendJsonText(text, key.kernel);
    text += ", \"result_bytes\": ";
    strategies::AppendJsonInts(text, key.result_bytes);
    text += ", \"workspace_bytes\": " + std::to_string(entry.bytes) +
            ", \"seen\": " + std::to_string(entry.kernels) + "}";
  }
  return text + "\n ]\n}\n";
}

Result<WorkspaceTable> ParseWorkspaceTable(std::string_view text, std::string_view file) {
  const Result<strategies::JsonReader> reader =
      strategies::JsonReader::Parse(text, file, {.nesting = 8});
  Result<WorkspaceTable> table =
      reader ? ReadTable(reader->root()) : tl::unexpected(reader.error());
  // What JSON documents in general ask for is no remedy here.
  if (!table && (table.error().hint.empty() || IsCausedBy(table.error(), DocumentCause::kFields))) {
    table.error().hint = "make one with: drydock calibrate memory_block.csv";
  }
  return table;
}

void MergeWorkspaces(WorkspaceTable& table, const WorkspaceTable& other) {
  table.source += (table.source.empty() ? "" : ", ") + other.source;
  for (const auto& [key, entry] : other.entries) {
    WorkspaceTable::Entry& mine = table.entries[key];
    mine.bytes = std::max(mine.bytes, entry.bytes);
    mine.kernels += entry.kernels;
  }
}

}  // namespace drydock::sim
