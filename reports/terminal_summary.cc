#include "reports/terminal_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/text.h"
#include "reports/text_table.h"
#include "reports/timeline_report.h"
#include "sim/memory/device_memory.h"

namespace drydock::reports {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kShownClasses = 4;
constexpr std::size_t kShownTensors = 3;
constexpr std::size_t kShownKinds = 5;
constexpr std::size_t kDiagnosticLines = 3;
constexpr std::size_t kShownCauses = 3;
constexpr std::size_t kNameColumns = 32;
constexpr std::size_t kRanksColumns = 24;
constexpr std::size_t kTrialIndent = 19;
constexpr std::size_t kShownFound = 24;  ///< Strategies that a search found.
constexpr double kNothing = 1e-9;        ///< Gaps below are rounding.

using Row = std::vector<std::string>;

class Page {
 public:
  explicit Page(bool color) : color_(color) {}

  void Line(std::string_view text) { text_ += FitText(text, kTerminalColumns) + "\n"; }
  void Lines(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      Line(line);
    }
  }
  void Blank() { text_ += "\n"; }
  /// A sentence, on as many lines as it takes; those behind the first begin with `indent` blanks.
  void Wrapped(std::string_view text, std::size_t indent, std::string_view style = {}) {
    for (const std::string& line : WrappedLines(text, kTerminalColumns, indent)) {
      if (style.empty()) {
        Line(line);
      } else {
        Styled(line, style);
      }
    }
  }
  /// A line in the given ANSI style ("1" bold, "1;32" bold green) if colours are wanted.
  void Styled(std::string_view text, std::string_view style) {
    const std::string fitted = FitText(text, kTerminalColumns);
    text_ += color_ ? fmt::format("\x1b[{}m{}\x1b[0m\n", style, fitted) : fitted + "\n";
  }
  void Heading(std::string_view text) { Styled(text, "1"); }
  [[nodiscard]] std::string Take() && { return std::move(text_); }

 private:
  bool color_;
  std::string text_;
};

std::string Ranks(std::int64_t count) {
  return fmt::format("{} rank{}", count, count == 1 ? "" : "s");
}

void AddError(Page& page, const ErrorReport& error) {
  if (error.place) {
    page.Wrapped(fmt::format("  at {}: {}", ShortPlaceText(error.place), error.place->text),
                 2 * kIndent);
  }
  for (const std::string& note : error.notes) {
    page.Wrapped("  note: " + note, 2 * kIndent);
  }
  if (!error.hint.empty()) {
    page.Wrapped("  hint: " + error.hint, 2 * kIndent);
  }
}

void AddHead(Page& page, const SummaryReport& summary) {
  const CheckedReport& checked = summary.checked;
  std::string mode = checked.parallel_mode;
  if (!checked.search_mode.empty()) {
    mode += "/" + checked.search_mode;
  }
  page.Wrapped(fmt::format("{}: {}", summary.verdict, summary.verdict_text), kIndent,
               summary.verdict == "ok" ? "1;32" : "1;31");
  if (summary.error) {
    AddError(page, *summary.error);
  }
  page.Wrapped(fmt::format("{}: {}, {}, level {}", checked.subject, Ranks(checked.world_size), mode,
                           checked.simulation_level),
               kIndent);
  page.Wrapped(fmt::format("defaults of MindSpore {} ({}), data set {}, {}", checked.compat,
                           checked.compat_from, checked.dataset_strategy, checked.device_target),
               kIndent);
}

/// What was tried because the job does not fit; what fits first.
void AddTrials(Page& page, std::vector<FitTrialReport> trials) {
  if (trials.empty()) {
    return;
  }
  std::ranges::stable_sort(trials, std::ranges::greater(), &FitTrialReport::fits);
  page.Heading(trials.front().fits ? "what would fit, tried by compiling it:"
                                   : "tried by compiling it, and does not fit either:");
  for (const FitTrialReport& trial : trials) {
    std::string text = trial.problem.empty() ? BytesText(trial.peak_bytes) : "rejected";
    text = fmt::format("  {:<4}  {:>9}  {}", trial.fits ? "fits" : "no", text, trial.change);
    if (trial.step_seconds) {
      text += ", step " + SecondsText(*trial.step_seconds);
    }
    page.Wrapped(trial.problem.empty() ? text : text + ": " + trial.problem, kTrialIndent);
  }
}

