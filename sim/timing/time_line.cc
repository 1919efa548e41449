#include "sim/timing/time_line.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "strategies/graph/dtype.h"
#include "strategies/operators/known_ops.h"

/// What a simulated step means.
///
/// A rank's step is cut in three: computation runs; nothing computes but something is transferred
/// (exposed); neither (bubble: it waits for another stage, or is done before the others). A
/// transfer is exposed for the part of its time in which its rank computes nothing, whoever is to
/// blame. The longest chain goes back from the task that ends last through what each began right
/// behind of; its parts sum to the step. Utilisation counts products and attention as the graph has
/// them, whole sequences squared, once for MFU and with what is recomputed for HFU, over the peak
/// of the type that most of them are done in.
namespace drydock::sim {
namespace {

using strategies::JobProgram;
using strategies::KernelNode;
using strategies::LocalProgram;

/// Times at which the stream of computation of one class is busy.
class BusyTime {
 public:
  void Add(double begin, double end) {
    begins_.push_back(begin);
    ends_.push_back(end);
    before_.push_back(total_);
    total_ += end - begin;
  }
  [[nodiscard]] double total() const { return total_; }
  /// Busy seconds between two times.
  [[nodiscard]] double Between(double from, double to) const { return Until(to) - Until(from); }

 private:
  [[nodiscard]] double Until(double time) const {
    const auto next = std::ranges::upper_bound(begins_, time) - begins_.begin();
    if (next == 0) {
      return 0;
    }
    const auto i = static_cast<std::size_t>(next - 1);
    return before_[i] + std::min(time, ends_[i]) - begins_[i];
  }
  std::vector<double> begins_ = {};
  std::vector<double> ends_ = {};
  std::vector<double> before_ = {};
  double total_ = 0;
};

bool IsMatrix(EfficiencyKind kind) {
  return kind == EfficiencyKind::kProduct || kind == EfficiencyKind::kAttention;
}

class Summary {
 public:
  Summary(const JobProgram& job, TimeLine& line) : job_(job), line_(line) {}

  void Run() {
    for (std::size_t c = 0; c < line_.plan.classes.size(); ++c) {
      AddClass(c);
    }
    for (auto& [key, transfer] : transfers_) {
      line_.transfers.push_back(std::move(transfer));
    }
    for (auto& [op, item] : operators_) {
      line_.operators.push_back(std::move(item));
    }
    for (auto& [scope, item] : scopes_) {
      line_.scopes.push_back(std::move(item));
    }
    const auto slower = [](const auto& a, const auto& b) { return a.seconds > b.seconds; };
    std::ranges::stable_sort(line_.transfers, slower);
    std::ranges::stable_sort(line_.operators, slower);
    std::ranges::stable_sort(line_.scopes, slower);
    FollowPath();
    FindPeak();
    CountSamples();
  }

 private:
  struct Interval {
    double begin = 0;
    double end = 0;
  };

  [[nodiscard]] const LocalProgram& ProgramOf(std::size_t c) const {
    return job_.programs[line_.plan.classes[c].program];
  }

  void AddClass(std::size_t c) {
    const TimedClass& item = line_.plan.classes[c];
    const TimedProgram& program = line_.plan.job.programs[c];
    ClassTime time{.level_bytes = std::vector<double>(line_.hardware.levels.size(), 0)};
    weight_ = static_cast<double>(item.rank_count) / static_cast<double>(job_.config.world_size);
    BusyTime busy;
    std::vector<std::pair<std::size_t, Interval>> transfers;
    std::vector<double> kernels(item.facts.size(), 0);
    std::vector<double> seconds(item.facts.size(), 0);
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      const TimedTask& task = program.tasks[t];
      const std::size_t number = static_cast<std::size_t>(line_.run.first[c]) + t;
      const Interval when{.begin = line_.run.start[number], .end = line_.run.end[number]};
      time.end_seconds = std::max(time.end_seconds, when.end);
      if (task.kind == TimedTask::Kind::kKernel) {
        busy.Add(when.begin, when.end);
        kernels[static_cast<std::size_t>(task.cost)] += 1;
        seconds[static_cast<std::size_t>(task.cost)] += when.end - when.begin;
      } else if (task.kind == TimedTask::Kind::kTransfer) {
        transfers.emplace_back(static_cast<std::size_t>(task.cost), when);
      }
    }
    for (std::size_t cost = 0; cost < item.facts.size(); ++cost) {
      AddKernels(c, item.facts[cost], kernels[cost], seconds[cost], time);
    }
    AddTransfers(item, transfers, busy, time);
    time.busy_seconds = busy.total();
    time.bubble_seconds =
        std::max(0.0, line_.run.seconds - time.busy_seconds - time.exposed_seconds);
    line_.classes.push_back(std::move(time));
  }

