// What `drydock plan` found, as text and as JSON.
#include "reports/plan_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "reports/json_writer.h"
#include "reports/plan_settings.h"
#include "reports/text_table.h"

namespace drydock::reports {
namespace {

using sim::Plan;
using sim::PlanFigures;
using sim::StageMemory;
using sim::StepTime;
using sim::TrainingJob;

std::string Rounded(double value, int digits) {
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string Gibibytes(double bytes) {
  return BytesText(static_cast<std::int64_t>(std::min(bytes, 9e18)));
}

std::string Percent(double part, double whole) {
  return Rounded(whole > 0 ? 100 * part / whole : 0, 1) + " %";
}

/// Tokens in a second on one device.
double TokenRate(const TrainingJob& job, double seconds) {
  return static_cast<double>(job.global_batch) * static_cast<double>(job.sequence) /
         std::max(seconds, 1e-12) / static_cast<double>(job.devices);
}

std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right) {
  std::string text;
  for (const std::string& line : TableLines(rows, right, 2)) {
    text += line + "\n";
  }
  return text;
}

/// What the full run says, and by how much the closed form is off.
std::vector<std::string> FullCells(const PlannedRow& row) {
  if (!row.full) {
    return {"-", "-", "-", ""};
  }
  if (!row.full->problem.empty()) {
    return {"-", "-", "-", row.full->problem};
  }
  const double seconds = row.full->step_seconds;
  const auto peak = static_cast<double>(row.full->peak_bytes);
  const double off = peak > 0 ? 100 * (row.figures.peak_bytes / peak - 1) : 0;
  return {seconds > 0 ? Rounded(seconds, 3) + " s" : "-", Gibibytes(peak),
          (off >= 0 ? "+" : "") + Rounded(off, 1) + " %", row.full->fits ? "" : "does not fit"};
}

std::string BestTable(const PlanReport& report) {
  std::vector<std::vector<std::string>> rows = {{"", "plan", "step", "tokens/s/device", "memory",
                                                 "step in full", "memory in full", "closed form",
                                                 ""}};
  for (std::size_t i = 0; i < report.best.size(); ++i) {
    const PlannedRow& row = report.best[i];
    std::vector<std::string> cells = {std::to_string(i + 1), PlanText(row.figures.plan),
                                      Rounded(row.figures.step_seconds, 3) + " s",
                                      Rounded(TokenRate(report.job, row.figures.step_seconds), 0),
                                      Gibibytes(row.figures.peak_bytes)};
    for (std::string& cell : FullCells(row)) {
      cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(cells));
  }
  return Table(rows, {true, false, true, true, true, true, true, true, false});
}

/// That figures of very long steps are followed from shorter ones.
std::string LongSteps(const PlanReport& report) {
  for (const PlannedRow& row : report.best) {
    if (row.full && row.full->problem.empty() &&
        row.full->micro_batches < MicroBatches(report.job, row.figures.plan)) {
      return "  in full: of steps with four times as many micro batches as stages or more, two "
             "shorter ones are compiled;\n  each further micro batch adds what the second adds to "
             "the first\n";
    }
  }
  return "";
}

/// How many plans were compiled, where not all of the first did fit.
std::string Tried(const PlanReport& report) {
  const auto known = [](const PlannedRow& row) { return row.full && row.full->problem.empty(); };
  const auto compiled = std::ranges::count_if(report.best, known);
  const auto fitting = std::ranges::count_if(
      report.best, [&](const PlannedRow& row) { return known(row) && row.full->fits; });
  if (compiled == fitting) {
    return "";
  }
  return "  in full: " + std::to_string(fitting) + " of " + std::to_string(compiled) +
         " plans that were compiled fit" +
         (fitting < report.wanted ? "; no other is expected to\n" : "\n");
}

std::string FrontTable(const PlanReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanFigures& one : report.front) {
    rows.push_back(
        {Rounded(one.step_seconds, 3) + " s", Gibibytes(one.peak_bytes), PlanText(one.plan)});
    if (rows.size() == 12) {
      break;
    }
  }
  const std::size_t left = report.front.size() - rows.size();
  return Table(rows, {true, true, false}) +
         (left > 0 ? "  and " + std::to_string(left) + " more\n" : "");
}

std::string Indented(const std::string& text) {
  std::string indented;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    indented += "    " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return indented;
}

std::string Settings(const TrainingJob& job, const Plan& plan) {
  return "settings of plan 1, to paste\n  mindformers\n" + Indented(MindformersYaml(job, plan)) +
         "  MindSpore\n" + Indented(AutoParallelContext(job, plan)) + "  Megatron\n" +
         Indented(MegatronFlags(job, plan));
}

void WriteFigures(JsonWriter& json, const TrainingJob& job, const PlanFigures& figures) {
  json.Key("plan");
  json.Text(PlanText(figures.plan));
  json.Key("step_seconds");
  json.Number(figures.step_seconds);
  json.Key("tokens_per_second_per_device");
  json.Number(TokenRate(job, figures.step_seconds));
  json.Key("peak_bytes");
  json.Integer(std::llround(std::min(figures.peak_bytes, 9e18)));
}

void WriteFull(JsonWriter& json, const std::optional<FullRun>& full) {
  if (!full) {
    return;
  }
  json.Key("full_run");
  json.BeginObject(true);
  if (full->problem.empty()) {
    json.Key("peak_bytes");
    json.Integer(full->peak_bytes);
    json.Key("fits");
    json.Boolean(full->fits);
    json.Key("actual_peak_bytes");
    json.Integer(full->actual_bytes);
    json.Key("step_seconds");
    json.Number(full->step_seconds);
    json.Key("collectives");
    json.Integer(full->collectives);
    json.Key("compiled_micro_batches");
    json.Integer(full->micro_batches);
  } else {
    json.Key("problem");
    json.Text(full->problem);
  }
  json.EndObject();
}

using Share = std::pair<std::string_view, double>;

/// "compute 61.2 %, bubble 20.1 %, ..."; the largest first, nothing below a thousandth.
std::string Shares(std::vector<Share> parts, double whole) {
  std::ranges::stable_sort(parts, std::ranges::greater{}, &Share::second);
  std::string text;
  for (const auto& [name, value] : parts) {
    if (value > whole / 1000) {
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + Percent(value, whole);
    }
  }
  return text;
}

std::vector<Share> PartsOf(const StageMemory& memory) {
  return {{"weights", memory.weights},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"constants", memory.constants},
          {"gathered weights", memory.gathered},
          {"activations", memory.activations},
          {"embedding and loss", memory.borders},
          {"recomputed layer", memory.transient}};
}

