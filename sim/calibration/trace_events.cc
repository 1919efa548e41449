// From the JSON of two profilers to one form.
//
// Both write Chrome's trace events. Sizes of operands stand at the host's operators ("Input Dims"),
// of collectives at the kernel or the host's "record_param_comms" ("In msg nelems", "Group size",
// "Process Group Ranks"); Ascend's trace has the single transfers of a collective with size and
// kind of link. Times are numbers or texts. Sources: github.com/pytorch/kineto:
// libkineto/src/output_json.cpp, libkineto/include/...CollectiveMetadata; hiascend.com: CANN
// profiling, "communication_statistic";
// mindspore/python/mindspore/profiler/analysis/viewer/ascend_timeline_viewer.py
#include "sim/calibration/trace_events.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "strategies/document/json_fields.h"

namespace drydock::sim {
namespace {

using strategies::JsonKind;
using strategies::JsonView;

using Shape = std::vector<std::int64_t>;

std::optional<JsonView> Member(JsonView object, std::string_view name) {
  if (object.kind() == JsonKind::kObject) {
    for (const auto& [key, value] : object.Members()) {
      if (key.AsText() == name) {
        return value;
      }
    }
  }
  return std::nullopt;
}

std::string TextOf(const std::optional<JsonView>& value) {
  return value && value->kind() == JsonKind::kString ? std::string(value->AsText()) : "";
}

/// A number, or a text that is one: MindSpore writes times as texts.
std::optional<double> NumberOf(const std::optional<JsonView>& value) {
  if (!value) {
    return std::nullopt;
  }
  if (value->kind() == JsonKind::kInt || value->kind() == JsonKind::kFloat) {
    return value->AsFloat();
  }
  const std::string text = TextOf(value);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::int64_t IntOf(const std::optional<JsonView>& value, std::int64_t fallback) {
  const std::optional<double> number = NumberOf(value);
  return number && std::abs(*number) < 9e15 ? static_cast<std::int64_t>(*number) : fallback;
}

/// Extents or ranks.
std::optional<Shape> ShapeOf(JsonView value) {
  if (value.kind() != JsonKind::kArray) {
    return std::nullopt;
  }
  Shape shape;
  for (const JsonView& item : value.Elements()) {
    if (item.kind() != JsonKind::kInt || item.AsInt() < 0 || item.AsInt() > (1LL << 40) ||
        shape.size() > 65536) {
      return std::nullopt;
    }
    shape.push_back(item.AsInt());
  }
  return shape;
}

/// A list that is written as text: "[0, 1, 2]". What is cut off ("[0, 1, ...]") counts as unknown.
Shape ListOf(const std::optional<JsonView>& value) {
  if (!value) {
    return {};
  }
  if (value->kind() == JsonKind::kArray) {
    return ShapeOf(*value).value_or(Shape());
  }
  Shape list;
  const std::string text = TextOf(value);
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    if (*at == '.') {
      return {};
    }
    std::int64_t number = 0;
    const auto [next, code] = std::from_chars(at, end, number);
    if (code == std::errc() && number >= 0 && list.size() < 65536) {
      list.push_back(number);
      at = next;
    } else {
      ++at;
    }
  }
  return list;
}

void ReadTexts(const std::optional<JsonView>& list, std::vector<std::string>& texts) {
  if (list && list->kind() == JsonKind::kArray) {
    for (const JsonView& item : list->Elements()) {
      texts.push_back(TextOf(item));
    }
  }
}

void ReadCollective(JsonView args, TraceCollective& collective) {
  collective.name = TextOf(Member(args, "Collective name"));
  collective.dtype = TextOf(Member(args, "dtype"));
  collective.in_elements = IntOf(Member(args, "In msg nelems"), -1);
  collective.out_elements = IntOf(Member(args, "Out msg nelems"), -1);
  collective.group_size = IntOf(Member(args, "Group size"), -1);
  collective.ranks = ListOf(Member(args, "Process Group Ranks"));
  collective.link = TextOf(Member(args, "link type"));
  collective.link_bytes = NumberOf(Member(args, "size(Byte)")).value_or(0);
}

void ReadArguments(JsonView args, TraceEvent& event) {
  event.external_id = IntOf(Member(args, "External id"), -1);
  const auto dims = Member(args, "Input Dims");
  if (dims && dims->kind() == JsonKind::kArray) {
    for (const JsonView& shape : dims->Elements()) {
      event.shapes.push_back(ShapeOf(shape).value_or(Shape()));
    }
  }
  ReadTexts(Member(args, "Input type"), event.types);
  ReadTexts(Member(args, "Concrete Inputs"), event.values);
  ReadCollective(args, event.collective);
}

std::string IdOf(JsonView item) {
  const auto id = Member(item, "id");
  return id && id->kind() == JsonKind::kString ? std::string(id->AsText())
                                               : std::to_string(IntOf(id, -1));
}

class TraceReader {
 public:
  void Read(JsonView item) {
    const std::string phase = TextOf(Member(item, "ph"));
    TraceEvent event{.process = IntOf(Member(item, "pid"), 0),
                     .thread = IntOf(Member(item, "tid"), 0)};
    const std::optional<double> begin = NumberOf(Member(item, "ts"));
    if (!begin) {
      NameProcess(item, phase, event.process);
      return;
    }
    event.begin = *begin;
    if (phase == "s" || phase == "f") {
      auto& ends = trace_.flows[TextOf(Member(item, "cat")) + ":" + IdOf(item)];
      (phase == "s" ? ends.first : ends.second) = event;
      return;
    }
    const std::optional<double> length = NumberOf(Member(item, "dur"));
    if (phase != "X" || !length || *length < 0) {
      return;
    }
    event.length = *length;
    event.name = TextOf(Member(item, "name"));
    const std::string category = TextOf(Member(item, "cat"));
    event.device =
        category == "kernel" || category == "Kernel" || device_processes_.contains(event.process);
    if (const auto args = Member(item, "args")) {
      ReadArguments(*args, event);
    }
    trace_.events.push_back(std::move(event));
  }

  Trace Take() && { return std::move(trace_); }

 private:
  /// Names of processes stand before their events.
  void NameProcess(JsonView item, const std::string& phase, std::int64_t process) {
    if (phase == "M" && TextOf(Member(item, "name")) == "process_name") {
      const auto args = Member(item, "args");
      const std::string name = args ? TextOf(Member(*args, "name")) : "";
      if (name == "Ascend Hardware" || name == "Communication" || name == "HCCL") {
        device_processes_[process] = true;
      }
    }
  }

  std::map<std::int64_t, bool> device_processes_ = {};
  Trace trace_ = {};
};

}  // namespace

Result<Trace> ReadTrace(JsonView document) {
  std::optional<JsonView> list = Member(document, "traceEvents");
  if (document.kind() == JsonKind::kArray) {
    list = document;
  }
  if (!list || list->kind() != JsonKind::kArray) {
    return strategies::FailAtJson(document, "calibrate:no-trace", "this is no trace",
                                  "give MindSpore's trace_view.json, or what "
                                  "torch.profiler's export_chrome_trace wrote");
  }
  TraceReader reader;
  for (const JsonView& item : list->Elements()) {
    reader.Read(item);
  }
  return std::move(reader).Take();
}

}  // namespace drydock::sim
