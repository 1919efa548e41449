// All plans of a job, and the best of them.
//
// The axes are divisors of what they cut, so a job on 4,096 devices has some ten thousand plans;
// each is asked of the closed forms alone, on all threads, into its own slot. Of the plans that
// fit, those remain that nothing beats in both time and memory (Pareto front); the best list has
// the fastest plan of each kind of cut first, so that it is not ten shades of one plan. Where some
// of the best do not fit when they are compiled, their error corrects the closed forms of plans
// like them, and the next are taken.
#include "sim/planning/plan_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace drydock::sim {
namespace {

/// Values of an axis: the fixed one, or all divisors of `whole` up to `most`.
std::vector<std::int64_t> Values(std::int64_t fixed, std::int64_t whole, std::int64_t most) {
  if (fixed >= 0) {
    return {fixed};
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= std::min(whole, most); ++value) {
    if (whole % value == 0) {
      values.push_back(value);
    }
  }
  return values;
}

/// Collects plans; each function fixes one more axis.
class Enumeration {
 public:
  Enumeration(const TrainingJob& job, const SearchSpace& space) : job_(job), space_(space) {}

  std::vector<Plan> All() && {
    for (const std::int64_t tensor :
         Values(space_.fixed.tensor, job_.devices, space_.most_tensor)) {
      const std::int64_t rest = job_.devices / std::max<std::int64_t>(tensor, 1);
      for (const std::int64_t stages : Values(space_.fixed.pipeline, rest, space_.most_pipeline)) {
        for (const std::int64_t context :
             Values(space_.fixed.context, rest / std::max<std::int64_t>(stages, 1),
                    space_.most_context)) {
          AddWithData({.tensor = tensor, .pipeline = stages, .context = context});
        }
      }
    }
    return std::move(plans_);
  }

 private:
  void AddWithData(Plan plan) {
    const std::int64_t cut = plan.tensor * plan.pipeline * plan.context;
    plan.data =
        space_.fixed.data >= 0 ? space_.fixed.data : job_.devices / std::max<std::int64_t>(cut, 1);
    if (plan.data < 1 || cut < 1) {
      return;
    }
    const std::int64_t experts = std::max<std::int64_t>(1, job_.model.experts.count);
    for (const std::int64_t expert : Values(space_.fixed.expert, experts, 1 << 16)) {
      for (const std::int64_t interleave : Values(
               space_.fixed.interleave, plan.pipeline > 1 ? job_.model.layers / plan.pipeline : 1,
               space_.most_interleave)) {
        plan.expert = expert;
        plan.interleave = interleave;
        // Uneven parts take turns badly; only who asks for them gets them.
        if (space_.fixed.interleave >= 0 || interleave == 1 ||
            job_.model.layers % (plan.pipeline * interleave) == 0) {
          AddWithBatch(plan);
        }
      }
    }
  }

  void AddWithBatch(Plan plan) {
    for (std::int64_t micro = 1; micro <= space_.most_micro_batch; micro *= 2) {
      if (space_.fixed.micro_batch >= 1 && micro != 1) {
        break;
      }
      plan.micro_batch = space_.fixed.micro_batch >= 1 ? space_.fixed.micro_batch : micro;
      // MindSpore refuses fewer micro batches than stages; elsewhere they leave stages idle.
      if (IsPossible(job_, plan) && MicroBatches(job_, plan) >= plan.pipeline) {
        AddWithStorage(plan);
      }
    }
  }

  void AddWithStorage(Plan plan) {
    const bool shards = plan.data * plan.context > 1;
    const std::int64_t most_level = plan.pipeline == 1 ? 3 : 2;
    for (std::int64_t level = 0; level <= (shards ? most_level : 0); ++level) {
      if (space_.fixed.optimizer_level >= 0 && level != space_.fixed.optimizer_level && shards) {
        continue;
      }
      plan.optimizer_level = level;
      AddWithActivations(plan);
    }
  }