  void AddKernels(std::size_t c, const CostFacts& facts, double kernels, double seconds,
                  ClassTime& time) {
    if (facts.transfer || kernels == 0) {
      return;
    }
    const double flops = facts.flops * kernels;
    if (IsMatrix(facts.kind)) {
      time.hardware_flops += flops;
      time.model_flops += facts.recomputed ? 0 : flops;
      flops_by_type_[facts.dtype] += flops * weight_;
    }
    const LocalProgram& program = ProgramOf(c);
    const std::string name = program.kernels.at(facts.kernel).name.str();
    OperatorTime& item = operators_[name];
    item.op = name;
    item.kind = item.kernels == 0 || facts.flops > 0 ? facts.kind : item.kind;
    item.kernels += kernels * weight_;
    item.seconds += seconds * weight_;
    item.flops += flops * weight_;
    const std::string scope =
        facts.origin == strategies::kNoNode ? "" : program.local.at(facts.origin).scope;
    ScopeTime& of_scope = scopes_[scope];
    of_scope.scope = scope;
    of_scope.seconds += seconds * weight_;
    of_scope.recomputed_seconds += facts.recomputed ? seconds * weight_ : 0;
  }

  void AddTransfers(const TimedClass& item,
                    std::vector<std::pair<std::size_t, Interval>>& transfers, const BusyTime& busy,
                    ClassTime& time) {
    for (const auto& [cost, when] : transfers) {
      const CostFacts& facts = item.facts[cost];
      const double seconds = when.end - when.begin;
      const double exposed = std::max(0.0, seconds - busy.Between(when.begin, when.end));
      time.transfer_seconds += seconds;
      for (std::size_t l = 0; l < time.level_bytes.size() && l < facts.cost.level_bytes.size();
           ++l) {
        time.level_bytes[l] += facts.cost.level_bytes[l];
      }
      const std::size_t level = OuterLevel(facts.span);
      TransferTime& all = transfers_[{*facts.transfer, facts.group, level}];
      all.pattern = *facts.transfer;
      all.group = facts.group;
      all.level = level;
      all.group_size = SizeOf(facts.span);
      all.algorithm = facts.cost.algorithm;
      if (all.ranks.empty()) {
        all.ranks = ExampleOf(item, facts);
      }
      all.count += weight_;
      all.bytes += facts.bytes * weight_;
      all.seconds += seconds * weight_;
      all.exposed_seconds += exposed * weight_;
    }
    std::ranges::sort(transfers, {}, [](const auto& one) { return one.second.begin; });
    Interval joined;
    const auto close = [&] {
      time.exposed_seconds +=
          std::max(0.0, joined.end - joined.begin - busy.Between(joined.begin, joined.end));
    };
    for (const auto& [cost, when] : transfers) {
      if (when.begin > joined.end) {
        close();
        joined = when;
      }
      joined.end = std::max(joined.end, when.end);
    }
    close();
  }

  [[nodiscard]] std::string ExampleOf(const TimedClass& item, const CostFacts& facts) const {
    if (facts.half != strategies::PointToPoint::kNone) {
      const strategies::Node& node = job_.programs[item.program].local.at(facts.origin);
      const std::int64_t distance = IntAttr(node.attrs, strategies::kRankDistance, 0).value_or(0);
      const bool sends = facts.half == strategies::PointToPoint::kSends;
      const std::int64_t from = item.representative - (sends ? 0 : distance);
      return std::to_string(from) + ">" + std::to_string(from + distance);
    }
    const strategies::GroupPlace place =
        PlaceIn(facts.group, item.representative, StageDevices(job_.config));
    return strategies::SteppedRanksText(GroupRanks(facts.group, place.position, place.begin));
  }

  void FollowPath() {
    const TimedRun& run = line_.run;
    if (run.end.empty()) {
      return;
    }
    std::map<std::tuple<std::size_t, std::int32_t>, PathPart> parts;
    auto number = static_cast<TaskNumber>(std::ranges::max_element(run.end) - run.end.begin());
    while (number != kNoTask) {
      AddToPath(number, parts);
      number = run.cause[static_cast<std::size_t>(number)];
    }
    std::map<std::tuple<std::string, std::string, std::int32_t, std::int64_t>, PathPart> lines;
    for (auto& [key, part] : parts) {
      PathPart& whole = lines[{part.op, part.place ? part.place->file : "",
                               part.place ? part.place->line : 0, part.stage}];
      part.tasks += whole.tasks;
      part.seconds += whole.seconds;
      whole = std::move(part);
    }
    for (auto& [key, part] : lines) {
      line_.path.push_back(std::move(part));
    }
    std::ranges::stable_sort(line_.path, std::ranges::greater(), &PathPart::seconds);
  }

