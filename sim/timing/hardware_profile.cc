#include "sim/timing/hardware_profile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "strategies/document/json_fields.h"

/// Profiles of devices.
///
/// A profile is worth as much as its numbers, so each of them stands in the file with where it
/// comes from: {"value": 3.12e14, "origin": "vendor", "source": "NVIDIA A100 data sheet"}. What is
/// assumed is said to be assumed, and reports repeat it. A number outside of what any machine has
/// is refused: it is a slip of units (GB for bytes), and times that rest on it would look
/// plausible.
namespace drydock::sim {
namespace {

using strategies::FailAtJson;
using strategies::JsonKind;
using strategies::JsonView;
using strategies::ObjectReader;

constexpr std::array<std::string_view, kPeakTypeCount> kPeakTypeNames = {
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"};
constexpr std::array<std::string_view, kEfficiencyKindCount> kEfficiencyNames = {
    "product", "attention", "vector", "movement"};
constexpr std::array<std::string_view, 4> kOrigins = {"vendor", "measured", "fitted", "assumed"};
constexpr std::array<std::string_view, kCollectiveAlgorithmCount> kAlgorithmNames = {
    "ring", "tree", "halving_doubling", "direct", "in_network", "hierarchical"};
constexpr std::size_t kMostPoints = 64;
constexpr std::size_t kMostLevels = 8;
constexpr std::size_t kMostTextBytes = 1000;

/// What a number may be; everything that exists lies well inside.
struct Bounds {
  double least = 0;
  double most = 0;
  std::string_view unit = {};
};
constexpr Bounds kFlopsBounds = {1e6, 1e18, "operations per second"};
constexpr Bounds kBandwidthBounds = {1e6, 1e15, "bytes per second"};
constexpr Bounds kMemoryBounds = {1 << 20, 1LL << 44, "bytes"};
constexpr Bounds kBufferBounds = {0, 1LL << 40, "bytes"};
constexpr Bounds kSecondsBounds = {0, 1, "seconds"};
constexpr Bounds kShareBounds = {0, 1, "(a share)"};
constexpr Bounds kEfficiencyBounds = {1e-4, 1, "(a share)"};
constexpr Bounds kCountBounds = {1, 1 << 24, "devices"};
constexpr Bounds kLevelBounds = {0, 1 << 24, "devices"};
constexpr Bounds kFactorBounds = {1, 1000, "(a factor)"};
constexpr Bounds kSizeBounds = {1e-3, 1e21, "(operations or bytes)"};

std::string NumberText(double number) {
  std::string text;
  strategies::AppendJsonFloat(text, number);
  return text;
}

Status CheckBounds(JsonView where, const std::string& what, double number, const Bounds& bounds) {
  if (number >= bounds.least && number <= bounds.most) {  // Never true of NaN.
    return {};
  }
  return FailAtJson(where, "hardware:absurd-number", "'" + what + "' is " + NumberText(number),
                    "give between " + NumberText(bounds.least) + " and " + NumberText(bounds.most) +
                        " " + std::string(bounds.unit) + "; profiles use SI units, not GB or us");
}

Result<std::string> ShortText(JsonView value, const std::string& what) {
  DRYDOCK_TRY(std::string text, strategies::ReadJsonText(value, what));
  if (text.empty() || text.size() > kMostTextBytes) {
    return FailAtJson(value, "hardware:bad-text", "'" + what + "' is empty or too long",
                      "write one sentence");
  }
  return text;
}

Result<std::string> OneOf(JsonView value, const std::string& what,
                          std::span<const std::string_view> choices) {
  DRYDOCK_TRY(std::string text, ShortText(value, what));
  if (std::ranges::find(choices, text) != choices.end()) {
    return text;
  }
  std::string all;
  for (const std::string_view choice : choices) {
    all += (all.empty() ? "\"" : ", \"") + std::string(choice) + "\"";
  }
  return FailAtJson(value, "hardware:unknown-word", "'" + what + "' is '" + text + "'",
                    "use one of " + all);
}

/// Reads the numbers of one profile and keeps where they come from.
class ProfileReader {
 public:
  Result<HardwareProfile> Read(JsonView document) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(document, "hardware profile"));
    DRYDOCK_RETURN_IF_ERROR(ReadHead(object));
    DRYDOCK_RETURN_IF_ERROR(ReadPeaks(object));
    DRYDOCK_RETURN_IF_ERROR(ReadDevice(object));
    DRYDOCK_RETURN_IF_ERROR(ReadEfficiencies(object));
    DRYDOCK_RETURN_IF_ERROR(ReadLevels(object));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    DRYDOCK_RETURN_IF_ERROR(CheckWhole(document));
    return std::move(profile_);
  }

