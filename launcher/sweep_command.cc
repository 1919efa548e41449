#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/estimate.h"
#include "launcher/files.h"
#include "launcher/full_run.h"
#include "launcher/progress.h"
#include "launcher/sweep_part.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxSweepBytes = std::size_t{1} << 30;

/// A line of the jobs file that holds something.
struct SweepLine {
  std::int64_t number = 0;
  std::string text = {};
  std::string request = {};  ///< Fingerprint.
};

Result<std::vector<SweepLine>> ReadLines(const std::string& file) {
  DRYDOCK_TRY(const std::string text, ReadFile(file, kMaxSweepBytes));
  std::vector<SweepLine> lines;
  std::istringstream stream(text);
  std::string line;
  for (std::int64_t number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      lines.push_back({.number = number, .text = line, .request = LineFingerprint(line)});
    }
  }
  return lines;
}

/// Answers of all part files of a folder, by line; one that is no error wins over one that is.
std::map<std::int64_t, SweepAnswer> KnownAnswers(const std::string& folder) {
  std::map<std::int64_t, SweepAnswer> known;
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with("part-")) {
      files.push_back(it->path().string());
    }
  }
  std::ranges::sort(files);
  for (const std::string& file : files) {
    const Result<std::string> text = ReadFile(file, kMaxSweepBytes);
    for (SweepAnswer& answer : ReadAnswers(text ? *text : std::string())) {
      const auto [found, fresh] = known.try_emplace(answer.line, answer);
      if (!fresh && (found->second.error || !answer.error)) {
        found->second = std::move(answer);
      }
    }
  }
  return known;
}

bool IsAnswered(const std::map<std::int64_t, SweepAnswer>& known, const SweepLine& line) {
  const auto found = known.find(line.number);
  return found != known.end() && found->second.request == line.request && !found->second.error;
}

/// Peaks of a dry run as one line of JSON.
Result<std::string> RunWords(const nlohmann::json& words, const Context& context) {
  std::vector<std::string> arguments;
  for (const nlohmann::json& word : words) {
    if (!word.is_string()) {
      return FailInput("Sweep:wrong-type", "'args' is not a list of texts",
                       "{\"args\": [\"--sim_level=1\", \"--worker_num=8\", \"net.py\"]}");
    }
    arguments.push_back(word.get<std::string>());
  }
  DRYDOCK_TRY(const sim::DryRunResult result, RunInFull(arguments, nullptr, context));
  std::int64_t peak = 0;
  std::int64_t actual = 0;
  for (const sim::ClassMemory& one : result.classes) {
    peak = std::max(peak, one.memory ? one.memory->used_peak_bytes : 0);
    actual = std::max(actual, one.memory ? one.memory->actual_peak_bytes : 0);
  }
  nlohmann::ordered_json answer = {{"agreement", result.agreement.holds},
                                   {"used_peak_bytes", peak},
                                   {"actual_peak_bytes", actual}};
  if (result.time) {
    answer["step_seconds"] = result.time->run.seconds;
  }
  return answer.dump();
}

/// `drydock sweep`: many jobs, split over the processes of an array job.
class SweepCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "sweep"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "answer a file of jobs, each process of an array job its part";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] jobs.jsonl"; }
  void AddFlags(FlagSet& flags) override {
    flags.AddText({"out", "DIR", "where answers go, and are found again (jobs.jsonl.out)"}, &out_);
    flags.AddText({"part", "INDEX/COUNT", "the part of this process; else that of the array job"},
                  &part_);
    flags.AddInt({"parts", "N", "how many parts there are, where the array job does not say"},
                 &parts_);
    flags.AddSwitch({"merge", "", "put the answers of all parts in the order of the jobs"},
                    &merge_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 1) {
      return FailCommand(FailureCode::kUsage, "expected one file with a job in each line",
                         "drydock sweep jobs.jsonl");
    }
    const std::string& file = flags.rest().front();
    const std::string folder = out_.empty() ? file + ".out" : out_;
    DRYDOCK_TRY(const std::vector<SweepLine> lines, ReadLines(file));
    if (merge_) {
      return Merge(lines, folder, context);
    }
    DRYDOCK_TRY(const SweepPart part, PartOf(part_, parts_, context.environment));
    DRYDOCK_RETURN_IF_ERROR(PrepareFolder(folder));
    return Answer(lines, part, file, folder, context);
  }

 private:
  [[nodiscard]] static Result<std::string> AnswerOne(const SweepLine& line,
                                                     const std::string& place, Estimator& estimator,
                                                     const Context& context) {
    const nlohmann::json job = nlohmann::json::parse(line.text, nullptr, false);
    if (job.is_object() && job.contains("args") && job["args"].is_array()) {
      return RunWords(job["args"], context);
    }
    return estimator.Answer(line.text, place);
  }

  [[nodiscard]] static Result<ExitCode> Answer(const std::vector<SweepLine>& lines,
                                               const SweepPart& part, const std::string& file,
                                               const std::string& folder, const Context& context) {
    const std::map<std::int64_t, SweepAnswer> known = KnownAnswers(folder);
    std::vector<const SweepLine*> open;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (static_cast<std::int64_t>(i) % part.count == part.index && !IsAnswered(known, lines[i])) {
        open.push_back(&lines[i]);
      }
    }
    const std::string name =
        "part-" + std::to_string(part.index) + "-of-" + std::to_string(part.count) + ".jsonl";
    std::ofstream output(PathIn(folder, name), std::ios::app);
    Estimator estimator;
    Progress progress("sweep", open.size());
    std::int64_t failed = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const SweepLine& line = *open[i];
      progress.Show(i, "line " + std::to_string(line.number));
      const Result<std::string> answer =
          AnswerOne(line, file + ":" + std::to_string(line.number), estimator, context);
      failed += answer ? 0 : 1;
      output << AnswerLine(line.number, line.request, answer ? *answer : answer.error().message,
                           !answer)
             << std::endl;  // each line is kept, whatever ends this process
    }
    if (!output) {
      return FailCommand(FailureCode::kReportWrite,
                         "'" + PathIn(folder, name) + "' cannot be written");
    }
    context.out << open.size() << " answered, " << failed << " of them with an error, "
                << lines.size() << " in all\n";
    return failed > 0 ? ExitCode::kRankFailed : ExitCode::kOk;
  }

  [[nodiscard]] static Result<ExitCode> Merge(const std::vector<SweepLine>& lines,
                                              const std::string& folder, const Context& context) {
    const std::map<std::int64_t, SweepAnswer> known = KnownAnswers(folder);
    std::string merged;
    std::string missing;
    std::int64_t left = 0;
    for (const SweepLine& line : lines) {
      const auto found = known.find(line.number);
      if (found == known.end() || found->second.request != line.request) {
        missing += ++left <= 10 ? " " + std::to_string(line.number) : "";
        continue;
      }
      merged += found->second.text + "\n";
    }
    context.out << merged;
    if (left > 0) {
      return FailCommand(FailureCode::kRankFailed,
                         std::to_string(left) + " of " + std::to_string(lines.size()) +
                             " jobs have no answer yet: lines" + missing +
                             (left > 10 ? " ..." : ""),
                         "run the parts that are missing once more; what is complete is kept");
    }
    return ExitCode::kOk;
  }

  std::string out_ = {};
  std::string part_ = {};
  std::int64_t parts_ = 0;
  bool merge_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSweepCommand() {
  return std::make_unique<SweepCommand>();
}

}  // namespace drydock::launcher