  void AddWithActivations(Plan plan) {
    constexpr std::array kPolicies = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
    for (const bool cut_tokens : {false, true}) {
      if (cut_tokens ? plan.tensor == 1 : false) {
        continue;
      }
      if (space_.fixed_sequence_parallel && cut_tokens != space_.fixed.sequence_parallel) {
        continue;
      }
      for (const Recompute policy : kPolicies) {
        const bool same =
            policy == Recompute::kSelective && job_.attention == AttentionKernel::kFused;
        if ((space_.fixed_recompute && policy != space_.fixed.recompute) || same) {
          continue;
        }
        plan.sequence_parallel = cut_tokens;
        plan.recompute = policy;
        if (IsPossible(job_, plan)) {
          plans_.push_back(plan);
        }
      }
    }
  }

  const TrainingJob& job_;
  const SearchSpace& space_;
  std::vector<Plan> plans_ = {};
};

/// Indices of the plans that fit, fastest first; of equally fast ones the smaller, then by plan.
std::vector<std::size_t> ByTime(const std::vector<PlanFigures>& plans, double limit_bytes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].peak_bytes <= limit_bytes) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tie(plans[a].step_seconds, plans[a].peak_bytes, plans[a].plan) <
           std::tie(plans[b].step_seconds, plans[b].peak_bytes, plans[b].plan);
  });
  return order;
}

/// The way a plan cuts the devices.
std::array<std::int64_t, 5> CutOf(const Plan& plan) {
  return {plan.data, plan.tensor, plan.pipeline, plan.context, plan.expert};
}

/// Plans that differ only in how samples and sequences share the replicas are shades of one:
/// whether a rank has one sample or halves of two, it has the same tokens.
std::array<std::int64_t, 3> KindOf(const Plan& plan) {
  return {plan.tensor, plan.pipeline, plan.expert};
}

std::vector<std::size_t> ParetoFront(const SearchResult& result,
                                     const std::vector<std::size_t>& order) {
  std::vector<std::size_t> front;
  double least = 1e300;
  for (const std::size_t index : order) {
    if (result.plans[index].peak_bytes < least) {
      least = result.plans[index].peak_bytes;
      front.push_back(index);
    }
  }
  return front;
}

/// The fastest of each kind and what needs clearly less memory; then shades, as far as there is
/// room.
std::vector<std::size_t> Best(const SearchResult& result, const std::vector<std::size_t>& order,
                              std::size_t count) {
  constexpr double kClearly = 0.95;
  std::set<std::array<std::int64_t, 5>> cuts;
  std::map<std::array<std::int64_t, 3>, double> least;
  std::vector<std::size_t> best;
  for (const bool shades : {false, true}) {
    for (const std::size_t index : order) {
      const PlanFigures& one = result.plans[index];
      const auto known = least.find(KindOf(one.plan));
      const bool new_kind = known == least.end() || one.peak_bytes < kClearly * known->second;
      if (best.size() < count && (shades || new_kind) && cuts.insert(CutOf(one.plan)).second) {
        best.push_back(index);
        least[KindOf(one.plan)] = one.peak_bytes;
      }
    }
  }
  std::ranges::sort(
      best, {}, [&](std::size_t index) { return std::ranges::find(order, index) - order.begin(); });
  return best;
}

/// Plans whose memory is made of the same terms, so that closed forms are off by a like share.
using MemoryKind = std::tuple<Recompute, std::int64_t, bool, bool>;

MemoryKind MemoryKindOf(const Plan& plan) {
  return {plan.recompute, plan.optimizer_level, plan.sequence_parallel, plan.pipeline > 1};
}

/// What compiled plans say of those of their kind.
struct KindFacts {
  double ratio = 1;              ///< The largest of full run over closed form.
  double least_failing = 1e300;  ///< Closed form of the smallest that did not fit.
};