 private:
  Status ReadHead(ObjectReader& object) {
    DRYDOCK_TRY(const JsonView schema, object.Require("schema"));
    constexpr std::array<std::string_view, 1> kSchemas = {"drydock.hardware/1"};
    DRYDOCK_RETURN_IF_ERROR(Dropped(OneOf(schema, "schema", kSchemas)));
    DRYDOCK_TRY(const JsonView name, object.Require("name"));
    DRYDOCK_TRY(profile_.name, ShortText(name, "name"));
    DRYDOCK_TRY(const JsonView description, object.Require("description"));
    DRYDOCK_TRY(profile_.description, ShortText(description, "description"));
    return {};
  }

  static Status Dropped(const Result<std::string>& result) {
    return result ? Status() : Status(tl::unexpected(result.error()));
  }

  Status ReadPeaks(ObjectReader& object) {
    DRYDOCK_TRY(const JsonView value, object.Require("peak_flops"));
    DRYDOCK_TRY(ObjectReader peaks, ObjectReader::Make(value, "peak_flops"));
    bool any = false;
    for (std::size_t i = 0; i < kPeakTypeCount; ++i) {
      const std::optional<JsonView> peak = peaks.Find(kPeakTypeNames[i]);
      if (peak) {
        const std::string what = "peak_flops." + std::string(kPeakTypeNames[i]);
        DRYDOCK_TRY(profile_.peak_flops[i], Number(*peak, what, kFlopsBounds));
        any = true;
      }
    }
    DRYDOCK_RETURN_IF_ERROR(peaks.Finish());
    return any ? Status()
               : FailAtJson(value, "hardware:no-peak", "'peak_flops' names no type",
                            "give at least \"fp32\"");
  }

  Status ReadDevice(ObjectReader& object) {
    DRYDOCK_TRY(profile_.vector_flops, Required(object, "vector_flops", kFlopsBounds));
    DRYDOCK_TRY(profile_.memory_bytes, Whole(object, "memory_bytes", kMemoryBounds));
    DRYDOCK_TRY(profile_.usable_bytes, Whole(object, "usable_bytes", kMemoryBounds));
    DRYDOCK_TRY(profile_.memory_bytes_per_second,
                Required(object, "memory_bytes_per_second", kBandwidthBounds));
    DRYDOCK_TRY(profile_.kernel_launch_seconds,
                Required(object, "kernel_launch_seconds", kSecondsBounds));
    DRYDOCK_TRY(profile_.collective_launch_seconds,
                Required(object, "collective_launch_seconds", kSecondsBounds));
    DRYDOCK_TRY(profile_.devices_per_node, Whole(object, "devices_per_node", kCountBounds));
    DRYDOCK_TRY(profile_.level_overlap, Required(object, "level_overlap", kShareBounds));
    DRYDOCK_TRY(profile_.overlap_slowdown, Required(object, "overlap_slowdown", kShareBounds));
    DRYDOCK_TRY(profile_.communicator_bytes, Whole(object, "communicator_bytes", kBufferBounds));
    DRYDOCK_TRY(profile_.context_bytes, Whole(object, "context_bytes", kBufferBounds));
    return {};
  }

  Status ReadEfficiencies(ObjectReader& object) {
    DRYDOCK_TRY(const JsonView value, object.Require("efficiency"));
    DRYDOCK_TRY(ObjectReader kinds, ObjectReader::Make(value, "efficiency"));
    for (std::size_t i = 0; i < kEfficiencyKindCount; ++i) {
      DRYDOCK_TRY(const JsonView curve, kinds.Require(kEfficiencyNames[i]));
      DRYDOCK_TRY(profile_.efficiency[i],
                  Curve(curve, "efficiency." + std::string(kEfficiencyNames[i])));
    }
    return kinds.Finish();
  }

