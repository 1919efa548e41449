// What the page reads: the JSON reports, packed.
//
// Reports are lists of thousands of objects with equal fields, and most of their text is names of
// operators that share long scopes. Packing is about the form only and knows no field:
//   * a list of objects becomes columns, {"$": length, "c": {field: column}};
//   * a string in a column is its number in one table, which is sorted and keeps of each string
//   only
//     what differs from the one before ("12|Block/up-Linear" after "Default/net/a"; the number is
//     the length of the common beginning);
//   * equal objects in a column (places in a script) are kept once, with a list of their numbers.
// The page unpacks in the same way (reports/web/unpack.js). 11 MB of reports of 10,000 operators
// become 1 MB.
#include "reports/page.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "reports/field_table.h"

namespace drydock::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataMark = "/*DRYDOCK_DATA*/null";
/// Lists of strings from this length on are packed.
constexpr std::size_t kLongList = 8;

class Packer {
 public:
  Json Pack(const Json& value) {
    if (value.is_object()) {
      Json packed = Json::object();
      for (const auto& [key, item] : value.items()) {
        packed[key] = Pack(item);
      }
      return packed;
    }
    return value.is_array() ? PackList(value) : value;
  }

  /// The table of strings; numbers handed out before are positions in it.
  Json Table() const {
    std::vector<std::pair<std::string_view, std::size_t>> sorted;
    for (const auto& [text, number] : numbers_) {
      sorted.emplace_back(text, number);
    }
    std::ranges::sort(sorted);
    Json texts = Json::array();
    Json order = Json::array();
    std::string_view before;
    for (const auto& [text, number] : sorted) {
      std::size_t common = 0;
      while (common < std::min(text.size(), before.size()) && text[common] == before[common]) {
        ++common;
      }
      // Not in the middle of a character.
      while (common > 0 && common < text.size() &&
             (static_cast<unsigned char>(text[common]) & 0xC0U) == 0x80U) {
        --common;
      }
      texts.push_back(std::to_string(Characters(text.substr(0, common))) + "|" +
                      std::string(text.substr(common)));
      order.push_back(number);
      before = text;
    }
    return Json{{"texts", std::move(texts)}, {"order", std::move(order)}};
  }

 private:
  /// Length in JavaScript: characters beyond the first 65,536 count twice.
  static std::size_t Characters(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      count += (byte & 0xC0U) == 0x80U ? 0 : byte >= 0xF0U ? 2 : 1;
    }
    return count;
  }

  std::size_t NumberOf(const std::string& text) {
    return numbers_.emplace(text, numbers_.size()).first->second;
  }

  Json Numbers(const Json& list) {
    Json numbers = Json::array();
    for (const Json& item : list) {
      numbers.push_back(item.is_null() ? Json(-1)
                                       : Json(NumberOf(item.get_ref<const std::string&>())));
    }
    return numbers;
  }

  Json PackList(const Json& list) {
    if (!list.empty() && std::ranges::all_of(list, [](const Json& i) { return i.is_object(); })) {
      return PackObjects(list);
    }
    if (list.size() >= kLongList &&
        std::ranges::all_of(list, [](const Json& i) { return i.is_string(); })) {
      return Json{{"$s", Numbers(list)}};
    }
    Json packed = Json::array();
    for (const Json& item : list) {
      packed.push_back(Pack(item));
    }
    return packed;
  }

  Json PackObjects(const Json& list) {
    Json columns = Json::object();
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const Json& item : list) {
      for (const auto& [key, unused] : item.items()) {
        if (seen.insert(key).second) {
          names.push_back(key);
        }
      }
    }
    for (const std::string& name : names) {
      Json column = Json::array();
      for (const Json& item : list) {
        const auto found = item.find(name);
        column.push_back(found == item.end() ? Json() : *found);
      }
      columns[name] = PackColumn(column);
    }
    return Json{{"$", list.size()}, {"c", std::move(columns)}};
  }

  Json PackColumn(const Json& column) {
    const auto all = [&column](auto is) {
      return std::ranges::all_of(column, [&](const Json& i) { return i.is_null() || is(i); });
    };
    if (all([](const Json& i) { return i.is_string(); })) {
      return Json{{"s", Numbers(column)}};
    }
    if (all([](const Json& i) { return i.is_number() || i.is_boolean(); })) {
      return Json{{"n", column}};
    }
    if (all([](const Json& i) { return i.is_object(); })) {
      return PackObjectColumn(column);
    }
    Json items = Json::array();
    for (const Json& item : column) {
      items.push_back(Pack(item));
    }
    return Json{{"x", std::move(items)}};
  }

  Json PackObjectColumn(const Json& column) {
    std::unordered_map<std::string, std::size_t> known;
    Json distinct = Json::array();
    Json which = Json::array();
    for (const Json& item : column) {
      if (item.is_null()) {
        which.push_back(-1);
        continue;
      }
      const auto [found, added] = known.emplace(item.dump(), distinct.size());
      if (added) {
        distinct.push_back(item);
      }
      which.push_back(found->second);
    }
    return Json{{"o", PackList(distinct)}, {"i", std::move(which)}};
  }

  std::unordered_map<std::string, std::size_t> numbers_ = {};
};