std::vector<Share> PartsOf(const StepTime& step) {
  return {{"compute", step.compute},
          {"recomputation", step.again},
          {"tensor-parallel collectives", step.tensor},
          {"context-parallel collectives", step.context},
          {"expert AlltoAll", step.expert},
          {"messages between stages", step.pipeline},
          {"pipeline bubble", step.bubble},
          {"gradients and weights between replicas", step.data},
          {"optimizer", step.optimizer}};
}

/// What would help against the largest part of the step that is not computing.
std::string_view Remedy(std::string_view part) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRemedies = {
      {{"recomputation", "keep more: selective recomputation, or more devices per replica"},
       {"tensor-parallel collectives", "lower tp, or keep it inside a node"},
       {"expert AlltoAll", "lower ep, or keep it inside a node"},
       {"messages between stages", "lower pp or vpp"},
       {"pipeline bubble", "more micro batches (a smaller mb or dp), vpp, or a lower pp"},
       {"gradients and weights between replicas", "a larger batch, or a lower optimizer level"},
       {"context-parallel collectives", "lower cp"}}};
  for (const auto& [name, remedy] : kRemedies) {
    if (name == part) {
      return remedy;
    }
  }
  return "nothing stands out";
}

std::string_view LargestOverhead(const StepTime& step) {
  const std::vector<Share> parts = PartsOf(step);
  return std::max_element(parts.begin() + 1, parts.end(),
                          [](const Share& a, const Share& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

std::string PlanText(const PlanReport& report) {
  const TrainingJob& job = report.job;
  std::string text = job.model.name + ": " + std::to_string(CountParameters(job.model).Sum()) +
                     " weights, " + std::to_string(job.sequence) + " tokens x " +
                     std::to_string(job.global_batch) + " samples on " +
                     std::to_string(job.devices) + " x " + report.hardware + "\n";
  text += std::to_string(report.possible) + " plans are possible, " +
          std::to_string(report.fitting) + " fit into " + Gibibytes(report.limit_bytes) + " (" +
          Rounded(report.plans_per_second, 0) + " plans/s)\n\nbest plans\n" + BestTable(report) +
          Tried(report) + LongSteps(report);
  text += "\nfaster needs more memory (Pareto front)\n" + FrontTable(report);
  const bool fits =
      !report.best.empty() && (!report.best.front().full || report.best.front().full->fits ||
                               !report.best.front().full->problem.empty());
  if (fits) {
    text += "\n" + Settings(job, report.best.front().figures.plan);
  }
  return text;
}

std::string PlanJson(const PlanReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema");
  json.Text("drydock.plan/1");
  json.Key("model");
  json.Text(report.job.model.name);
  const std::array<std::pair<std::string_view, std::int64_t>, 7> numbers = {
      {{"parameters", CountParameters(report.job.model).Sum()},
       {"sequence", report.job.sequence},
       {"batch", report.job.global_batch},
       {"devices", report.job.devices},
       {"limit_bytes", std::llround(std::min(report.limit_bytes, 9e18))},
       {"possible", report.possible},
       {"fitting", report.fitting}}};
  for (const auto& [name, value] : numbers) {
    json.Key(name);
    json.Integer(value);
  }
  json.Key("hardware");
  json.Text(report.hardware);
  json.Key("best");
  json.BeginArray();
  for (const PlannedRow& row : report.best) {
    json.BeginObject();
    WriteFigures(json, report.job, row.figures);
    WriteFull(json, row.full);
    json.Key("mindformers");
    json.Text(MindformersYaml(report.job, row.figures.plan));
    json.Key("mindspore");
    json.Text(AutoParallelContext(report.job, row.figures.plan));
    json.Key("megatron");
    json.Text(MegatronFlags(report.job, row.figures.plan));
    json.EndObject();
  }
  json.EndArray();
  json.Key("front");
  json.BeginArray();
  for (const PlanFigures& one : report.front) {
    json.BeginObject(true);
    WriteFigures(json, report.job, one);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

std::string ExplainText(const TrainingJob& job, const sim::HardwareProfile& hardware,
                        double limit_bytes, const Plan& plan) {
  const sim::JobFacts facts = FactsOf(job);
  const sim::PlanMemory memory = MemoryOf(job, facts, plan);
  const double peak = memory.bytes.Sum();
  const StepTime step = TimeOf(job, facts, hardware, plan);
  std::string text = PlanText(plan) + "\nmemory: stage " + std::to_string(memory.stage) +
                     " needs most, " + Gibibytes(peak) + " of " + Gibibytes(limit_bytes) + ": ";
  text += peak <= limit_bytes ? Gibibytes(limit_bytes - peak) + " to spare\n"
                              : Gibibytes(peak - limit_bytes) + " too much\n";
  text += "  " + Shares(PartsOf(memory.bytes), peak) + "\n";
  text += "time: " + Rounded(step.Sum(), 3) + " s a step, " +
          Rounded(TokenRate(job, step.Sum()), 0) + " tokens/s on a device, " +
          std::to_string(MicroBatches(job, plan)) + " micro batches\n  " +
          Shares(PartsOf(step), step.Sum()) + "\n";
  const std::string_view overhead = LargestOverhead(step);
  text += peak > limit_bytes
              ? "limit: memory; higher tp, pp or op, smaller mb, or more recomputation needs less\n"
              : "limit: " + std::string(overhead) + "; " + std::string(Remedy(overhead)) + "\n";
  return text;
}

}  // namespace drydock::reports