  /// {"points": [[size, efficiency], ...], "origin": .., "source": ..}
  Result<EfficiencyCurve> Curve(JsonView value, const std::string& what) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, what));
    DRYDOCK_TRY(const JsonView list, object.Require("points"));
    DRYDOCK_TRY(const std::vector<JsonView> points, strategies::ReadJsonList(list, "points"));
    if (points.empty() || points.size() > kMostPoints) {
      return FailAtJson(list, "hardware:bad-curve", "'" + what + "' has no points, or too many",
                        "give 1 to " + std::to_string(kMostPoints) + " pairs [size, efficiency]");
    }
    EfficiencyCurve curve;
    for (const JsonView& point : points) {
      DRYDOCK_TRY(const EfficiencyCurve::Point next, CurvePoint(point, what));
      if (!curve.points.empty() && next.size <= curve.points.back().size) {
        return FailAtJson(point, "hardware:bad-curve", "sizes of '" + what + "' do not ascend",
                          "sort the points by size");
      }
      curve.points.push_back(next);
    }
    DRYDOCK_RETURN_IF_ERROR(Source(object, what));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    return curve;
  }

  static Result<EfficiencyCurve::Point> CurvePoint(JsonView value, const std::string& what) {
    DRYDOCK_TRY(const std::vector<JsonView> pair, strategies::ReadJsonList(value, what));
    if (pair.size() != 2) {
      return FailAtJson(value, "hardware:bad-curve", "a point of '" + what + "' is not a pair",
                        "write [size, efficiency]");
    }
    EfficiencyCurve::Point point;
    DRYDOCK_TRY(point.size, strategies::ReadJsonFloat(pair[0], what));
    DRYDOCK_TRY(point.efficiency, strategies::ReadJsonFloat(pair[1], what));
    DRYDOCK_RETURN_IF_ERROR(CheckBounds(pair[0], what, point.size, kSizeBounds));
    DRYDOCK_RETURN_IF_ERROR(CheckBounds(pair[1], what, point.efficiency, kEfficiencyBounds));
    return point;
  }

  Status ReadLevels(ObjectReader& object) {
    DRYDOCK_TRY(const JsonView value, object.Require("levels"));
    DRYDOCK_TRY(const std::vector<JsonView> levels, strategies::ReadJsonList(value, "levels"));
    if (levels.empty() || levels.size() > kMostLevels) {
      return FailAtJson(value, "hardware:no-levels",
                        "the profile has no network levels, or too many",
                        "give 1 to " + std::to_string(kMostLevels) + " levels, inside out");
    }
    for (const JsonView& level : levels) {
      DRYDOCK_TRY(NetworkLevel next, Level(level));
      if (!profile_.levels.empty()) {
        DRYDOCK_RETURN_IF_ERROR(CheckNested(level, profile_.levels.back(), next));
      }
      profile_.levels.push_back(std::move(next));
    }
    return profile_.levels.back().devices == 0
               ? Status()
               : FailAtJson(levels.back(), "hardware:open-levels",
                            "the outermost level does not hold all devices",
                            "give the last level \"devices\": {\"value\": 0, ...}");
  }

  static Status CheckNested(JsonView where, const NetworkLevel& inner, const NetworkLevel& outer) {
    const bool nested = inner.devices > 0 &&
                        (outer.devices == 0 ||
                         (outer.devices > inner.devices && outer.devices % inner.devices == 0));
    return nested ? Status()
                  : FailAtJson(where, "hardware:levels-not-nested",
                               "level '" + outer.name + "' of " + std::to_string(outer.devices) +
                                   " devices does not hold whole units of '" + inner.name + "' (" +
                                   std::to_string(inner.devices) + ")",
                               "list levels inside out, each a multiple of the one before, the "
                               "last one 0 (all devices)");
  }

  Result<NetworkLevel> Level(JsonView value) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "level"));
    NetworkLevel level;
    DRYDOCK_TRY(const JsonView name, object.Require("name"));
    DRYDOCK_TRY(level.name, ShortText(name, "name"));
    prefix_ = "levels." + level.name + ".";
    DRYDOCK_TRY(const JsonView wiring, object.Require("wiring"));
    DRYDOCK_TRY(const std::string word, OneOf(wiring, prefix_ + "wiring", kWiringNames));
    level.wiring =
        static_cast<Wiring>(std::ranges::find(kWiringNames, word) - kWiringNames.begin());
    DRYDOCK_TRY(level.devices, Whole(object, "devices", kLevelBounds));
    DRYDOCK_TRY(level.bytes_per_second, Required(object, "bytes_per_second", kBandwidthBounds));
    DRYDOCK_TRY(level.efficiency, Required(object, "efficiency", kEfficiencyBounds));
    DRYDOCK_TRY(level.latency_seconds, Required(object, "latency_seconds", kSecondsBounds));
    DRYDOCK_TRY(level.oversubscription, Required(object, "oversubscription", kFactorBounds));
    DRYDOCK_RETURN_IF_ERROR(ReadAlgorithms(object, level));
    return FinishLevel(object, std::move(level));
  }

  Status ReadAlgorithms(ObjectReader& object, NetworkLevel& level) {
    constexpr std::span kLibrary = std::span(kAlgorithmNames).first(kCollectiveAlgorithmCount - 1);
    DRYDOCK_TRY(const JsonView value, object.Require("algorithms"));
    DRYDOCK_TRY(const std::vector<JsonView> list, strategies::ReadJsonList(value, "algorithms"));
    for (const JsonView& item : list) {
      DRYDOCK_TRY(const std::string word, OneOf(item, prefix_ + "algorithms", kLibrary));
      level.algorithms.push_back(
          static_cast<CollectiveAlgorithm>(std::ranges::find(kLibrary, word) - kLibrary.begin()));
    }
    return level.algorithms.empty() || list.size() > kCollectiveAlgorithmCount
               ? Status(FailAtJson(value, "hardware:no-algorithms",
                                   "'" + prefix_ + "algorithms' is empty or too long",
                                   "name what the library uses, for instance [\"ring\"]"))
               : Status();
  }

  Result<NetworkLevel> FinishLevel(ObjectReader& object, NetworkLevel level) {
    const auto& algorithms = level.algorithms;
    if (std::ranges::find(algorithms, CollectiveAlgorithm::kInNetwork) != algorithms.end()) {
      DRYDOCK_TRY(level.reduce_bytes_per_second,
                  Required(object, "reduce_bytes_per_second", kBandwidthBounds));
      DRYDOCK_TRY(level.reduce_latency_seconds,
                  Required(object, "reduce_latency_seconds", kSecondsBounds));
    }
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    prefix_.clear();
    return level;
  }

  Result<double> Required(ObjectReader& object, std::string_view name, const Bounds& bounds) {
    DRYDOCK_TRY(const JsonView value, object.Require(name));
    return Number(value, prefix_ + std::string(name), bounds);
  }

  Result<std::int64_t> Whole(ObjectReader& object, std::string_view name, const Bounds& bounds) {
    DRYDOCK_TRY(const JsonView value, object.Require(name));
    DRYDOCK_TRY(const double number, Number(value, prefix_ + std::string(name), bounds));
    if (number != std::floor(number)) {
      return FailAtJson(value, "hardware:not-whole",
                        "'" + prefix_ + std::string(name) + "' is " + NumberText(number),
                        "give a whole number");
    }
    return static_cast<std::int64_t>(number);
  }

  /// {"value": .., "origin": .., "source": ..}
  Result<double> Number(JsonView value, const std::string& what, const Bounds& bounds) {
    if (value.kind() != JsonKind::kObject) {
      return FailAtJson(value, "hardware:no-source", "'" + what + "' is a bare value",
                        "write {\"value\": .., \"origin\": \"measured\", \"source\": \"..\"}");
    }
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, what));
    DRYDOCK_TRY(const JsonView number_view, object.Require("value"));
    DRYDOCK_TRY(const double number, strategies::ReadJsonFloat(number_view, what));
    DRYDOCK_RETURN_IF_ERROR(CheckBounds(number_view, what, number, bounds));
    DRYDOCK_RETURN_IF_ERROR(Source(object, what));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    return number;
  }

  Status Source(ObjectReader& object, const std::string& what) {
    DRYDOCK_TRY(const JsonView origin, object.Require("origin"));
    DRYDOCK_TRY(std::string origin_word, OneOf(origin, what + ".origin", kOrigins));
    DRYDOCK_TRY(const JsonView source, object.Require("source"));
    DRYDOCK_TRY(std::string text, ShortText(source, what + ".source"));
    profile_.sources.push_back(
        {.field = what, .origin = std::move(origin_word), .source = std::move(text)});
    return {};
  }

  [[nodiscard]] Status CheckWhole(JsonView document) const {
    if (profile_.usable_bytes > profile_.memory_bytes) {
      return FailAtJson(document, "hardware:memory", "'usable_bytes' is more than 'memory_bytes'",
                        "give what a framework gets of the memory");
    }
    if (profile_.overlap_slowdown == 1) {
      return FailAtJson(document, "hardware:slowdown", "'overlap_slowdown' of 1 stops computation",
                        "give the share by which it slows down, for instance 0.02");
    }
    return {};
  }

  HardwareProfile profile_ = {};
  std::string prefix_ = {};  ///< "levels.node." while a level is read.
};

}  // namespace

