#include "reports/schema.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/report_set.h"
#include "tests/reports/dry_run_sample.h"
#include "tests/reports/schema_check.h"
#include "tests/source_dir.h"

namespace drydock::reports {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string PathOf(const std::string& name) {
  return SourceDir() + "/docs/" + name;
}

std::string ReadDoc(const std::string& name) {
  std::ifstream file(PathOf(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `text` of a generated file; with DRYDOCK_UPDATE_GOLDEN=1 the file is rewritten first.
std::string Golden(const std::string& name, const std::string& text) {
  if (const char* update = std::getenv("DRYDOCK_UPDATE_GOLDEN");
      update != nullptr && std::string_view(update) == "1") {
    std::ofstream(PathOf(name), std::ios::binary) << text;
  }
  return ReadDoc(name);
}

json SchemaOf(const std::string& name) {
  for (const ReportFormat& format : ReportFormats()) {
    if (format.name == name) {
      return json::parse(SchemaText(format.schema_file, format.types));
    }
  }
  return {};
}

/// docs/reports.md with the tables of all formats behind its marker line.
std::string WithTables(const std::string& document) {
  const std::string marker = "<!-- fields: written from the tables in reports/ -->\n";
  std::string text = document.substr(0, document.find(marker)) + marker;
  for (const ReportFormat& format : ReportFormats()) {
    text += "\n## " + format.name + "\n\n" + FieldsMarkdown(format.types);
  }
  text.resize(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

class SchemaFile : public testing::TestWithParam<ReportFormat> {};

TEST_P(SchemaFile, IsWhatTheTableSays) {
  const std::string text = SchemaText(GetParam().schema_file, GetParam().types);
  EXPECT_EQ(Golden("schema/" + GetParam().schema_file, text), text)
      << "run with DRYDOCK_UPDATE_GOLDEN=1 and read the difference";
}

INSTANTIATE_TEST_SUITE_P(AllReports, SchemaFile, testing::ValuesIn(ReportFormats()),
                         [](const auto& item) {
                           return item.param.schema_file.substr(0,
                                                                item.param.schema_file.find('.'));
                         });

TEST(ReportsPage, ListsEveryField) {
  const std::string expected = WithTables(ReadDoc("reports.md"));
  EXPECT_EQ(Golden("reports.md", expected), expected)
      << "run with DRYDOCK_UPDATE_GOLDEN=1 and read the difference";
}

TEST(ReportFiles, ValidateAgainstTheirSchemas) {
  sim::DryRunResult result = SampleDryRun();
  result.options.only_rank = RankId{5};
  result.job.diagnostics = {{.code = "operator-without-rule",
                             .text = "one",
                             .first_place = SourcePlace{.file = "a.py", .line = 1}}};
  const std::vector<ReportFile> files = ReportFiles(BuildReports({.subject = "net.py"}, result));
  ASSERT_EQ(files.size(), 3U);
  for (const ReportFile& file : files) {
    const json document = json::parse(file.text);
    EXPECT_THAT(SchemaComplaints(SchemaOf(document.at("schema")), document), ElementsAre())
        << file.name;
  }
}

TEST(ReportFiles, ARejectionValidatesToo) {
  const Error error = {.code = ErrorCode::kInvalidArgument, .message = "no", .notes = {"while"}};
  const std::vector<ReportFile> files =
      ReportFiles(BuildRejectionReports({.subject = "net.py"}, {}, error));
  ASSERT_EQ(files.size(), 1U);
  const json document = json::parse(files[0].text);
  EXPECT_THAT(SchemaComplaints(SchemaOf("drydock.summary/1"), document), ElementsAre());
}

// The check itself must be able to fail.
TEST(SchemaComplaints, FindMissingWrongAndUnknownFields) {
  json document = json::parse(ReportFiles(BuildReports({}, SampleDryRun()))[2].text);
  const json schema = SchemaOf("drydock.memory/1");
  ASSERT_THAT(SchemaComplaints(schema, document), ElementsAre());
  document["fits"] = "yes";
  document["classes"][1].erase("stage");
  document["classes"][0]["peak"]["phase"] = "later";
  document["surprise"] = 1;
  EXPECT_THAT(
      SchemaComplaints(schema, document),
      testing::UnorderedElementsAre("/fits is no boolean", "/classes/1 lacks stage",
                                    "/classes/0/peak/phase is not one of the allowed values",
                                    " may not have surprise"));
}

}  // namespace
}  // namespace drydock::reports
