#include "sim/calibration/kernel_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sim/calibration/operator_work.h"
#include "sim/calibration/trace_events.h"

/// From a trace to curves.
///
/// An operator of the host has shapes and types of its operands; the kernels it launched have the
/// time. PyTorch joins them by "External id"; MindSpore by a flow that begins inside of the
/// operator and ends where its kernel begins. Each operator is a point: size of the work, share of
/// the peak. Points are put together by powers of four of the size, the median of each being kept.
/// What moves between devices is fitted apart (collective_fit.cc).
namespace drydock::sim {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kBucket = 4;  ///< Ratio of sizes that are taken together.

class KernelFit {
 public:
  KernelFit(Trace trace, const HardwareProfile& profile)
      : events_(std::move(trace.events)), flows_(std::move(trace.flows)), profile_(profile) {}

  Result<TraceFit> Run() {
    JoinFlows();
    Measure();
    fit_.collectives = FitCollectives(events_, profile_);
    return Curves();
  }

 private:
  using Place = std::tuple<std::int64_t, std::int64_t>;

  /// MindSpore: a flow from inside of an operator to the beginning of its kernel.
  void JoinFlows() {
    std::map<std::tuple<Place, double>, std::size_t> kernels;
    std::map<std::tuple<Place, double>, std::size_t> operators;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const TraceEvent& event = events_[i];
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
      TraceEvent& launcher = events_[(--op)->second];
      const bool inside = std::get<0>(op->first) == Place{from.process, from.thread} &&
                          from.begin <= launcher.begin + launcher.length;
      TraceEvent& launched = events_[kernel->second];
      if (inside && !launcher.shapes.empty() && launched.external_id < 0) {
        launcher.external_id = launcher.external_id < 0 ? next++ : launcher.external_id;
        launched.external_id = launcher.external_id;
      }
    }
  }

  /// Time of the kernels of each operator; each operator becomes a point.
  void Measure() {
    std::map<std::int64_t, const TraceEvent*> operators;
    std::map<std::int64_t, double> seconds;
    for (const TraceEvent& event : events_) {
      if (IsTransfer(event)) {
        continue;
      }
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

  void AddPoint(const TraceEvent& event, double seconds) {
    const std::optional<OperatorWork> work = WorkOf(event);
    if (!work) {
      ++fit_.unknown;
      return;
    }
    const bool computes = work->flops > 0;
    const double size = computes ? work->flops : work->bytes;
    const double peak =
        computes ? PeakFlops(profile_, work->dtype) : profile_.memory_bytes_per_second;
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
    const bool curves =
        std::ranges::any_of(fit_.kernels, [](std::int64_t seen) { return seen > 0; });
    if (!curves && fit_.collectives.levels.empty()) {
      return FailInput("calibrate:no-kernels",
                       "no kernel of the trace has shapes, and no collective sizes: " +
                           std::to_string(fit_.without_shapes) + " kernels without, " +
                           std::to_string(fit_.unknown) + " operators whose work is not known",
                       "profile with record_shapes=True");
    }
    return std::move(fit_);
  }

  std::vector<TraceEvent> events_;
  std::map<std::string, std::pair<TraceEvent, TraceEvent>> flows_;
  const HardwareProfile& profile_;
  std::array<std::map<std::int64_t, std::vector<std::pair<double, double>>>, kEfficiencyKindCount>
      points_ = {};
  TraceFit fit_ = {};
};

}  // namespace

Result<TraceFit> FitTrace(std::string_view text, std::string_view file,
                          const HardwareProfile& profile) {
  DRYDOCK_TRY(const strategies::JsonReader reader, strategies::JsonReader::Parse(text, file));
  DRYDOCK_TRY(Trace trace, ReadTrace(reader.root()));
  Result<TraceFit> fit = KernelFit(std::move(trace), profile).Run();
  if (!fit) {
    return tl::unexpected(
        WithPlace(std::move(fit).error(), SourcePlace{.file = std::string(file), .line = 1}));
  }
  return fit;
}

}  // namespace drydock::sim
