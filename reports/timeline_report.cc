#include "reports/timeline_report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace drydock::reports {
namespace {

constexpr std::size_t kMostScopes = 1000;
constexpr std::size_t kMostPathParts = 200;

constexpr std::array<std::string_view, 7> kPatternNames = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
    "broadcast",  "neighbours", "message"};

std::string_view PatternName(sim::CollectivePattern pattern) {
  return kPatternNames[static_cast<std::size_t>(pattern)];
}

HardwareReport HardwareOf(const sim::HardwareProfile& profile) {
  HardwareReport report{.name = profile.name,
                        .description = profile.description,
                        .devices_per_node = profile.devices_per_node};
  for (const sim::NumberSource& number : profile.sources) {
    if (number.origin == "assumed") {
      report.assumed.push_back(number.field);
    }
  }
  return report;
}

std::vector<LevelTimeReport> LevelsOf(const sim::DryRunResult& result, const sim::TimeLine& line) {
  std::vector<LevelTimeReport> levels;
  for (std::size_t l = 0; l < line.hardware.levels.size(); ++l) {
    LevelTimeReport level{.name = line.hardware.levels[l].name};
    std::int64_t ranks = 0;
    for (std::size_t c = 0; c < line.classes.size(); ++c) {
      const sim::TimedClass& item = line.plan.classes[c];
      const double bytes = line.classes[c].level_bytes[l];
      ranks += item.rank_count;
      level.job_bytes += bytes * static_cast<double>(item.rank_count);
      if (bytes > level.busiest_bytes) {
        level.busiest_bytes = bytes;
        level.busiest_stage = ToInt(result.job.programs[item.program].stage);
      }
    }
    level.rank_bytes = level.job_bytes / static_cast<double>(std::max<std::int64_t>(ranks, 1));
    levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<ClassTimeReport> ClassesOf(const sim::DryRunResult& result, const sim::TimeLine& line) {
  std::vector<ClassTimeReport> classes;
  for (std::size_t c = 0; c < line.classes.size(); ++c) {
    const sim::ClassTime& time = line.classes[c];
    const sim::TimedClass& item = line.plan.classes[c];
    classes.push_back({.ranks = RankSetText(item.ranks),
                       .stage = ToInt(result.job.programs[item.program].stage),
                       .end_seconds = time.end_seconds,
                       .busy_seconds = time.busy_seconds,
                       .exposed_seconds = time.exposed_seconds,
                       .bubble_seconds = time.bubble_seconds,
                       .transfer_seconds = time.transfer_seconds,
                       .model_flops = time.model_flops,
                       .hardware_flops = time.hardware_flops});
  }
  return classes;
}

std::vector<TransferTimeReport> TransfersOf(const sim::TimeLine& line) {
  std::vector<TransferTimeReport> list;
  for (const sim::TransferTime& item : line.transfers) {
    list.push_back({.kind = std::string(PatternName(item.pattern)),
                    .group_size = item.group_size,
                    .ranks = item.ranks,
                    .level = line.hardware.levels[item.level].name,
                    .algorithm = std::string(CollectiveAlgorithmName(item.algorithm)),
                    .count = item.count,
                    .bytes = item.bytes,
                    .seconds = item.seconds,
                    .exposed_seconds = item.exposed_seconds,
                    .hidden_seconds = item.seconds - item.exposed_seconds});
  }
  return list;
}

void AddLists(const sim::TimeLine& line, TimelineReport& report) {
  for (const sim::OperatorTime& item : line.operators) {
    report.operators.push_back({.kernel = item.op,
                                .work = std::string(EfficiencyKindName(item.kind)),
                                .count = item.kernels,
                                .seconds = item.seconds,
                                .flops = item.flops});
  }
  for (const sim::ScopeTime& item : line.scopes) {
    if (report.scopes.size() == kMostScopes) {
      ++report.scopes_left_out;
      continue;
    }
    report.scopes.push_back({.scope = item.scope,
                             .seconds = item.seconds,
                             .recomputed_seconds = item.recomputed_seconds});
  }
  for (const sim::PathPart& part : line.path) {
    if (report.critical_path.size() == kMostPathParts) {
      report.path_left_out_seconds += part.seconds;
      continue;
    }
    report.critical_path.push_back({.operator_ = part.op,
                                    .stage = part.stage,
                                    .transfer = part.transfer,
                                    .count = part.tasks,
                                    .seconds = part.seconds,
                                    .place = ToPlaceReport(part.place)});
  }
}

StepFigures FiguresOf(const sim::TimeLine& line) {
  const sim::MeanTime mean = MeanOf(line);
  StepFigures figures{.step_seconds = line.run.seconds,
                      .model_utilisation = mean.model_utilisation,
                      .hardware_utilisation = mean.hardware_utilisation,
                      .peak_flops = line.peak_flops,
                      .peak_type = std::string(DTypeName(line.flops_type)),
                      .busy_share = mean.busy,
                      .exposed_share = mean.exposed,
                      .bubble_share = mean.bubble};
  const auto rate = [&](std::optional<std::int64_t> count) {
    return count && line.run.seconds > 0
               ? std::optional(static_cast<double>(*count) / line.run.seconds)
               : std::nullopt;
  };
  figures.samples_per_second = rate(line.samples);
  figures.tokens_per_second = rate(line.tokens);
  return figures;
}

/// What a time leaves out, so that nobody takes it for more than it is.
std::vector<std::string> NotModelled(const sim::DryRunResult& result, const sim::TimeLine& line) {
  std::vector<std::string> list = {
      "the host: launching kernels never falls behind, and the script between steps takes no time",
      "loading of data and checkpoints",
      "congestion between groups of different ranks beyond the profile's oversubscription",
      "values: experts get equal shares of tokens, loops on values run once"};
  if (result.job.classes.front().runs.size() > 1) {
    list.emplace_back("what the script computes besides the step that is described");
  }
  if (line.plan.unmet_transfers > 0) {
    list.push_back(
        fmt::format("{} messages whose other end is not modelled: nothing waits for them",
                    line.plan.unmet_transfers));
  }
  if (line.jitter == 0) {
    list.emplace_back("slow devices and chance (--jitter)");
  }
  return list;
}

/// 1234567.8 -> "1,234,568"; small ones keep three digits.
std::string RateText(double rate) {
  if (rate < 100) {
    return fmt::format("{:.3g}", rate);
  }
  std::string digits = fmt::format("{:.0f}", rate);
  for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3) {
    digits.insert(static_cast<std::size_t>(place), ",");
  }
  return digits;
}

}  // namespace

