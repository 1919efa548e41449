#include "sim/timing/timed_program.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/timing/kernel_time.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/program/collectives.h"

/// From launches to tasks with a price.
///
/// Kernels of one operator are alike in all micro batches, so each is priced once. What an operator
/// computes is the price of the kernel that bears its name, else of the one that moves most; its
/// other kernels move data. Views are not launched. Transfers within one class of ranks take their
/// time with all members ready: they run the same program at the same time. A message, or a
/// collective whose members belong to several classes, becomes a meeting of their representatives:
/// the n-th of one peer meets the n-th of the other.
namespace drydock::sim {
namespace {

using strategies::Graph;
using strategies::GroupPattern;
using strategies::JobProgram;
using strategies::KernelGraph;
using strategies::KernelId;
using strategies::KernelNode;
using strategies::KernelOperand;
using strategies::Launch;
using strategies::LocalProgram;
using strategies::Node;
using strategies::PointToPoint;

double Bytes(const strategies::TensorType& type) {
  return static_cast<double>(ByteSize(type));
}

const strategies::TensorType& TypeOf(const KernelGraph& graph, const KernelOperand& operand) {
  return graph.at(operand.node).results[static_cast<std::size_t>(operand.item)].type;
}

/// Members of the group that a rank has under a pattern.
std::vector<std::int64_t> Members(const GroupPattern& pattern, std::int64_t rank,
                                  std::int64_t stage_devices) {
  const strategies::GroupPlace place = PlaceIn(pattern, rank, stage_devices);
  return GroupRanks(pattern, place.position, place.begin);
}

/// Prices one program.
class ProgramPricer {
 public:
  ProgramPricer(const LocalProgram& program, const HardwareProfile& profile, TimedClass& item,
                std::int64_t stage_devices)
      : local_(program.local),
        graph_(program.kernels),
        profile_(profile),
        class_(item),
        stage_devices_(stage_devices) {}

  TimedProgram Run() {
    std::int32_t streams = 1;
    for (const Launch& launch : graph_.launches) {
      streams = std::max(streams, launch.stream + 1);
      if (launch.kind == Launch::Kind::kKernel) {
        AddKernel(launch);
      } else {
        timed_.events = std::max(timed_.events, launch.event + 1);
        timed_.tasks.push_back({.kind = launch.kind == Launch::Kind::kSend
                                            ? TimedTask::Kind::kRecord
                                            : TimedTask::Kind::kWait,
                                .stream = static_cast<std::uint16_t>(launch.stream),
                                .reference = launch.event});
      }
    }
    timed_.streams = static_cast<std::uint16_t>(streams);
    GiveFlops();
    for (std::size_t c = 0; c < class_.facts.size(); ++c) {
      if (!class_.facts[c].transfer) {
        PriceKernel(c);
      }
    }
    return std::move(timed_);
  }

 private:
  /// Kernels that cost alike: of the same operator, with the same results.
  using Key = std::tuple<NodeId, const void*, const void*>;

  [[nodiscard]] const Node* OriginOf(const KernelNode& kernel) const {
    return kernel.origin == strategies::kNoNode ? nullptr : &local_.at(kernel.origin);
  }

  void AddKernel(const Launch& launch) {
    const KernelNode& kernel = graph_.at(launch.kernel);
    const Node* origin = OriginOf(kernel);
    if (kernel.view || (kernel.communication && origin != nullptr && !RunsEachStep(*origin))) {
      return;
    }
    const Key key = {kernel.origin, std::string_view(kernel.name).data(), kernel.results.begin()};
    const auto [place, fresh] =
        costs_.try_emplace(key, static_cast<std::int32_t>(class_.facts.size()));
    if (fresh) {
      AddCost(launch.kernel);
    }
    const bool transfer =
        class_.facts[static_cast<std::size_t>(place->second)].transfer.has_value();
    timed_.tasks.push_back(
        {.kind = transfer ? TimedTask::Kind::kTransfer : TimedTask::Kind::kKernel,
         .stream = static_cast<std::uint16_t>(launch.stream),
         .cost = place->second,
         .tag = static_cast<std::int32_t>(launch.kernel)});
  }

