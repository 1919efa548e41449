// A hardware profile as text: the inverse of the reader, used where calibration writes a fitted
// profile. Every number is written with its origin and source, so that a fitted file says as much
// of itself as one that comes with the program.

#include "sim/timing/hardware_text.h"

#include <array>
#include <string_view>

#include "strategies/document/json_reader.h"

namespace drydock::sim {
namespace {

class ProfileWriter {
 public:
  explicit ProfileWriter(const HardwareProfile& profile) : profile_(profile) {}

  std::string Run() {
    text_ = "{\n \"schema\": \"drydock.hardware/1\"";
    Text("name", profile_.name);
    Text("description", profile_.description);
    Key("peak_flops");
    text_ += "{";
    bool first = true;
    for (std::size_t i = 0; i < kPeakTypeCount; ++i) {
      if (profile_.peak_flops[i] > 0) {
        const std::string name(PeakTypeName(static_cast<PeakType>(i)));
        text_ += (first ? "\n  \"" : ",\n  \"") + name + "\": ";
        Value(profile_.peak_flops[i], "peak_flops." + name);
        first = false;
      }
    }
    text_ += "}";
    AddDevice();
    AddEfficiencies();
    AddLevels();
    return text_ + "\n}\n";
  }

 private:
  void AddDevice() {
    Number("vector_flops", profile_.vector_flops);
    Number("memory_bytes", static_cast<double>(profile_.memory_bytes));
    Number("usable_bytes", static_cast<double>(profile_.usable_bytes));
    Number("memory_bytes_per_second", profile_.memory_bytes_per_second);
    Number("kernel_launch_seconds", profile_.kernel_launch_seconds);
    Number("collective_launch_seconds", profile_.collective_launch_seconds);
    Number("devices_per_node", static_cast<double>(profile_.devices_per_node));
    Number("level_overlap", profile_.level_overlap);
    Number("overlap_slowdown", profile_.overlap_slowdown);
    Number("communicator_bytes", static_cast<double>(profile_.communicator_bytes));
    Number("context_bytes", static_cast<double>(profile_.context_bytes));
  }

  void AddEfficiencies() {
    Key("efficiency");
    text_ += "{";
    for (std::size_t i = 0; i < kEfficiencyKindCount; ++i) {
      const std::string name(EfficiencyKindName(static_cast<EfficiencyKind>(i)));
      text_ += (i == 0 ? "\n  \"" : ",\n  \"") + name + "\": {\"points\": [";
      bool first = true;
      for (const EfficiencyCurve::Point& point : profile_.efficiency[i].points) {
        text_ += first ? "[" : ", [";
        first = false;
        strategies::AppendJsonFloat(text_, point.size);
        text_ += ", ";
        strategies::AppendJsonFloat(text_, point.efficiency);
        text_ += "]";
      }
      text_ += "]";
      Source("efficiency." + name);
    }
    text_ += "}";
  }

  void AddLevels() {
    Key("levels");
    text_ += "[";
    for (std::size_t l = 0; l < profile_.levels.size(); ++l) {
      text_ += l == 0 ? "\n  {" : ",\n  {";
      AddLevel(profile_.levels[l]);
      text_ += "}";
    }
    text_ += "]";
  }

  void AddLevel(const NetworkLevel& level) {
    text_ += "\"name\": ";
    strategies::AppendJsonText(text_, level.name);
    Text("wiring", std::string(kWiringNames[static_cast<std::size_t>(level.wiring)]));
    Key("algorithms");
    text_ += "[";
    for (std::size_t i = 0; i < level.algorithms.size(); ++i) {
      text_ += i == 0 ? "\"" : ", \"";
      text_ += std::string(CollectiveAlgorithmName(level.algorithms[i])) + "\"";
    }
    text_ += "]";
    prefix_ = "levels." + level.name + ".";
    Number("devices", static_cast<double>(level.devices));
    Number("bytes_per_second", level.bytes_per_second);
    Number("efficiency", level.efficiency);
    Number("latency_seconds", level.latency_seconds);
    Number("oversubscription", level.oversubscription);
    if (level.reduce_bytes_per_second > 0) {
      Number("reduce_bytes_per_second", level.reduce_bytes_per_second);
      Number("reduce_latency_seconds", level.reduce_latency_seconds);
    }
    prefix_.clear();
  }

  void Key(std::string_view name) { text_ += ",\n \"" + std::string(name) + "\": "; }
  void Text(std::string_view name, const std::string& value) {
    Key(name);
    strategies::AppendJsonText(text_, value);
  }
  void Number(std::string_view name, double value) {
    Key(name);
    Value(value, prefix_ + std::string(name));
  }
  void Value(double value, const std::string& field) {
    text_ += "{\"value\": ";
    strategies::AppendJsonFloat(text_, value);
    Source(field);
  }
  /// Ends the object that the number stands in.
  void Source(const std::string& field) {
    for (const NumberSource& source : profile_.sources) {
      if (source.field == field) {
        text_ += ", \"origin\": \"" + source.origin + "\", \"source\": ";
        strategies::AppendJsonText(text_, source.source);
        text_ += "}";
        return;
      }
    }
    text_ += R"(, "origin": "assumed", "source": "not said"})";
  }

  const HardwareProfile& profile_;
  std::string text_ = {};
  std::string prefix_ = {};
};

}  // namespace

std::string HardwareProfileText(const HardwareProfile& profile) {
  return ProfileWriter(profile).Run();
}

}  // namespace drydock::sim
