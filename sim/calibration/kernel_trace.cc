#include "sim/calibration/kernel_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "strategies/document/json_fields.h"
#include "strategies/operators/op_entry.h"

/// From a trace to curves.
///
/// Both profilers write Chrome's trace events. An operator of the host has shapes and types of its
/// operands ("Input Dims", "Input type"); the kernels it launched have the time. PyTorch joins them
/// by "External id"; MindSpore by a flow that begins inside of the operator and ends where its
/// kernel begins. What an operator computes is said by the table of operators where it has the same
/// name, with PyTorch's names for products beside it. Each operator is a point: size of the work,
/// share of the peak. Points are put together by powers of four of the size, the median of each
/// being kept. Sources: github.com/pytorch/kineto: libkineto/src/output_json.cpp;
/// mindspore/python/mindspore/profiler/analysis/viewer/ascend_timeline_viewer.py
namespace drydock::sim {
namespace {

using strategies::JsonKind;
using strategies::JsonView;

constexpr double kMicro = 1e-6;
constexpr double kBucket = 4;  ///< Ratio of sizes that are taken together.
constexpr std::size_t kFewest = 1;

using Shape = std::vector<std::int64_t>;

/// An event of the trace, as far as it matters.
struct Event {
  double begin = 0;  ///< Microseconds.
  double length = 0;
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::string name = {};
  std::int64_t external_id = -1;
  std::vector<Shape> shapes = {};
  std::vector<std::string> types = {};
  bool device = false;  ///< A kernel.
};

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

std::optional<Shape> ShapeOf(JsonView value) {
  if (value.kind() != JsonKind::kArray) {
    return std::nullopt;
  }
  Shape shape;
  for (const JsonView& item : value.Elements()) {
    if (item.kind() != JsonKind::kInt || item.AsInt() < 0 || item.AsInt() > (1LL << 40) ||
        shape.size() > 8) {
      return std::nullopt;
    }
    shape.push_back(item.AsInt());
  }
  return shape;
}

std::optional<strategies::DType> TypeNamed(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, strategies::DType>, 10> kNames = {{
      {"float", strategies::DType::kFloat32},
      {"c10::Half", strategies::DType::kFloat16},
      {"c10::BFloat16", strategies::DType::kBFloat16},
      {"double", strategies::DType::kFloat64},
      {"long int", strategies::DType::kInt64},
      {"long", strategies::DType::kInt64},
      {"int", strategies::DType::kInt32},
      {"half", strategies::DType::kFloat16},
      {"DT_BF16", strategies::DType::kBFloat16},
      {"BFloat16", strategies::DType::kBFloat16},
  }};
  const auto* found =
      std::ranges::find(kNames, name, &std::pair<std::string_view, strategies::DType>::first);
  if (found != kNames.end()) {
    return found->second;
  }
  const auto parsed = strategies::ParseDType(name);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

/// Work of one operator.
struct Work {
  EfficiencyKind kind = EfficiencyKind::kVector;
  strategies::DType dtype = strategies::DType::kFloat32;
  double flops = 0;
  double bytes = 0;
};

double Count(const Shape& shape) {
  double count = 1;
  for (const std::int64_t extent : shape) {
    count *= static_cast<double>(extent);
  }
  return count;
}

/// [.., m, k] x [.., k, n]; the second one may be transposed, which the sizes say unless square.
std::optional<double> ProductFlops(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() < 2) {
    return std::nullopt;
  }
  const std::int64_t k = a.back();
  const std::int64_t n =
      b[b.size() - 2] == k ? b.back() : (b.back() == k ? b[b.size() - 2] : std::int64_t{-1});
  return n < 0 ? std::nullopt : std::optional(2 * Count(a) * static_cast<double>(n));
}

/// PyTorch's names of products and where their two factors stand.
std::optional<std::size_t> FirstFactor(std::string_view name) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::matmul" ||
      name == "aten::linear") {
    return 0;
  }
  return name == "aten::addmm" || name == "aten::baddbmm" ? std::optional<std::size_t>(1)
                                                          : std::nullopt;
}

/// "Default/net/MatMul-op3", "aclnnMatmul_..." stay what they are but for scope and number.
std::string_view OperatorOf(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  return name.substr(0, name.rfind("-op"));
}

