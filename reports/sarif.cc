#include "reports/sarif.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace drydock::reports {
namespace {

using Json = nlohmann::ordered_json;

/// One thing to show at a line.
struct Finding {
  std::string rule = {};
  std::string level = {};  ///< "error", "warning" or "note".
  std::string text = {};
  std::optional<PlaceReport> place = {};
};

std::vector<Finding> FindingsOf(const SummaryReport& summary) {
  std::vector<Finding> findings;
  if (summary.error) {
    std::string text = summary.error->message;
    for (const std::string& note : summary.error->notes) {
      text += "\nnote: " + note;
    }
    if (!summary.error->hint.empty()) {
      text += "\nhint: " + summary.error->hint;
    }
    findings.push_back(
        {.rule = summary.error->reason.empty() ? summary.error->code : summary.error->reason,
         .level = "error",
         .text = std::move(text),
         .place = summary.error->place});
  } else if (summary.verdict != "ok") {
    findings.push_back({.rule = summary.verdict, .level = "error", .text = summary.verdict_text});
  }
  for (const DiagnosticReport& item : summary.diagnostics) {
    findings.push_back({.rule = item.code,
                        .level = item.unsupported ? "warning" : "note",
                        .text = item.text,
                        .place = item.place});
  }
  return findings;
}

std::string RelativePath(const std::string& file, std::string_view root) {
  return !root.empty() && file.starts_with(root) ? file.substr(root.size()) : file;
}

Json ResultOf(const Finding& finding, std::string_view root) {
  Json result = {
      {"ruleId", finding.rule}, {"level", finding.level}, {"message", {{"text", finding.text}}}};
  if (finding.place) {
    Json physical = {{"artifactLocation", {{"uri", RelativePath(finding.place->file, root)}}}};
    if (finding.place->line > 0) {
      physical["region"] = {{"startLine", finding.place->line}};
    }
    result["locations"] = Json::array({{{"physicalLocation", std::move(physical)}}});
  }
  return result;
}

/// Message of a workflow command: percent signs and line breaks are escaped; in properties colons
/// and commas, too.
std::string Escaped(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%') {
      escaped += "%25";
    } else if (c == '\r') {
      escaped += "%0D";
    } else if (c == '\n') {
      escaped += "%0A";
    } else if (property && c == ':') {
      escaped += "%3A";
    } else if (property && c == ',') {
      escaped += "%2C";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Text that may stand in XML: what XML 1.0 does not allow is left out.
std::string XmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        if (byte >= 0x20U || c == '\n' || c == '\t') {
          escaped += c;
        }
    }
  }
  return escaped;
}

}  // namespace

std::string SarifText(const SummaryReport& summary, std::string_view root) {
  Json rules = Json::array();
  Json results = Json::array();
  std::vector<std::string> known;
  for (const Finding& finding : FindingsOf(summary)) {
    if (std::ranges::find(known, finding.rule) == known.end()) {
      known.push_back(finding.rule);
      rules.push_back({{"id", finding.rule}});
    }
    results.push_back(ResultOf(finding, root));
  }
  const Json run = {{"tool",
                     {{"driver",
                       {{"name", "drydock"},
                        {"version", summary.drydock_version},
                        {"rules", std::move(rules)}}}}},
                    {"properties", {{"schema", "drydock.sarif/1"}, {"run", summary.run.id}}},
                    {"results", std::move(results)}};
  const Json document = {{"properties", {{"made_by", "drydock.sarif/1"}}},
                         {"$schema",
                          "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                          "sarif-schema-2.1.0.json"},
                         {"version", "2.1.0"},
                         {"runs", Json::array({run})}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string GithubAnnotations(const SummaryReport& summary, std::string_view root) {
  std::string text;
  for (const Finding& finding : FindingsOf(summary)) {
    text += "::" + (finding.level == "note" ? std::string("notice") : finding.level) + " ";
    if (finding.place) {
      text += "file=" + Escaped(RelativePath(finding.place->file, root), true) + ",";
      if (finding.place->line > 0) {
        text += "line=" + std::to_string(finding.place->line) + ",";
      }
    }
    text += "title=" + Escaped("drydock " + finding.rule, true) +
            "::" + Escaped(finding.text, false) + "\n";
  }
  return text;
}

std::string JunitText(const std::vector<CheckedScript>& scripts) {
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string cases;
  for (const CheckedScript& script : scripts) {
    cases += "    <testcase classname=\"drydock\" name=\"" + XmlText(script.script) + "\" file=\"" +
             XmlText(script.script) + "\"";
    if (!script.failed) {
      cases += "/>\n";
      continue;
    }
    const bool rejected = script.verdict != "unsupported" && script.verdict != "refused";
    (rejected ? failures : errors) += 1;
    const std::string tag = rejected ? "failure" : "error";
    std::string text = script.place.empty() ? "" : script.place + ": ";
    text += script.text + (script.hint.empty() ? "" : "\nhint: " + script.hint);
    cases += ">\n      <" + tag + " type=\"" + XmlText(script.verdict) + "\" message=\"" +
             XmlText(script.text) + "\">" + XmlText(text) + "</" + tag + ">\n    </testcase>\n";
  }
  const std::string counts = "tests=\"" + std::to_string(scripts.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"" + std::to_string(errors) +
                             "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- \"drydock.junit/1\" -->\n<testsuites " +
         counts + ">\n  <testsuite name=\"drydock check\" " + counts + ">\n" + cases +
         "  </testsuite>\n</testsuites>\n";
}

}  // namespace drydock::reports