  void AddCost(KernelId id) {
    const KernelNode& kernel = graph_.at(id);
    CostFacts facts{.origin = kernel.origin, .kernel = id};
    TaskCost cost;
    const Node* origin = OriginOf(kernel);
    if (origin != nullptr) {
      facts.recomputed = origin->attrs.contains(std::string(strategies::kDuplicated));
    }
    if (kernel.communication && origin != nullptr && CollectiveOf(*origin) != nullptr) {
      PriceTransfer(kernel, *origin, facts, cost);
    } else {
      facts.bytes = MovedBytes(id);
    }
    timed_.costs.push_back(cost);
    class_.facts.push_back(std::move(facts));
  }

  /// Read and written by a kernel.
  [[nodiscard]] double MovedBytes(KernelId id) const {
    const KernelNode& kernel = graph_.at(id);
    double written = 0;
    for (const strategies::KernelResult& result : kernel.results) {
      written += Bytes(result.type);
    }
    const Node* origin = OriginOf(kernel);
    const bool named = origin != nullptr && kernel.name == std::string_view(origin->op);
    double read = 0;
    const std::vector<KernelOperand> operands = TensorsRead(graph_, id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const double bytes = Bytes(TypeOf(graph_, operands[i]));
      const bool part = i == 0 && named && origin->entry->reads_part;
      read += part ? std::min(bytes, written) : bytes;
    }
    if (kernel.update && named) {
      written = 0;
      for (const std::size_t operand : WrittenOperands(*origin->entry)) {
        written += operand < operands.size() ? Bytes(TypeOf(graph_, operands[operand])) : 0;
      }
    }
    return read + written;
  }

  /// The kernel of an operator that does what the operator computes.
  void GiveFlops() {
    std::map<NodeId, std::size_t> main;
    const auto named = [&](std::size_t c) {
      const CostFacts& facts = class_.facts[c];
      return graph_.at(facts.kernel).name == std::string_view(local_.at(facts.origin).op);
    };
    for (std::size_t c = 0; c < class_.facts.size(); ++c) {
      const CostFacts& facts = class_.facts[c];
      if (facts.origin == strategies::kNoNode || facts.transfer) {
        continue;
      }
      const auto [place, fresh] = main.try_emplace(facts.origin, c);
      const std::size_t old = place->second;
      const bool better = named(c) != named(old) ? named(c) : facts.bytes > class_.facts[old].bytes;
      place->second = !fresh && better ? c : old;
    }
    for (const auto& [id, c] : main) {
      const Node& node = local_.at(id);
      strategies::OpViewStorage storage;
      CostFacts& facts = class_.facts[c];
      facts.flops = node.entry->flops(ViewOf(local_, node, storage));
      facts.kind = KindOf(*node.entry, facts.flops);
    }
  }

  static EfficiencyKind KindOf(const strategies::OpEntry& entry, double flops) {
    if (flops <= 0) {
      return EfficiencyKind::kMovement;
    }
    switch (entry.work) {
      case strategies::WorkKind::kProduct:
        return EfficiencyKind::kProduct;
      case strategies::WorkKind::kAttention:
        return EfficiencyKind::kAttention;
      default:
        return EfficiencyKind::kVector;
    }
  }

  void PriceKernel(std::size_t c) {
    CostFacts& facts = class_.facts[c];
    KernelWork work{.kind = facts.kind, .flops = facts.flops, .bytes = facts.bytes};
    const std::vector<KernelOperand> operands = TensorsRead(graph_, facts.kernel);
    if (!operands.empty()) {
      facts.dtype = work.dtype = TypeOf(graph_, operands.front()).dtype;
    }
    timed_.costs[c].seconds = KernelSeconds(profile_, work);
  }