std::optional<Work> WorkOf(const Event& event) {
  Work work;
  double largest = 0;
  for (std::size_t i = 0; i < event.shapes.size(); ++i) {
    const auto dtype = i < event.types.size() ? TypeNamed(event.types[i]) : std::nullopt;
    if (!dtype || event.shapes[i].empty()) {
      continue;
    }
    if (work.bytes == 0) {
      work.dtype = *dtype;
    }
    const double bytes =
        Count(event.shapes[i]) * static_cast<double>(strategies::DTypeBytes(*dtype));
    work.bytes += bytes;
    largest = std::max(largest, bytes);
  }
  if (work.bytes <= 0) {
    return std::nullopt;
  }
  std::optional<std::size_t> factor = FirstFactor(event.name);
  const strategies::OpEntry* entry = strategies::FindOp(OperatorOf(event.name));
  if (entry != nullptr && entry->work == strategies::WorkKind::kProduct) {
    factor = 0;
  }
  if (factor) {
    if (event.shapes.size() < *factor + 2) {
      return std::nullopt;
    }
    const auto flops = ProductFlops(event.shapes[*factor], event.shapes[*factor + 1]);
    if (!flops) {
      return std::nullopt;
    }
    work.kind = EfficiencyKind::kProduct;
    work.flops = *flops;
    return work;
  }
  if (entry != nullptr && entry->work == strategies::WorkKind::kAttention) {
    return std::nullopt;  // What it computes is not said by the shapes alone.
  }
  const bool moves = (entry != nullptr && entry->flops == strategies::NoFlops) ||
                     event.name == "aten::copy_" || event.name == "aten::clone";
  work.kind = moves ? EfficiencyKind::kMovement : EfficiencyKind::kVector;
  work.bytes += largest;  // The result is as large as the largest operand.
  return work;
}

class TraceReader {
 public:
  TraceReader(std::string_view file, const HardwareProfile& profile)
      : file_(file), profile_(profile) {}

  Result<TraceFit> Run(JsonView document) {
    std::optional<JsonView> list = Member(document, "traceEvents");
    if (document.kind() == JsonKind::kArray) {
      list = document;
    }
    if (!list || list->kind() != JsonKind::kArray) {
      return strategies::FailAtJson(document, "calibrate:no-trace", "this is no trace",
                                    "give MindSpore's trace_view.json, or what "
                                    "torch.profiler's export_chrome_trace wrote");
    }
    for (const JsonView& item : list->Elements()) {
      Read(item);
    }
    JoinFlows();
    Measure();
    Result<TraceFit> fit = Curves();
    if (!fit) {
      fit.error().place = SourcePlace{.file = std::string(file_), .line = 1};
    }
    return fit;
  }

 private:
  using Place = std::tuple<std::int64_t, std::int64_t>;

  void Read(JsonView item) {
    const std::string phase = TextOf(Member(item, "ph"));
    Event event{.process = IntOf(Member(item, "pid"), 0), .thread = IntOf(Member(item, "tid"), 0)};
    const std::optional<double> begin = NumberOf(Member(item, "ts"));
    if (!begin) {
      NameProcess(item, phase, event.process);
      return;
    }
    event.begin = *begin;
    if (phase == "s" || phase == "f") {
      auto& ends = flows_[TextOf(Member(item, "cat")) + ":" + IdOf(item)];
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
    events_.push_back(std::move(event));
  }

  static std::string IdOf(JsonView item) {
    const auto id = Member(item, "id");
    return id && id->kind() == JsonKind::kString ? std::string(id->AsText())
                                                 : std::to_string(IntOf(id, -1));
  }

  /// Names of processes stand before their events.
  void NameProcess(JsonView item, const std::string& phase, std::int64_t process) {
    if (phase == "M" && TextOf(Member(item, "name")) == "process_name") {
      const auto args = Member(item, "args");
      if (args && TextOf(Member(*args, "name")) == "Ascend Hardware") {
        device_processes_[process] = true;
      }
    }
  }

  static void ReadArguments(JsonView args, Event& event) {
    event.external_id = IntOf(Member(args, "External id"), -1);
    const auto dims = Member(args, "Input Dims");
    if (dims && dims->kind() == JsonKind::kArray) {
      for (const JsonView& shape : dims->Elements()) {
        event.shapes.push_back(ShapeOf(shape).value_or(Shape()));
      }
    }
    const auto types = Member(args, "Input type");
    if (types && types->kind() == JsonKind::kArray) {
      for (const JsonView& type : types->Elements()) {
        event.types.push_back(TextOf(type));
      }
    }
  }

  /// MindSpore: a flow from inside of an operator to the beginning of its kernel.
  void JoinFlows() {
    std::map<std::tuple<Place, double>, std::size_t> kernels;
    std::map<std::tuple<Place, double>, std::size_t> operators;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      (event.device ? kernels : operators)[{{event.process, event.thread}, event.begin}] = i;
    }
    std::int64_t next = std::int64_t{1} << 53;
    for (const auto& [id, ends] : flows_) {
      const auto& [from, to] = ends;
      const auto kernel = kernels.find({{to.process, to.thread}, to.begin});
      auto op = operators.upper_bound({{from.process, from.thread}, from.begin});
      if (kernel == kernels.end() || op == operators.begin()) {
        continue;
      }
      Event& launcher = events_[(--op)->second];
      const bool inside = std::get<0>(op->first) == Place{from.process, from.thread} &&
                          from.begin <= launcher.begin + launcher.length;
      Event& launched = events_[kernel->second];
      if (inside && !launcher.shapes.empty() && launched.external_id < 0) {
        launcher.external_id = launcher.external_id < 0 ? next++ : launcher.external_id;
        launched.external_id = launcher.external_id;
      }
    }
  }

