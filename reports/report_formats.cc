#include <string>
#include <string_view>

#include "reports/error_document.h"
#include "reports/field_table.h"
#include "reports/report_json.h"
#include "reports/schema.h"

namespace drydock::reports {
namespace {

template <Described Report>
ReportFormat FormatOf(std::string_view schema_file) {
  ReportFormat format = {.name = Report{}.schema, .schema_file = std::string(schema_file)};
  CollectTypes<Report>(format.types);
  return format;
}

}  // namespace

std::string ReportJson(const CommunicationReport& report) {
  return JsonText(report);
}
std::string ReportJson(const MemoryReport& report) {
  return JsonText(report);
}
std::string ReportJson(const SummaryReport& report) {
  return JsonText(report);
}
std::string ReportJson(const TimelineReport& report) {
  return JsonText(report);
}
std::string ReportJson(const ProfileReport& report) {
  return JsonText(report);
}
std::string ReportJson(const SpreadReport& report) {
  return JsonText(report);
}

std::vector<ReportFormat> ReportFormats() {
  return {FormatOf<CommunicationReport>("communication.schema.json"),
          FormatOf<ErrorDocument>("error.schema.json"),
          FormatOf<MemoryReport>("memory.schema.json"),
          FormatOf<ProfileReport>("profile.schema.json"),
          FormatOf<SpreadReport>("spread.schema.json"),
          FormatOf<SummaryReport>("summary.schema.json"),
          FormatOf<TimelineReport>("timeline.schema.json")};
}

}  // namespace drydock::reports