void AddOperators(Page& page, const SummaryReport& summary) {
  std::int64_t total = 0;
  std::string sources;
  for (const SourceCountReport& count : summary.operators) {
    total += count.operators;
    if (count.operators > 0) {
      sources += fmt::format("{}{} {}", sources.empty() ? "" : ", ", count.operators, count.source);
    }
  }
  page.Wrapped(fmt::format("operators: {}, strategies by {}; {} redistribution{}", total,
                           sources.empty() ? "nobody" : sources, summary.redistributions,
                           summary.redistributions == 1 ? "" : "s"),
               kIndent);
}

/// What the cost of another search is beside ours: "dynamic_programming 1.25 x".
std::string BesideOurs(std::string_view name, const std::optional<double>& cost, double ours) {
  return cost ? fmt::format(", {} {:.3g} x", name, *cost / std::max(1.0, ours)) : "";
}

/// What the search found, how good that is, and what to paste.
void AddSearch(Page& page, const SearchReport& search) {
  page.Blank();
  const std::string proof = search.gap < kNothing
                                ? "nothing costs less"
                                : fmt::format("at most {:.3g} % above the least", 100 * search.gap);
  page.Wrapped(
      fmt::format(
          "search: cost {:.4g}, {}{}{}", search.cost, proof,
          BesideOurs("dynamic_programming", search.dynamic_programming_cost, search.cost),
          BesideOurs("recursive_programming", search.recursive_programming_cost, search.cost)),
      kIndent, "1");
  if (search.limit_bytes > 0) {
    page.Wrapped(fmt::format("  memory by the search's estimate: {} of {}{}",
                             BytesText(search.estimated_bytes), BytesText(search.limit_bytes),
                             search.fits ? "" : "; nothing that fits was found"),
                 2 * kIndent);
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(kShownFound, search.strategies.size()); ++i) {
    const FoundStrategyReport& item = search.strategies[i];
    rows.push_back({ShortPlaceText(item.place), item.name, item.paste,
                    item.count > 1 ? fmt::format("{} times", item.count) : ""});
  }
  page.Lines(TableLines(rows, {}, kIndent));
  if (search.strategies.size() > kShownFound) {
    page.Line(fmt::format("  and {} more in summary.json, search.strategies",
                          search.strategies.size() - kShownFound));
  }
}

std::string FirstRank(const RankClassReport& item) {
  return item.ranks.substr(0, item.ranks.find_first_of("-,:"));
}

/// Heaviest classes first; equal ones keep their order.
std::vector<RankClassReport> ByPeak(std::vector<RankClassReport> classes) {
  std::ranges::stable_sort(classes, std::ranges::greater(), &RankClassReport::actual_peak_bytes);
  return classes;
}

/// "of the 22.5 KiB of rank 0: communication 18.0 KiB, parameters 2.0 KiB"
void AddBreakdown(Page& page, const RankClassReport& heaviest) {
  std::vector<MemoryPartReport> parts = heaviest.breakdown;
  std::erase_if(parts, [](const MemoryPartReport& part) { return part.bytes == 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &MemoryPartReport::bytes);
  std::string text;
  for (const MemoryPartReport& part : parts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.part, BytesText(part.bytes));
  }
  if (!text.empty()) {
    page.Wrapped(fmt::format("  of the {} of rank {}: {}", BytesText(heaviest.used_peak_bytes),
                             FirstRank(heaviest), text),
                 2 * kIndent);
  }
}

void AddTensors(Page& page, const RankClassReport& heaviest) {
  const std::string where =
      heaviest.peak.name.empty() ? "before the first operator" : "at " + heaviest.peak.name;
  const std::string place = ShortPlaceText(heaviest.peak.place);
  page.Line(fmt::format("  largest tensors {}{}:", where, place.empty() ? "" : " (" + place + ")"));
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(kShownTensors, heaviest.largest.size()); ++i) {
    const PeakTensorReport& tensor = heaviest.largest[i];
    rows.push_back({BytesText(tensor.bytes), FitText(tensor.name, kNameColumns), tensor.part,
                    ShortPlaceText(tensor.place)});
  }
  page.Lines(TableLines(rows, {true}, 2 * kIndent));
}

