#include "reports/lanes.h"

#include <algorithm>

#include "reports/communication_report.h"

namespace drydock::reports {
namespace {

using sim::TimedTask;

/// A step is drawn on about this many columns; gaps below one are not seen.
constexpr double kColumns = 3000;
/// Stretches of all lanes together, about.
constexpr std::size_t kMostStretches = 20000;

class LaneBuilder {
 public:
  LaneBuilder(const sim::DryRunResult& result, double gap_seconds)
      : result_(result), line_(*result.time), gap_seconds_(gap_seconds) {}

  std::vector<LaneReport> Run() {
    for (std::size_t c = 0; c < line_.plan.classes.size(); ++c) {
      AddClass(c);
    }
    std::erase_if(lanes_, [](const LaneReport& lane) { return lane.kernels.empty(); });
    return std::move(lanes_);
  }

 private:
  void AddClass(std::size_t c) {
    const sim::TimedClass& item = line_.plan.classes[c];
    const strategies::LocalProgram& program = result_.job.programs[item.program];
    const sim::TimedProgram& timed = line_.plan.job.programs[c];
    const std::size_t first_lane = lanes_.size();
    for (std::size_t s = 0; s < timed.streams; ++s) {
      lanes_.push_back({.ranks = RankSetText(item.ranks),
                        .stage = ToInt(program.stage),
                        .stream = s == 0 ? "computation" : std::to_string(s)});
    }
    for (std::size_t t = 0; t < timed.tasks.size(); ++t) {
      const TimedTask& task = timed.tasks[t];
      if (task.kind == TimedTask::Kind::kKernel || task.kind == TimedTask::Kind::kTransfer) {
        const std::size_t number = static_cast<std::size_t>(line_.run.first[c]) + t;
        Add(lanes_[first_lane + task.stream], program, task, number);
      }
    }
  }

  void Add(LaneReport& lane, const strategies::LocalProgram& program, const TimedTask& task,
           std::size_t number) const {
    const strategies::KernelNode& node =
        program.kernels.nodes[static_cast<std::size_t>(std::max(task.tag, 0))];
    const std::string phase(node.origin == strategies::kNoNode
                                ? PhaseName(strategies::Phase::kForward)
                                : PhaseName(program.local.at(node.origin).phase));
    const double start = line_.run.start[number];
    const double end = line_.run.end[number];
    if (!lane.kernels.empty() && lane.phase.back() == phase &&
        lane.micro_batch.back() == node.micro && start - lane.end_seconds.back() <= gap_seconds_) {
      lane.end_seconds.back() = std::max(lane.end_seconds.back(), end);
      ++lane.kernels.back();
      return;
    }
    lane.start_seconds.push_back(start);
    lane.end_seconds.push_back(end);
    lane.phase.push_back(phase);
    lane.micro_batch.push_back(node.micro);
    lane.kernels.push_back(1);
  }

  const sim::DryRunResult& result_;
  const sim::TimeLine& line_;
  double gap_seconds_ = 0;
  std::vector<LaneReport> lanes_ = {};
};

}  // namespace

std::vector<LaneReport> BuildLanes(const sim::DryRunResult& result) {
  if (!result.time) {
    return {};
  }
  for (double gap_seconds = result.time->run.seconds / kColumns;; gap_seconds *= 3) {
    std::vector<LaneReport> lanes = LaneBuilder(result, gap_seconds).Run();
    std::size_t stretches = 0;
    for (const LaneReport& lane : lanes) {
      stretches += lane.kernels.size();
    }
    if (stretches <= kMostStretches || gap_seconds >= result.time->run.seconds) {
      return lanes;
    }
  }
}

}  // namespace drydock::reports