  void PriceTransfer(const KernelNode& kernel, const Node& node, CostFacts& facts, TaskCost& cost) {
    const strategies::CollectiveFacts& what = *CollectiveOf(node);
    double given = 0;
    for (const KernelOperand& operand : TensorsRead(graph_, facts.kernel)) {
      given += Bytes(TypeOf(graph_, operand));
    }
    double got = 0;
    for (const strategies::KernelResult& result : kernel.results) {
      got += Bytes(result.type);
    }
    facts.transfer = what.pattern;
    facts.half = what.point_to_point;
    facts.group = kernel.group.value_or(node.group.value_or({}));
    facts.span = SpanOfTransfer(node, facts);
    facts.bytes = TransferBytes(node, facts, given, got);
    facts.cost = CollectiveTime(
        profile_, {.pattern = what.pattern, .bytes = facts.bytes, .span = facts.span});
    cost.seconds = facts.cost.seconds;
    cost.level = static_cast<std::uint8_t>(OuterLevel(facts.span));
    if (facts.half != PointToPoint::kNone) {
      cost.use = facts.half == PointToPoint::kSends ? LinkUse::kOut : LinkUse::kIn;
    }
    if (facts.half == PointToPoint::kReceives) {
      std::ranges::fill(facts.cost.level_bytes, 0);
    }
  }

  [[nodiscard]] double TransferBytes(const Node& node, const CostFacts& facts, double given,
                                     double got) const {
    switch (*facts.transfer) {
      case CollectivePattern::kAllGather:
        return got;
      case CollectivePattern::kMessage:
        return facts.half == PointToPoint::kReceives ? got : given;
      case CollectivePattern::kNeighbours: {
        const std::int64_t size = GroupSize(facts.group);
        return size < 2 ? 0
                        : static_cast<double>(
                              CollectiveOf(node)
                                  ->sent({.graph = local_,
                                          .node = node,
                                          .payload_bytes = static_cast<std::int64_t>(given),
                                          .group_size = size})
                                  .most);
      }
      default:
        return given;
    }
  }

  [[nodiscard]] GroupSpan SpanOfTransfer(const Node& node, const CostFacts& facts) {
    if (facts.half != PointToPoint::kNone) {
      const std::int64_t here = class_.representative;
      const std::int64_t distance = IntAttr(node.attrs, strategies::kRankDistance, 0).value_or(0);
      const std::int64_t other =
          facts.half == PointToPoint::kSends ? here + distance : here - distance;
      const std::vector<std::int64_t> both = {std::min(here, other), std::max(here, other)};
      return SpanOf(profile_, both);
    }
    const auto known = spans_.find(facts.group);
    if (known != spans_.end()) {
      return known->second;
    }
    return spans_[facts.group] =
               SpanOf(profile_, Members(facts.group, class_.representative, stage_devices_));
  }

  const Graph& local_;
  const KernelGraph& graph_;
  const HardwareProfile& profile_;
  TimedClass& class_;
  std::int64_t stage_devices_;
  TimedProgram timed_ = {};
  std::map<Key, std::int32_t> costs_ = {};
  std::map<GroupPattern, GroupSpan> spans_ = {};
};

/// Finds who meets whom.
class Meetings {
 public:
  Meetings(const JobProgram& job, TimedPlan& plan)
      : job_(job), plan_(plan), stage_devices_(StageDevices(job.config)) {
    class_of_rank_.assign(static_cast<std::size_t>(job.config.world_size), 0);
    for (std::size_t c = 0; c < plan.classes.size(); ++c) {
      for (const strategies::RankRange& range : plan.classes[c].ranks.ranges) {
        std::fill(class_of_rank_.begin() + range.first, class_of_rank_.begin() + range.last + 1,
                  static_cast<std::int32_t>(c));
      }
    }
  }

  void Run() {
    for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
      Collect(c);
    }
    for (auto& [key, halves] : messages_) {
      auto& [sends, receives] = halves;
      const std::size_t met = std::min(sends.size(), receives.size());
      for (std::size_t i = 0; i < met; ++i) {
        Meet({sends[i], receives[i]});
      }
      plan_.unmet_transfers +=
          std::ssize(sends) + std::ssize(receives) - 2 * static_cast<std::ptrdiff_t>(met);
    }
    for (auto& [key, tasks] : joint_) {
      Meet(tasks);
    }
  }

 private:
  using TaskPlace = std::pair<std::size_t, std::size_t>;  ///< Class, task.
  using MessageKey = std::tuple<std::int32_t, std::int32_t, std::int64_t, std::int64_t>;
  using JointKey = std::tuple<GroupPattern, std::set<std::int32_t>, std::int64_t>;