std::map<MemoryKind, KindFacts> FactsOfKinds(const SearchResult& found,
                                             std::span<const CompiledPlan> compiled) {
  std::map<MemoryKind, KindFacts> kinds;
  for (const CompiledPlan& one : compiled) {
    const PlanFigures& figures = found.plans[one.plan];
    KindFacts& kind = kinds[MemoryKindOf(figures.plan)];
    kind.ratio = std::max(kind.ratio, one.peak_bytes / std::max(figures.peak_bytes, 1.0));
    kind.least_failing =
        one.fits ? kind.least_failing : std::min(kind.least_failing, figures.peak_bytes);
  }
  return kinds;
}

}  // namespace

std::vector<std::size_t> FurtherPlans(const SearchResult& found,
                                      std::span<const CompiledPlan> compiled, double limit_bytes,
                                      std::size_t count) {
  std::map<MemoryKind, KindFacts> kinds = FactsOfKinds(found, compiled);
  std::set<std::size_t> taken;
  std::set<std::array<std::int64_t, 3>> kinds_of_cut;
  std::set<std::array<std::int64_t, 5>> cuts;
  const auto remember = [&](const Plan& plan) {
    kinds_of_cut.insert(KindOf(plan));
    cuts.insert(CutOf(plan));
  };
  for (const CompiledPlan& one : compiled) {
    taken.insert(one.plan);
    if (one.fits) {
      remember(found.plans[one.plan].plan);
    }
  }
  std::vector<std::size_t> order = ByTime(found.plans, limit_bytes);
  std::vector<std::size_t> further;
  for (const int shades : {0, 1, 2}) {
    for (const std::size_t index : order) {
      const PlanFigures& one = found.plans[index];
      const bool other = shades == 0   ? !kinds_of_cut.contains(KindOf(one.plan))
                         : shades == 1 ? !cuts.contains(CutOf(one.plan))
                                       : true;
      const bool expected = one.peak_bytes * kinds[MemoryKindOf(one.plan)].ratio <= limit_bytes;
      if (expected && other && further.size() < count && taken.insert(index).second) {
        further.push_back(index);
        remember(one.plan);
      }
    }
  }
  if (further.empty()) {
    std::ranges::stable_sort(order, {},
                             [&](std::size_t index) { return found.plans[index].peak_bytes; });
    for (const std::size_t index : order) {
      const PlanFigures& one = found.plans[index];
      KindFacts& kind = kinds[MemoryKindOf(one.plan)];
      if (further.size() < count && one.peak_bytes < kind.least_failing &&
          taken.insert(index).second) {
        kind.least_failing = one.peak_bytes;  // One of a kind at a time.
        further.push_back(index);
      }
    }
  }
  return further;
}

std::vector<Plan> EnumeratePlans(const TrainingJob& job, const SearchSpace& space) {
  return Enumeration(job, space).All();
}

Result<SearchResult> SearchPlans(const TrainingJob& job, const SearchSpace& space,
                                 const HardwareProfile& hardware, double limit_bytes,
                                 std::size_t count, const Executor& executor) {
  const std::vector<Plan> plans = EnumeratePlans(job, space);
  if (plans.empty()) {
    return FailInput("Plan:none-possible",
                     "no plan is possible: nothing divides " + std::to_string(job.devices) +
                         " devices, " + std::to_string(job.global_batch) + " samples and " +
                         std::to_string(job.model.heads) + " heads as asked",
                     "ask for fewer fixed parts, or for a batch and devices with common factors");
  }
  const JobFacts facts = FactsOf(job);
  SearchResult result;
  result.plans.resize(plans.size());
  ForEachIndex(executor, plans.size(), [&](std::size_t i) {
    result.plans[i] = {.plan = plans[i],
                       .step_seconds = TimeOf(job, facts, hardware, plans[i]).Sum(),
                       .peak_bytes = MemoryOf(job, facts, plans[i]).bytes.Sum()};
  });
  const std::vector<std::size_t> order = ByTime(result.plans, limit_bytes);
  result.fitting = std::ssize(order);
  result.smallest = static_cast<std::size_t>(
      std::ranges::min_element(result.plans, {}, &PlanFigures::peak_bytes) - result.plans.begin());
  result.front = ParetoFront(result, order);
  result.best = Best(result, order, count);
  return result;
}

}  // namespace drydock::sim