void AddMemory(Page& page, const MemoryReport& memory) {
  page.Blank();
  page.Heading("memory per rank");
  const std::vector<RankClassReport> classes = ByPeak(memory.classes);
  std::vector<Row> rows = {{"ranks", "stage", "peak", "with fragments", "limit", "head-room"}};
  for (std::size_t i = 0; i < std::min(kShownClasses, classes.size()); ++i) {
    const RankClassReport& item = classes[i];
    rows.push_back(
        {FitText(item.ranks, kRanksColumns), std::to_string(item.stage),
         BytesText(item.used_peak_bytes), BytesText(item.actual_peak_bytes),
         BytesText(item.limit_bytes),
         item.fits ? BytesText(item.head_room_bytes) : "-" + BytesText(-item.head_room_bytes)});
  }
  page.Lines(TableLines(rows, {false, true, true, true, true, true}, kIndent));
  if (classes.size() > kShownClasses) {
    page.Line(fmt::format("  and {} more classes of ranks that need less",
                          classes.size() - kShownClasses));
  }
  if (!classes.empty()) {
    AddBreakdown(page, classes.front());
    AddTensors(page, classes.front());
  }
}

void AddCommunication(Page& page, const SummaryReport& summary) {
  if (!summary.communication) {
    return;
  }
  page.Blank();
  const CommunicationTotal& total = *summary.communication;
  if (total.count == 0) {
    page.Heading("communication: none");
    return;
  }
  page.Heading(fmt::format("communication per rank and step: {} collective{}, {} sent", total.count,
                           total.count == 1 ? "" : "s", BytesText(total.sent_bytes)));
  std::vector<Row> rows;
  const auto cells = [](const std::vector<CommunicationTotal>& list, std::size_t i) {
    return i < list.size()
               ? Row{list[i].key, std::to_string(list[i].count), BytesText(list[i].sent_bytes)}
               : Row{"", "", ""};
  };
  const std::size_t kinds = std::min(kShownKinds, summary.communication_by_kind.size());
  const std::size_t count = std::max(kinds, summary.communication_by_phase.size());
  for (std::size_t i = 0; i < count; ++i) {
    Row row = i < kinds ? cells(summary.communication_by_kind, i) : Row{"", "", ""};
    const Row phase = cells(summary.communication_by_phase, i);
    row.emplace_back();  // A gap between kinds and phases.
    row.insert(row.end(), phase.begin(), phase.end());
    rows.push_back(std::move(row));
  }
  page.Lines(TableLines(rows, {false, true, true, false, false, true, true}, kIndent));
}

/// Causes of what the described rank sends; those that differ in their groups only are one.
std::vector<CauseReport> CausesOfRank(const CommunicationReport& communication) {
  const std::optional<std::string> ranks =
      communication.collectives.empty() ? std::nullopt : communication.collectives.front().ranks;
  std::map<std::array<std::string, 4>, CauseReport> causes;
  for (const CauseReport& item : communication.causes) {
    if (item.sent_bytes > 0 && item.ranks == ranks) {
      const auto [found, added] = causes.try_emplace(
          {item.kind, item.reason, item.phase, ShortPlaceText(item.place)}, item);
      if (!added) {
        found->second.count += item.count;
        found->second.sent_bytes = AddSaturated(found->second.sent_bytes, item.sent_bytes);
      }
    }
  }
  std::vector<CauseReport> list;
  for (const auto& [key, cause] : causes) {
    list.push_back(cause);
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &CauseReport::sent_bytes);
  return list;
}

/// The most expensive causes: why something is sent, and the line it is sent for.
void AddCauses(Page& page, const CommunicationReport& communication) {
  const std::vector<CauseReport> list = CausesOfRank(communication);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(kShownCauses, list.size()); ++i) {
    const CauseReport& item = list[i];
    const std::string more = item.count > 1 ? fmt::format(" and {} more", item.count - 1) : "";
    rows.push_back({BytesText(item.sent_bytes), item.kind,
                    FitText((item.why.empty() ? item.reason : item.why) + more, kNameColumns + 6),
                    ShortPlaceText(item.place)});
  }
  if (!rows.empty()) {
    page.Line("  most of it because of:");
    page.Lines(TableLines(rows, {true}, 2 * kIndent));
  }
}