  void Collect(std::size_t c) {
    std::map<GroupPattern, std::set<std::int32_t>> classes_of;
    std::map<GroupPattern, std::int64_t> used;
    const TimedClass& item = plan_.classes[c];
    const std::vector<TimedTask>& tasks = plan_.job.programs[c].tasks;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      if (tasks[t].kind != TimedTask::Kind::kTransfer) {
        continue;
      }
      const CostFacts& facts = item.facts[static_cast<std::size_t>(tasks[t].cost)];
      if (facts.half != PointToPoint::kNone) {
        AddMessage(c, t, facts);
        continue;
      }
      auto place = classes_of.find(facts.group);
      if (place == classes_of.end()) {
        place = classes_of.emplace(facts.group, ClassesIn(facts.group, item)).first;
      }
      if (place->second.size() > 1) {
        joint_[{facts.group, place->second, used[facts.group]++}].push_back({c, t});
      }
    }
  }

  [[nodiscard]] std::set<std::int32_t> ClassesIn(const GroupPattern& group,
                                                 const TimedClass& item) const {
    std::set<std::int32_t> classes;
    for (const std::int64_t rank : Members(group, item.representative, stage_devices_)) {
      classes.insert(ClassOf(rank));
    }
    return classes;
  }

  [[nodiscard]] std::int32_t ClassOf(std::int64_t rank) const {
    return rank < 0 || rank >= std::ssize(class_of_rank_)
               ? -1
               : class_of_rank_[static_cast<std::size_t>(rank)];
  }

  void AddMessage(std::size_t c, std::size_t t, const CostFacts& facts) {
    const TimedClass& item = plan_.classes[c];
    const Node& node = job_.programs[item.program].local.at(facts.origin);
    const std::int64_t distance = IntAttr(node.attrs, strategies::kRankDistance, 0).value_or(0);
    const std::int64_t tag = IntAttr(node.attrs, strategies::kTransferTag, 0).value_or(0);
    const auto here = static_cast<std::int32_t>(c);
    if (facts.half == PointToPoint::kSends) {
      const std::int32_t there = ClassOf(item.representative + distance);
      messages_[{here, there, distance, tag}].first.emplace_back(c, t);
    } else {
      const std::int32_t there = ClassOf(item.representative - distance);
      messages_[{there, here, distance, tag}].second.emplace_back(c, t);
    }
  }

  void Meet(const std::vector<TaskPlace>& tasks) {
    if (tasks.size() < 2) {
      return;
    }
    const auto meeting = static_cast<std::int32_t>(plan_.job.meetings.size());
    plan_.job.meetings.push_back(static_cast<std::int32_t>(tasks.size()));
    for (const auto& [c, t] : tasks) {
      plan_.job.programs[c].tasks[t].reference = meeting;
    }
  }

  const JobProgram& job_;
  TimedPlan& plan_;
  std::int64_t stage_devices_;
  std::vector<std::int32_t> class_of_rank_ = {};
  std::map<MessageKey, std::pair<std::vector<TaskPlace>, std::vector<TaskPlace>>> messages_ = {};
  std::map<JointKey, std::vector<TaskPlace>> joint_ = {};
};

std::vector<TimedClass> ClassesOf(const JobProgram& job) {
  std::map<strategies::ProgramIndex, strategies::RankSet> ranks;
  for (const strategies::RankClass& item : job.classes) {
    ranks[item.described] = Merge(ranks[item.described], item.ranks);
  }
  std::vector<TimedClass> classes;
  for (auto& [program, set] : ranks) {
    classes.push_back({.rank_count = CountRanks(set),
                       .program = program,
                       .representative = set.ranges.front().first});
    classes.back().ranks = std::move(set);
  }
  return classes;
}

}  // namespace

TimedPlan PlanTime(const JobProgram& job, const HardwareProfile& profile) {
  TimedPlan plan{.classes = ClassesOf(job)};
  plan.job.levels = static_cast<std::uint8_t>(profile.levels.size());
  plan.job.overlap_slowdown = profile.overlap_slowdown;
  for (TimedClass& item : plan.classes) {
    plan.job.programs.push_back(
        ProgramPricer(job.programs[item.program], profile, item, StageDevices(job.config)).Run());
  }
  Meetings(job, plan).Run();
  return plan;
}

}  // namespace drydock::sim
