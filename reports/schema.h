#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/field_table.h"

namespace drydock::reports {

/// JSON Schema (2020-12) of the document whose outermost struct is `types.front()`.
///
/// @param file_name  "memory.schema.json": becomes the $id
/// @param types      from CollectTypes
[[nodiscard]] std::string SchemaText(std::string_view file_name,
                                     const std::vector<TypeFacts>& types);

/// The same tables as Markdown, one table per struct; heading level 3.
[[nodiscard]] std::string FieldsMarkdown(const std::vector<TypeFacts>& types);

/// One document that Drydock writes.
struct ReportFormat {
  std::string name = {};         ///< "drydock.memory/1".
  std::string schema_file = {};  ///< "memory.schema.json", in docs/schema.
  std::vector<TypeFacts> types = {};
};

/// Every JSON report, by name.
[[nodiscard]] std::vector<ReportFormat> ReportFormats();

}  // namespace drydock::reports