  void AddToPath(TaskNumber number,
                 std::map<std::tuple<std::size_t, std::int32_t>, PathPart>& parts) {
    const TimedRun& run = line_.run;
    const auto c = static_cast<std::size_t>(std::ranges::upper_bound(run.first, number) -
                                            run.first.begin() - 1);
    const TimedTask& task =
        line_.plan.job.programs[c].tasks[static_cast<std::size_t>(number - run.first[c])];
    if (task.kind != TimedTask::Kind::kKernel && task.kind != TimedTask::Kind::kTransfer) {
      return;
    }
    const auto [place, fresh] = parts.try_emplace({c, task.cost});
    PathPart& part = place->second;
    if (fresh) {
      const LocalProgram& program = ProgramOf(c);
      const CostFacts& facts = line_.plan.classes[c].facts[static_cast<std::size_t>(task.cost)];
      part.op = program.kernels.at(facts.kernel).name.str();
      part.stage = ToInt(program.stage);
      part.transfer = facts.transfer.has_value();
      if (facts.origin != strategies::kNoNode) {
        part.place = PlaceOf(program.local, program.local.at(facts.origin));
      }
    }
    ++part.tasks;
    part.seconds +=
        run.end[static_cast<std::size_t>(number)] - run.start[static_cast<std::size_t>(number)];
  }

  void FindPeak() {
    double most = 0;
    for (const auto& [dtype, flops] : flops_by_type_) {
      if (flops > most) {
        most = flops;
        line_.flops_type = dtype;
      }
    }
    line_.peak_flops = PeakFlops(line_.hardware, line_.flops_type);
  }

  void CountSamples() {
    const strategies::Graph& traced = ProgramOf(0).from->traced;
    for (const ValueId id : traced.inputs) {
      const strategies::TensorType& type = traced.at(id).type;
      if (type.shape.empty()) {
        continue;
      }
      line_.samples = type.shape.front();
      if (type.shape.size() == 2 && !strategies::IsFloating(type.dtype)) {
        line_.tokens = type.shape[0] * type.shape[1];
      }
      return;
    }
  }

  const JobProgram& job_;
  TimeLine& line_;
  double weight_ = 0;  ///< Share of the ranks that the current class is.
  std::map<std::tuple<CollectivePattern, strategies::GroupPattern, std::size_t>, TransferTime>
      transfers_ = {};
  std::map<std::string, OperatorTime> operators_ = {};
  std::map<std::string, ScopeTime> scopes_ = {};
  std::map<strategies::DType, double> flops_by_type_ = {};
};

}  // namespace

MeanTime MeanOf(const TimeLine& line) {
  MeanTime mean;
  double ranks = 0;
  for (std::size_t c = 0; c < line.classes.size(); ++c) {
    const ClassTime& time = line.classes[c];
    const auto count = static_cast<double>(line.plan.classes[c].rank_count);
    ranks += count;
    mean.busy += count * time.busy_seconds;
    mean.exposed += count * time.exposed_seconds;
    mean.bubble += count * time.bubble_seconds;
    mean.model_utilisation += count * time.model_flops;
    mean.hardware_utilisation += count * time.hardware_flops;
  }
  const double all = ranks * line.run.seconds;
  if (all <= 0) {
    return {};
  }
  mean.busy /= all;
  mean.exposed /= all;
  mean.bubble /= all;
  mean.model_utilisation /= all * line.peak_flops;
  mean.hardware_utilisation /= all * line.peak_flops;
  return mean;
}

Result<TimeLine> SimulateStep(const JobProgram& job, const TimeOptions& options) {
  TimeLine line{.hardware = options.hardware, .jitter = options.jitter, .seed = options.seed};
  line.plan = PlanTime(job, line.hardware);
  line.plan.job.jitter = options.jitter;
  line.plan.job.seed = options.seed;
  line.run = RunTimedJob(line.plan.job);
  if (line.run.left_out > 0) {
    return Fail(ErrorCode::kInternal,
                "the time line ends early: stages wait for each other with " +
                    std::to_string(line.run.left_out) + " tasks left, though all messages meet",
                "please report this; --sim_level=1 gives everything but times");
  }
  Summary(job, line).Run();
  return line;
}

}  // namespace drydock::sim