double EfficiencyCurve::At(double size) const {
  if (points.empty()) {
    return 1;
  }
  const auto above = std::ranges::find_if(points, [&](const Point& p) { return p.size >= size; });
  if (above == points.begin()) {
    return points.front().efficiency;
  }
  if (above == points.end()) {
    return points.back().efficiency;
  }
  const Point& below = *(above - 1);
  const double share = std::log(size / below.size) / std::log(above->size / below.size);
  return below.efficiency + share * (above->efficiency - below.efficiency);
}

std::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::string_view PeakTypeName(PeakType type) {
  return kPeakTypeNames[static_cast<std::size_t>(type)];
}

std::string_view EfficiencyKindName(EfficiencyKind kind) {
  return kEfficiencyNames[static_cast<std::size_t>(kind)];
}

double PeakFlops(const HardwareProfile& profile, strategies::DType dtype) {
  const auto peak = [&](PeakType type) {
    return profile.peak_flops[static_cast<std::size_t>(type)];
  };
  const auto first = [&](std::initializer_list<PeakType> types) {
    for (const PeakType type : types) {
      if (peak(type) > 0) {
        return peak(type);
      }
    }
    return *std::ranges::max_element(profile.peak_flops);
  };
  using enum PeakType;
  switch (dtype) {
    case strategies::DType::kInt8:
    case strategies::DType::kUInt8:
    case strategies::DType::kBool:
      return first({kInt8, kFp16, kBf16, kFp32});
    case strategies::DType::kFloat16:
      return first({kFp16, kBf16, kTf32, kFp32});
    case strategies::DType::kBFloat16:
      return first({kBf16, kFp16, kTf32, kFp32});
    case strategies::DType::kFloat64:
    case strategies::DType::kComplex128:
      return first({kFp64, kFp32});
    default:
      return first({kTf32, kFp32, kFp16});
  }
}