  /// Time of the kernels of each operator; each operator becomes a point.
  void Measure() {
    std::map<std::int64_t, const Event*> operators;
    std::map<std::int64_t, double> seconds;
    for (const Event& event : events_) {
      if (event.device) {
        const bool alone = event.external_id < 0;
        if (alone && !event.shapes.empty()) {
          AddPoint(event, event.length * kMicro);
        } else if (alone) {
          ++fit_.without_shapes;
        } else {
          seconds[event.external_id] += event.length * kMicro;
        }
      } else if (event.external_id >= 0 && !event.shapes.empty()) {
        operators[event.external_id] = &event;
      }
    }
    for (const auto& [id, time] : seconds) {
      const auto op = operators.find(id);
      if (op == operators.end()) {
        ++fit_.without_shapes;
      } else {
        AddPoint(*op->second, time);
      }
    }
  }

  void AddPoint(const Event& event, double seconds) {
    const std::optional<Work> work = WorkOf(event);
    if (!work) {
      ++fit_.unknown;
      return;
    }
    const bool product = work->kind == EfficiencyKind::kProduct;
    const double size = product ? work->flops : work->bytes;
    const double peak =
        product ? PeakFlops(profile_, work->dtype) : profile_.memory_bytes_per_second;
    const double net = seconds - profile_.kernel_launch_seconds;
    if (size < 1 || net <= 0) {
      return;
    }
    const auto kind = static_cast<std::size_t>(work->kind);
    const auto bucket = static_cast<std::int64_t>(std::floor(std::log(size) / std::log(kBucket)));
    points_[kind][bucket].emplace_back(size, std::clamp(size / (net * peak), 1e-4, 1.0));
    ++fit_.kernels[kind];
  }

  Result<TraceFit> Curves() {
    for (std::size_t kind = 0; kind < kEfficiencyKindCount; ++kind) {
      for (auto& [bucket, points] : points_[kind]) {
        const auto middle = static_cast<std::ptrdiff_t>(points.size() / 2);
        std::ranges::sort(points, {}, &std::pair<double, double>::second);
        fit_.efficiency[kind].points.push_back(
            {.size = std::pow(kBucket, static_cast<double>(bucket) + 0.5),
             .efficiency = (points.begin() + middle)->second});
      }
    }
    const std::int64_t seen = fit_.kernels[0] + fit_.kernels[2] + fit_.kernels[3];
    if (seen < static_cast<std::int64_t>(kFewest)) {
      return FailInput("calibrate:no-kernels",
                       "no kernel of the trace has shapes: " + std::to_string(fit_.without_shapes) +
                           " kernels without, " + std::to_string(fit_.unknown) +
                           " operators whose work is not known",
                       "profile with record_shapes=True");
    }
    return std::move(fit_);
  }

  std::string_view file_;
  const HardwareProfile& profile_;
  std::map<std::int64_t, bool> device_processes_ = {};
  std::vector<Event> events_ = {};
  std::map<std::string, std::pair<Event, Event>> flows_ = {};
  std::array<std::map<std::int64_t, std::vector<std::pair<double, double>>>, kEfficiencyKindCount>
      points_ = {};
  TraceFit fit_ = {};
};

}  // namespace

Result<TraceFit> FitTrace(std::string_view text, std::string_view file,
                          const HardwareProfile& profile) {
  DRYDOCK_TRY(const strategies::JsonReader reader, strategies::JsonReader::Parse(text, file));
  return TraceReader(file, profile).Run(reader.root());
}

}  // namespace drydock::sim