std::optional<TimelineReport> BuildTimelineReport(const RunReport& run,
                                                  const sim::DryRunResult& result) {
  if (!result.time) {
    return std::nullopt;
  }
  const sim::TimeLine& line = *result.time;
  TimelineReport report;
  report.run = run;
  report.hardware = HardwareOf(line.hardware);
  static_cast<StepFigures&>(report) = FiguresOf(line);
  report.samples = line.samples;
  report.tokens = line.tokens;
  report.jitter = line.jitter;
  report.seed = static_cast<std::int64_t>(line.seed);
  report.events = line.run.events;
  report.levels = LevelsOf(result, line);
  report.classes = ClassesOf(result, line);
  report.transfers = TransfersOf(line);
  report.not_modelled = NotModelled(result, line);
  AddLists(line, report);
  return report;
}

TimeSummaryReport SummaryOf(const TimelineReport& report) {
  TimeSummaryReport summary;
  static_cast<StepFigures&>(summary) = report;
  summary.hardware = report.hardware.name;
  summary.assumed_numbers = std::ssize(report.hardware.assumed);
  summary.not_modelled = "host, data, checkpoints, congestion";
  const auto most =
      std::ranges::max_element(report.transfers, {}, &TransferTimeReport::exposed_seconds);
  if (most != report.transfers.end()) {
    summary.most_exposed = fmt::format("{} x{} ({})", most->kind, most->group_size, most->level);
    summary.most_exposed_seconds = most->exposed_seconds;
  }
  if (!report.critical_path.empty()) {
    const PathPartReport& longest = report.critical_path.front();
    const std::string place = ShortPlaceText(longest.place);
    summary.longest_line = longest.operator_ + (place.empty() ? "" : " " + place);
    summary.longest_line_seconds = longest.seconds;
  }
  return summary;
}

std::string SecondsText(double seconds) {
  if (seconds >= 1) {
    return fmt::format("{:.2f} s", seconds);
  }
  return seconds >= 1e-3 ? fmt::format("{:.2f} ms", seconds * 1e3)
                         : fmt::format("{:.1f} us", seconds * 1e6);
}

std::vector<std::string> TimeLines(const TimeSummaryReport& time) {
  std::string head =
      fmt::format("time per step on {}: {}", time.hardware, SecondsText(time.step_seconds));
  if (time.samples_per_second) {
    head += fmt::format(", {} samples/s", RateText(*time.samples_per_second));
  }
  if (time.tokens_per_second) {
    head += fmt::format(", {} tokens/s", RateText(*time.tokens_per_second));
  }
  std::string held =
      fmt::format("  critical {} {}", time.longest_line, SecondsText(time.longest_line_seconds));
  if (time.most_exposed_seconds > 0) {
    held +=
        fmt::format(", exposed {} {}", time.most_exposed, SecondsText(time.most_exposed_seconds));
  }
  return {
      std::move(head),
      fmt::format("  busy {:.1f} %, exposed {:.1f} %, bubble {:.1f} %; MFU {:.1f} %, HFU {:.1f} %",
                  100 * time.busy_share, 100 * time.exposed_share, 100 * time.bubble_share,
                  100 * time.model_utilisation, 100 * time.hardware_utilisation),
      std::move(held),
      fmt::format("  not modelled: {}; {} profile numbers assumed", time.not_modelled,
                  time.assumed_numbers)};
}

}  // namespace drydock::reports