/// One line if that fits or has to, else the text below code and place, wrapped.
std::vector<std::string> DiagnosticLines(const DiagnosticReport& item, bool may_take_two) {
  std::string where = ShortPlaceText(item.place);
  if (item.count > 1) {
    where = fmt::format("{} times{}{}", item.count, where.empty() ? "" : ", first at ", where);
  }
  where = where.empty() ? "" : " (" + where + ")";
  const std::string head =
      fmt::format("  {}{}", item.unsupported ? "unsupported: " : "", item.code);
  std::string whole = head + ": " + item.text + where;
  if (whole.size() <= kTerminalColumns || !may_take_two) {
    return {std::move(whole)};
  }
  std::vector<std::string> lines = WrappedLines("    " + item.text, kTerminalColumns, 2 * kIndent);
  lines.insert(lines.begin(), head + where);
  return lines;
}

void AddTime(Page& page, const TimeSummaryReport& time) {
  page.Blank();
  const std::vector<std::string> lines = TimeLines(time);
  page.Heading(lines.front());
  page.Lines({lines.begin() + 1, lines.end()});
}

void AddDiagnostics(Page& page, const SummaryReport& summary) {
  if (summary.diagnostics.empty()) {
    return;
  }
  page.Blank();
  page.Heading(fmt::format("{} diagnostic{}", summary.diagnostics.size(),
                           summary.diagnostics.size() == 1 ? "" : "s"));
  const std::size_t shown = std::min(kDiagnosticLines, summary.diagnostics.size());
  std::size_t spare = kDiagnosticLines - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::vector<std::string> lines = DiagnosticLines(summary.diagnostics[i], spare > 0);
    spare -= std::min(spare, lines.size() - 1);
    page.Lines(lines);
  }
  if (shown < summary.diagnostics.size()) {
    page.Line(fmt::format("  and {} more in the report", summary.diagnostics.size() - shown));
  }
}

void AddFiles(Page& page, const SummaryReport& summary, const std::string& folder) {
  if (summary.files.empty()) {
    return;
  }
  std::string names;
  for (const std::string& file : summary.files) {
    names += (names.empty() ? "" : ", ") + file;
  }
  page.Blank();
  page.Wrapped(
      folder.empty() ? "reports: " + names : fmt::format("reports in {}: {}", folder, names),
      kIndent);
}

void AddVerbose(Page& page, const MemoryReport& memory) {
  if (memory.classes.empty()) {
    return;
  }
  const RankClassReport& heaviest = memory.classes[static_cast<std::size_t>(memory.heaviest)];
  page.Blank();
  page.Heading(fmt::format("as MindSpore prints it, ranks {}", heaviest.ranks));
  page.Lines(sim::PeakReportLines(
      {.device = {.total_bytes = memory.device_bytes, .ms_used_bytes = memory.limit_bytes},
       .used_peak_bytes = heaviest.used_peak_bytes,
       .actual_peak_bytes = heaviest.actual_peak_bytes,
       .reserved_bytes = heaviest.reserved_bytes}));
}

}  // namespace

std::string TerminalSummary(const SummaryReport& summary, const std::optional<MemoryReport>& memory,
                            const TerminalOptions& options) {
  Page page(options.color);
  AddHead(page, summary);
  AddTrials(page, summary.trials);
  if (!summary.error) {
    AddOperators(page, summary);
  }
  if (summary.search) {
    AddSearch(page, *summary.search);
  }
  if (memory) {
    AddMemory(page, *memory);
  }
  AddCommunication(page, summary);
  if (options.communication != nullptr) {
    AddCauses(page, *options.communication);
  }
  if (summary.time) {
    AddTime(page, *summary.time);
  }
  AddDiagnostics(page, summary);
  if (memory && options.verbose) {
    AddVerbose(page, *memory);
  }
  AddFiles(page, summary, options.output_folder);
  return std::move(page).Take();
}

}  // namespace drydock::reports