/// A report nests less than ten deep; what nests deeper is none, and would be walked on the stack.
constexpr int kMostDepth = 32;

bool NestsTooDeep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostDepth) {
        return true;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

/// The document; a discarded value if it is none.
Json ParseReport(std::string_view text) {
  return NestsTooDeep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

/// "drydock.memory/1" -> "memory"; empty for anything else.
std::string KindOf(const Json& report) {
  if (!report.is_object() || !report.contains("schema") || !report["schema"].is_string()) {
    return {};
  }
  const std::string schema = report["schema"];
  const std::size_t dot = schema.find('.');
  const std::size_t slash = schema.find('/');
  return dot == std::string::npos || slash == std::string::npos || slash < dot
             ? std::string()
             : schema.substr(dot + 1, slash - dot - 1);
}

/// JSON that may stand in a script element: nothing in a string ends it.
std::string ScriptText(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

/// All ranks' groups by name are as many as ranks; the page does not show them.
void LeaveOutGroups(Json& communication) {
  if (communication.contains("group_patterns")) {
    for (Json& pattern : communication["group_patterns"]) {
      if (pattern.is_object()) {
        pattern.erase("groups");
      }
    }
  }
}

void CollectPlace(const Json& holder, std::vector<PlaceReport>& places) {
  if (!holder.is_object() || !holder.contains("place") || !holder["place"].is_object()) {
    return;
  }
  const Json& place = holder["place"];
  if (place.contains("file") && place["file"].is_string() && place.contains("line") &&
      place["line"].is_number_integer()) {
    places.push_back({.file = place["file"], .line = place["line"].get<std::int64_t>()});
  }
}

}  // namespace

std::vector<PlaceReport> PlacesToShow(std::string_view summary_json) {
  std::vector<PlaceReport> places;
  const Json summary = ParseReport(summary_json);
  if (!summary.is_object()) {
    return places;
  }
  if (summary.contains("error")) {
    CollectPlace(summary["error"], places);
  }
  if (summary.contains("diagnostics")) {
    for (const Json& item : summary["diagnostics"]) {
      CollectPlace(item, places);
    }
  }
  return places;
}

Result<std::string> PageHtml(const std::vector<PageRun>& runs) {
  Packer packer;
  Json list = Json::array();
  for (const PageRun& run : runs) {
    Json packed = {{"name", run.name}};
    for (const std::string& text : run.reports) {
      Json report = ParseReport(text);
      const std::string kind = KindOf(report);
      if (kind.empty()) {
        return Fail(ErrorCode::kInvalidArgument,
                    "a report is not a JSON object that names its schema", "make it again");
      }
      if (kind == "communication") {
        LeaveOutGroups(report);
      }
      packed[kind] = packer.Pack(report);
    }
    Json excerpts = Json::array();
    for (const SourceExcerpt& excerpt : run.excerpts) {
      excerpts.push_back(Json::parse(JsonText(excerpt)));
    }
    packed["excerpts"] = packer.Pack(excerpts);
    list.push_back(std::move(packed));
  }
  const Json data = {{"format", "drydock.page/1"}, {"table", packer.Table()}, {"runs", list}};
  const std::string_view page = PageTemplate();
  const std::size_t mark = page.find(kDataMark);
  DRYDOCK_CHECK(mark != std::string::npos);
  return std::string(page.substr(0, mark)) +
         ScriptText(data.dump(-1, ' ', false, Json::error_handler_t::replace)) +
         std::string(page.substr(mark + kDataMark.size()));
}

}  // namespace drydock::reports
