#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace drydock::reports {

/// Checks a document against the part of JSON Schema 2020-12 that our schemas use (type, required,
/// properties, items, enum, $ref into $defs) and gives the complaints; a keyword it does not know
/// is a complaint as well. So is a field that the schema does not know: readers of a schema must
/// bear those, but no report has one.
[[nodiscard]] std::vector<std::string> SchemaComplaints(const nlohmann::json& schema,
                                                        const nlohmann::json& document);

}  // namespace drydock::reports