Result<HardwareProfile> ReadHardwareProfile(JsonView document) {
  return ProfileReader().Read(document);
}

Result<HardwareProfile> ParseHardwareProfile(std::string_view text, std::string_view file) {
  constexpr strategies::JsonLimits kLimits = {
      .bytes = 1U << 20U, .nesting = 8, .values = 1U << 14U};
  const Result<strategies::JsonReader> reader = strategies::JsonReader::Parse(text, file, kLimits);
  Result<HardwareProfile> profile =
      reader ? ReadHardwareProfile(reader->root()) : tl::unexpected(reader.error());
  if (!profile &&
      (profile.error().hint.empty() || IsCausedBy(profile.error(), DocumentCause::kFields))) {
    profile.error().hint = "docs/timing.md and docs/schema/hardware.schema.json say what there is";
  }
  return profile;
}

Result<HardwareProfile> WithDevicesPerNode(HardwareProfile profile, std::int64_t devices) {
  const std::int64_t before = std::exchange(profile.devices_per_node, devices);
  std::int64_t inner = 1;
  for (NetworkLevel& level : profile.levels) {
    if (level.devices == before && devices > 0) {
      level.devices = devices;
    }
    const bool nested =
        devices > 0 && inner > 0 &&
        (level.devices == 0 || (level.devices >= inner && level.devices % inner == 0));
    if (!nested) {
      return FailInput("hardware:devices-per-node",
                       std::to_string(devices) + " devices in a node do not fit level '" +
                           level.name + "' of hardware '" + profile.name + "'",
                       "use a multiple of what a node's parts hold that divides what holds nodes, "
                       "or a profile of your own");
    }
    inner = level.devices;
  }
  return profile;
}

}  // namespace drydock::sim
