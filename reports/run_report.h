#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What a report belongs to. The members are described by the `Fields` table
/// (reports/field_table.h).
namespace drydock::reports {

struct RunReport {
  std::string id = {};
  std::string drydock_version = {};
  std::string subject = {};
  std::string subject_sha256 = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> flags = {};
  std::string compat = {};

  static constexpr std::string_view kTypeName = "Run";
  static constexpr std::string_view kMeaning =
      "Which run a file belongs to. All files of a run say the same here.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("id", &RunReport::id,
          "Digest of all that follows, 16 hexadecimal digits; the same run has the same id.");
    field("drydock_version", &RunReport::drydock_version, "Version that wrote this.");
    field("subject", &RunReport::subject, "Script or graph file, as given on the command line.");
    field("subject_sha256", &RunReport::subject_sha256,
          "SHA-256 of that file's contents; empty if it could not be read.");
    field("arguments", &RunReport::arguments, "Arguments of the script.");
    field("flags", &RunReport::flags,
          "Flags that were given, `name=value` by name, without those that only say where or how "
          "results are shown.");
    field("compat", &RunReport::compat, "MindSpore release whose defaults apply.");
  }
};

}  // namespace drydock::reports
