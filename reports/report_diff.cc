// Two report folders, figure by figure.
//
// Each report is taken apart into named figures (memory of a stage, of a scope in it; bytes sent by
// kind, phase and scope; seconds of the step and of scopes), and figures of the same name stand
// beside each other. So runs can be compared that differ in anything: script, plan, release,
// device.
#include "reports/report_diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/json_writer.h"
#include "reports/text_table.h"

namespace drydock::reports {
namespace {

/// Named figures in the order in which they are found first.
struct Figures {
  std::vector<std::string> order = {};
  std::map<std::string, std::pair<double, bool>> values = {};  ///< Figure, headline.

  void Add(const std::string& name, double value, bool headline = false) {
    const auto [found, fresh] = values.try_emplace(name, 0, headline);
    found->second.first += value;
    if (fresh) {
      order.push_back(name);
    }
  }
  void Most(const std::string& name, double value, bool headline = false) {
    const auto found = values.find(name);
    if (found == values.end()) {
      Add(name, value, headline);
    } else {
      found->second.first = std::max(found->second.first, value);
    }
  }
};

double Number(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string Text(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const nlohmann::json& List(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kEmpty = nlohmann::json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

/// A report, null if the run did not write it.
Result<nlohmann::json> ReadReport(const std::string& text, const std::string& folder,
                                  const char* name, std::string_view schema) {
  if (text.empty()) {
    return nlohmann::json();
  }
  nlohmann::json document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !Text(document, "schema").starts_with(schema)) {
    Error error = FailInput("Report:unreadable",
                            std::string(name) + " is not a report of schema " + std::string(schema),
                            "give the --log_dir of a finished dry run")
                      .value();
    error.place = SourcePlace{.file = folder + "/" + name};
    return tl::unexpected(std::move(error));
  }
  return document;
}

Figures MemoryFigures(const nlohmann::json& report) {
  Figures figures;
  std::map<std::int64_t, double> peaks;  // by stage: the class with the largest peak speaks for it
  for (const nlohmann::json& one : List(report, "classes")) {
    const auto stage = static_cast<std::int64_t>(Number(one, "stage"));
    const std::string prefix = "stage " + std::to_string(stage);
    const double peak = Number(one, "used_peak_bytes");
    figures.Most(prefix + " peak", peak, true);
    figures.Most(prefix + " with fragments", Number(one, "actual_peak_bytes"), true);
    if (const auto known = peaks.find(stage); known != peaks.end() && known->second >= peak) {
      continue;
    }
    peaks[stage] = peak;
    for (const nlohmann::json& part : List(one, "breakdown")) {
      figures.Most(prefix + ": " + Text(part, "part"), Number(part, "bytes"));
    }
    for (const nlohmann::json& layer : List(one, "by_layer")) {
      figures.Most(prefix + ", " + Text(layer, "scope"), Number(layer, "bytes"));
    }
  }
  return figures;
}

Figures CommunicationFigures(const nlohmann::json& report) {
  Figures figures;
  if (report.is_null()) {
    return figures;
  }
  const auto total = report.find("total");
  figures.Add("sent by a rank", total == report.end() ? 0 : Number(*total, "sent_bytes"), true);
  if (const auto job = report.find("job"); job != report.end()) {
    figures.Add("between nodes, all ranks", Number(*job, "inter_node_bytes"), true);
  }
  for (const char* part : {"by_kind", "by_phase"}) {
    for (const nlohmann::json& one : List(report, part)) {
      figures.Add(Text(one, "key"), Number(one, "sent_bytes"));
    }
  }
  for (const nlohmann::json& one : List(report, "collectives")) {
    const std::string name = Text(one, "operator");
    const std::size_t end = name.rfind('/');
    figures.Add(end == std::string::npos ? "outside of layers" : name.substr(0, end),
                Number(one, "sent_bytes"));
  }
  return figures;
}

Figures TimeFigures(const nlohmann::json& report) {
  Figures figures;
  if (report.is_null()) {
    return figures;
  }
  const double step = Number(report, "step_seconds");
  figures.Add("step", step, true);
  for (const char* share : {"busy_share", "exposed_share", "bubble_share"}) {
    const std::string name = share;
    figures.Add(name.substr(0, name.find('_')), step * Number(report, share));
  }
  for (const nlohmann::json& one : List(report, "scopes")) {
    figures.Add(Text(one, "scope"), Number(one, "seconds"));
  }
  return figures;
}

/// Figures of both runs: those of the second run in its order, then those only the first has.
std::vector<DiffLine> Beside(const Figures& before, const Figures& after) {
  std::vector<DiffLine> lines;
  const auto value = [](const Figures& figures, const std::string& name) {
    const auto found = figures.values.find(name);
    return found == figures.values.end() ? 0 : found->second.first;
  };
  const auto add = [&](const Figures& from, bool only_missing) {
    for (const std::string& name : from.order) {
      if (!only_missing || !after.values.contains(name)) {
        lines.push_back({.name = name,
                         .before = value(before, name),
                         .after = value(after, name),
                         .headline = from.values.at(name).second});
      }
    }
  };
  add(after, false);
  add(before, true);
  return lines;
}

struct Section {
  std::string_view title;
  const std::vector<DiffLine>* lines;
  bool seconds;
};

std::array<Section, 3> SectionsOf(const ReportDiff& diff) {
  return {Section{"memory", &diff.memory, false},
          Section{"communication", &diff.communication, false}, Section{"time", &diff.time, true}};
}

std::string Amount(double value, bool seconds) {
  if (!seconds) {
    return BytesText(static_cast<std::int64_t>(std::clamp(value, -9e18, 9e18)));
  }
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.6f s", value);
  return text.data();
}

std::string Change(const DiffLine& line, bool seconds) {
  const double change = line.after - line.before;
  if (change == 0) {
    return "=";
  }
  std::string text = (change > 0 ? "+" : "-") + Amount(std::abs(change), seconds);
  if (line.before > 0) {
    std::array<char, 32> percent = {};
    std::snprintf(percent.data(), percent.size(), " (%+.1f %%)", 100 * change / line.before);
    text += percent.data();
  }
  return text;
}

std::string SectionText(const Section& section, std::size_t most) {
  std::vector<const DiffLine*> changed;
  std::vector<const DiffLine*> shown;
  for (const DiffLine& line : *section.lines) {
    if (line.headline) {
      shown.push_back(&line);
    } else if (line.before != line.after) {
      changed.push_back(&line);
    }
  }
  std::ranges::stable_sort(changed, std::ranges::greater{}, [](const DiffLine* line) {
    return std::abs(line->after - line->before);
  });
  const std::size_t left = changed.size() > most ? changed.size() - most : 0;
  changed.resize(changed.size() - left);
  shown.insert(shown.end(), changed.begin(), changed.end());
  std::vector<std::vector<std::string>> rows;
  rows.reserve(shown.size());
  for (const DiffLine* line : shown) {
    rows.push_back({FitText(line->name, 60), Amount(line->before, section.seconds),
                    Amount(line->after, section.seconds), Change(*line, section.seconds)});
  }
  std::string text = std::string(section.title) + "\n";
  for (const std::string& line : TableLines(rows, {false, true, true, true}, 2)) {
    text += line + "\n";
  }
  return text + (left > 0 ? "  and " + std::to_string(left) + " more that changed less\n" : "");
}

}  // namespace

Result<ReportDiff> DiffReports(const ReportTexts& before, const ReportTexts& after) {
  ReportDiff diff{.before_folder = before.folder, .after_folder = after.folder};
  const auto beside =
      [&](std::string ReportTexts::*text, const char* name, std::string_view schema,
          Figures (*figures)(const nlohmann::json&)) -> Result<std::vector<DiffLine>> {
    DRYDOCK_TRY(const nlohmann::json first, ReadReport(before.*text, before.folder, name, schema));
    DRYDOCK_TRY(const nlohmann::json second, ReadReport(after.*text, after.folder, name, schema));
    if (first.is_null() || second.is_null()) {
      return std::vector<DiffLine>();  // what one run did not look at cannot be compared
    }
    return Beside(figures(first), figures(second));
  };
  DRYDOCK_TRY(diff.memory,
              beside(&ReportTexts::memory, "memory.json", "drydock.memory/", MemoryFigures));
  DRYDOCK_TRY(diff.communication, beside(&ReportTexts::communication, "communication.json",
                                         "drydock.communication/", CommunicationFigures));
  DRYDOCK_TRY(diff.time,
              beside(&ReportTexts::timeline, "timeline.json", "drydock.timeline/", TimeFigures));
  return diff;
}

bool IsRegression(const ReportDiff& diff, double tolerance) {
  const auto worse = [tolerance](const DiffLine& line) {
    return line.headline && line.after > line.before * (1 + tolerance);
  };
  return std::ranges::any_of(diff.memory, worse) ||
         std::ranges::any_of(diff.communication, worse) || std::ranges::any_of(diff.time, worse);
}

std::string DiffText(const ReportDiff& diff, std::size_t most) {
  std::string text = diff.before_folder + " -> " + diff.after_folder + "\n";
  for (const Section& section : SectionsOf(diff)) {
    if (!section.lines->empty()) {
      text += SectionText(section, most);
    }
  }
  return text;
}

std::string DiffJson(const ReportDiff& diff) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema");
  json.Text("drydock.diff/1");
  for (const Section& section : SectionsOf(diff)) {
    json.Key(section.title);
    json.BeginArray();
    for (const DiffLine& line : *section.lines) {
      if (!line.headline && line.before == line.after) {
        continue;
      }
      json.BeginObject(true);
      json.Key("name");
      json.Text(line.name);
      json.Key("before");
      json.Number(line.before);
      json.Key("after");
      json.Number(line.after);
      json.Key("headline");
      json.Boolean(line.headline);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace drydock::reports
