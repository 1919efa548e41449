// Latency and bandwidth of links from the collectives of a trace.
//
// A collective of S bytes over n members takes launch + k a + B / (b e): steps k and bytes B follow
// from its algorithm (docs/timing.md), b is the level's nominal bandwidth, a its latency and e its
// share. A kernel also waits until the last member comes, which is no property of links: of equal
// transfers the fastest counts. On each level a and 1 / e are what makes the relative errors least
// (weights 1 / time^2), neither below zero; with transfers of one size only, the latency stays as
// it is. Groups that span several levels are left out: they mix two pairs of unknowns.
//
// Example: AllGathers of 64 MB over 8 in 0.25 ms and of 1 GB in 3.06 ms: 7 a + 56e6 / (b e)
// = 2.5e-4 and 7 a + 875e6 / (b e) = 3.06e-3, so b e = 291 GB/s and a = 8.3 us.
#include "sim/calibration/collective_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "sim/calibration/operator_work.h"
#include "sim/timing/collective_time.h"

namespace drydock::sim {
namespace {

struct Name {
  std::string_view name;
  CollectivePattern pattern;
  bool result_counts = false;  ///< The payload is what comes out.
};

/// Names of PyTorch's process groups. Source: pytorch/pytorch:
/// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp.
constexpr std::array kNames = {
    Name{"allreduce", CollectivePattern::kAllReduce},
    Name{"allreduce_coalesced", CollectivePattern::kAllReduce},
    Name{"_allgather_base", CollectivePattern::kAllGather, true},
    Name{"all_gather", CollectivePattern::kAllGather, true},
    Name{"allgather", CollectivePattern::kAllGather, true},
    Name{"all_gather_into_tensor_coalesced", CollectivePattern::kAllGather, true},
    Name{"_reduce_scatter_base", CollectivePattern::kReduceScatter},
    Name{"reduce_scatter", CollectivePattern::kReduceScatter},
    Name{"reduce_scatter_tensor_coalesced", CollectivePattern::kReduceScatter},
    Name{"all_to_all", CollectivePattern::kAllToAll},
    Name{"all_to_allv", CollectivePattern::kAllToAll},
    Name{"broadcast", CollectivePattern::kBroadcast},
    Name{"send", CollectivePattern::kMessage},
    Name{"recv", CollectivePattern::kMessage, true}};

constexpr double kShortest = 1e-8;  ///< Seconds behind the launch; less is no measurement.

/// A transfer on one level.
struct Transfer {
  CollectivePattern pattern = CollectivePattern::kMessage;
  double bytes = 0;
  std::int64_t members = 2;
  std::size_t level = 0;
  friend auto operator<=>(const Transfer&, const Transfer&) = default;
};

/// The level on which a group lies, if it is one.
std::optional<std::size_t> OnlyLevel(const GroupSpan& span) {
  const std::size_t outer = OuterLevel(span);
  return SizeOf(span) > 1 && span.fan[outer] == SizeOf(span) ? std::optional(outer) : std::nullopt;
}

std::optional<std::size_t> LevelNamed(const HardwareProfile& profile, std::string_view name) {
  for (std::size_t l = 0; l < profile.levels.size(); ++l) {
    if (profile.levels[l].name == name) {
      return l;
    }
  }
  return std::nullopt;
}

/// One transfer of Ascend over a link between two devices.
std::optional<Transfer> OverLink(const TraceCollective& what, const HardwareProfile& profile) {
  const auto level = LevelNamed(profile, what.link == "RoCE" ? "rail" : "node");
  if (!level || !(what.link_bytes >= 1 && what.link_bytes < 1e15)) {
    return std::nullopt;
  }
  return Transfer{.bytes = what.link_bytes, .level = *level};
}

std::optional<Transfer> TransferOf(const TraceCollective& what, const HardwareProfile& profile) {
  if (!what.link.empty()) {
    return OverLink(what, profile);
  }
  const auto* const known = std::ranges::find(kNames, std::string_view(what.name), &Name::name);
  const auto dtype = TraceTypeNamed(what.dtype);
  if (known == kNames.end() || !dtype) {
    return std::nullopt;
  }
  const bool message = known->pattern == CollectivePattern::kMessage;
  std::vector<std::int64_t> ranks = what.ranks;
  std::ranges::sort(ranks);
  const std::int64_t members =
      message ? 2 : (what.group_size > 0 ? what.group_size : std::ssize(ranks));
  if (members < 2 || members > (1 << 24) || (message && ranks.size() != 2)) {
    return std::nullopt;
  }
  const GroupSpan span = std::ssize(ranks) == members
                             ? SpanOf(profile, ranks)
                             : SpanOf(profile, members, 1);  // Ranks are not named: neighbours.
  const auto level = OnlyLevel(span);
  const std::int64_t elements = known->result_counts ? what.out_elements : what.in_elements;
  if (!level || elements < 1 || elements > (std::int64_t{1} << 48)) {
    return std::nullopt;
  }
  return Transfer{
      .pattern = known->pattern,
      .bytes = static_cast<double>(elements) * static_cast<double>(strategies::DTypeBytes(*dtype)),
      .members = members,
      .level = *level};
}

/// Steps and seconds at the nominal bandwidth: what latency and 1 / share are multiplied with.
struct Row {
  double steps = 0;
  double nominal_seconds = 0;
  double seconds = 0;
};

/// By asking the model itself: without latency and launch a transfer takes what its bytes take.
double ModelSeconds(const HardwareProfile& profile, const Transfer& transfer, double latency,
                    double efficiency) {
  HardwareProfile bare = profile;
  bare.collective_launch_seconds = 0;
  NetworkLevel& level = bare.levels[transfer.level];
  level.latency_seconds = latency;
  level.efficiency = efficiency;
  std::erase(level.algorithms, CollectiveAlgorithm::kInNetwork);
  CollectiveWork work{.pattern = transfer.pattern, .bytes = transfer.bytes};
  work.span.fan.assign(profile.levels.size(), 1);
  work.span.fan[transfer.level] = transfer.members;
  work.algorithm = CollectiveTime(profile, work).algorithm;
  if (work.algorithm == CollectiveAlgorithm::kInNetwork) {
    work.algorithm = CollectiveAlgorithm::kRing;
  }
  return CollectiveTime(bare, work).seconds;
}

Row RowOf(const HardwareProfile& profile, const Transfer& transfer, double seconds) {
  constexpr double kLong = 1e-3;  // Bytes that take nothing beside it do not blur the steps.
  const double bytes_only = ModelSeconds(profile, transfer, 0, 1);
  const double with_steps = ModelSeconds(profile, transfer, kLong, 1);
  return {.steps = (with_steps - bytes_only) / kLong,
          .nominal_seconds = bytes_only,
          .seconds = seconds - profile.collective_launch_seconds};
}

struct Sums {
  double ss = 0, sn = 0, nn = 0, st = 0, nt = 0;
};

/// Least squares of relative errors in latency and 1 / share, both within what can be.
LevelFit Solve(const std::vector<Row>& rows, const NetworkLevel& level) {
  Sums sums;
  for (const Row& row : rows) {
    const double s = row.steps / row.seconds;
    const double n = row.nominal_seconds / row.seconds;
    sums.ss += s * s;
    sums.sn += s * n;
    sums.nn += n * n;
    sums.st += s;
    sums.nt += n;
  }
  const double determinant = sums.ss * sums.nn - sums.sn * sums.sn;
  const auto slope_at = [&](double latency) {
    return sums.nn > 0 ? (sums.nt - latency * sums.sn) / sums.nn : 1.0;
  };
  double latency = level.latency_seconds;
  if (determinant > 1e-6 * sums.ss * sums.nn) {
    latency = std::max(0.0, (sums.nn * sums.st - sums.sn * sums.nt) / determinant);
  }
  double slope = slope_at(latency);
  if (slope < 1) {  // Faster than the nominal bandwidth: latency takes the rest.
    slope = 1;
    latency = sums.ss > 0 ? std::max(0.0, (sums.st - sums.sn) / sums.ss) : latency;
  }
  LevelFit fit{.transfers = std::ssize(rows),
               .latency_seconds = std::min(latency, 0.1),
               .efficiency = std::clamp(1 / slope, 1e-4, 1.0)};
  for (const Row& row : rows) {
    const double ours = fit.latency_seconds * row.steps + row.nominal_seconds / fit.efficiency;
    fit.mean_error += std::abs(ours / row.seconds - 1) / static_cast<double>(rows.size());
  }
  return fit;
}

}  // namespace

bool IsTransfer(const TraceEvent& event) {
  return !event.collective.name.empty() || !event.collective.link.empty() ||
         event.name.starts_with("nccl") || event.name.starts_with("hcom_");
}

CollectiveFit FitCollectives(std::span<const TraceEvent> events, const HardwareProfile& profile) {
  // Where kernels do not say it, the host's operator that launched them does.
  std::map<std::int64_t, const TraceCollective*> launched;
  for (const TraceEvent& event : events) {
    if (!event.device && event.external_id >= 0 && !event.collective.name.empty()) {
      launched[event.external_id] = &event.collective;
    }
  }
  CollectiveFit fit;
  std::map<Transfer, double> fastest;
  std::map<std::size_t, std::int64_t> seen;
  for (const TraceEvent& event : events) {
    if (!event.device || !IsTransfer(event)) {
      continue;
    }
    const auto host = launched.find(event.external_id);
    const bool silent = event.collective.name.empty() && event.collective.link.empty();
    const auto transfer =
        TransferOf(silent && host != launched.end() ? *host->second : event.collective, profile);
    const double seconds = event.length * 1e-6;
    if (!transfer || seconds - profile.collective_launch_seconds < kShortest) {
      ++fit.left_out;
      continue;
    }
    const auto [at, fresh] = fastest.emplace(*transfer, seconds);
    at->second = std::min(at->second, seconds);
    ++seen[transfer->level];
  }
  std::map<std::size_t, std::vector<Row>> rows;
  for (const auto& [transfer, seconds] : fastest) {
    rows[transfer.level].push_back(RowOf(profile, transfer, seconds));
  }
  for (const auto& [level, points] : rows) {
    LevelFit one = Solve(points, profile.levels[level]);
    one.level = level;
    one.transfers = seen[level];
    fit.levels.push_back(one);
  }
  return fit;
}

void ApplyCollectives(const CollectiveFit& fit, const std::string& source,
                      HardwareProfile& profile) {
  for (const LevelFit& one : fit.levels) {
    NetworkLevel& level = profile.levels[one.level];
    level.latency_seconds = one.latency_seconds;
    level.efficiency = one.efficiency;
    for (NumberSource& number : profile.sources) {
      const std::string prefix = "levels." + level.name + ".";
      if (number.field == prefix + "latency_seconds" || number.field == prefix + "efficiency") {
        number.origin = "fitted";
        number.source = std::to_string(one.transfers) + " transfers of " + source;
      }
    }
  }
}

}  // namespace drydock::sim
