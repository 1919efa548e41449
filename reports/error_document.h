#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What --json prints where there is no summary to print. The members are described by the `Fields`
/// table (reports/field_table.h).
namespace drydock::reports {

struct ErrorDocument {
  std::string schema = "drydock.error/1";
  std::int64_t status = 0;
  std::string code = {};
  std::string message = {};
  std::string hint = {};
  std::vector<std::string> notes = {};

  static constexpr std::string_view kTypeName = "ErrorDocument";
  static constexpr std::string_view kMeaning =
      "Printed by --json instead of a summary if the command ends before there is one.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &ErrorDocument::schema, "Format of this document.", {"drydock.error/1"});
    field("status", &ErrorDocument::status, "Exit status: 2, 3 or 5.");
    field("code", &ErrorDocument::code, "Stable name: `USAGE`, `NO_SCRIPT`, `LOG_DIR`, ...");
    field("message", &ErrorDocument::message, "What is wrong, with the values.");
    field("hint", &ErrorDocument::hint, "What would work; may be empty.");
    field("notes", &ErrorDocument::notes, "Context, innermost first.");
  }
};

}  // namespace drydock::reports
