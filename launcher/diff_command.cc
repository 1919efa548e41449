#include <algorithm>

#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/msrun_options.h"
#include "launcher/simulate.h"
#include "reports/report_diff.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxReportBytes = std::size_t{1} << 30;
constexpr std::size_t kMostLines = 10;

/// A report of a folder, empty if the run did not write it.
std::string Optional(const std::string& folder, const std::string& name) {
  const Result<std::string> text = ReadFile(PathIn(folder, name), kMaxReportBytes);
  return text ? *text : std::string();
}

Result<reports::ReportTexts> ReadReports(const std::string& folder) {
  reports::ReportTexts texts{.folder = folder,
                             .memory = Optional(folder, "memory.json"),
                             .communication = Optional(folder, "communication.json"),
                             .timeline = Optional(folder, "timeline.json")};
  if (texts.memory.empty() && texts.communication.empty() && texts.timeline.empty()) {
    return FailCommand(FailureCode::kNoReports, "there is no report in '" + folder + "'",
                       "give the --log_dir of a finished dry run");
  }
  return texts;
}

/// Prints what changed; the exit status says whether something got worse, if that was asked.
Result<ExitCode> Compare(const std::string& before, const std::string& after, bool json, bool fail,
                         const Context& context, double tolerance) {
  DRYDOCK_TRY(const reports::ReportTexts first, ReadReports(before));
  DRYDOCK_TRY(const reports::ReportTexts second, ReadReports(after));
  DRYDOCK_TRY(const reports::ReportDiff diff, reports::DiffReports(first, second));
  context.out << (json ? reports::DiffJson(diff) : reports::DiffText(diff, kMostLines));
  return fail && reports::IsRegression(diff, tolerance) ? ExitCode::kRankFailed : ExitCode::kOk;
}

/// `drydock diff A B`: what changed between two dry runs.
class DiffCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "diff"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "what changed between two report folders: memory, communication, time";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] before_folder after_folder"; }
  void AddFlags(FlagSet& flags) override {
    flags.AddSwitch({"json", "", "print JSON (schema drydock.diff/1)"}, &json_);
    flags.AddSwitch({"fail_on_regression", "", "exit 1 if a peak, the bytes sent or the step grew"},
                    &fail_);
    flags.AddInt({"tolerance", "PERCENT", "growth that is not a regression (0)"},
                 &tolerance_percent_);
  }
  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 2) {
      return FailCommand(FailureCode::kUsage, "expected two report folders",
                         "drydock diff before after");
    }
    return Compare(flags.rest()[0], flags.rest()[1], json_, fail_, context,
                   static_cast<double>(tolerance_percent_) / 100);
  }

 private:
  bool json_ = false;
  bool fail_ = false;
  std::int64_t tolerance_percent_ = 0;
};

/// What a report says of the command that made it.
struct FormerRun {
  std::string subject = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> flags = {};  ///< "worker_num=8".
};

std::vector<std::string> Texts(const nlohmann::json& object, const char* key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found != object.end() && found->is_array()) {
    for (const nlohmann::json& one : *found) {
      if (one.is_string()) {
        texts.push_back(one.get<std::string>());
      }
    }
  }
  return texts;
}

Result<FormerRun> ReadFormerRun(const std::string& folder) {
  DRYDOCK_TRY(const std::string text, ReadFile(PathIn(folder, "summary.json"), kMaxReportBytes));
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  const auto run = document.is_object() ? document.find("run") : document.end();
  if (run == document.end() || !run->is_object() || !run->contains("subject") ||
      !(*run)["subject"].is_string()) {
    return FailCommand(FailureCode::kNoReports,
                       "summary.json in '" + folder + "' does not say what was run",
                       "run the script once more with --log_dir=" + folder);
  }
  return FormerRun{.subject = (*run)["subject"].get<std::string>(),
                   .arguments = Texts(*run, "arguments"),
                   .flags = Texts(*run, "flags")};
}

std::string WithUnderscores(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

/// Puts `value` where the script's argument `name` stands, or behind the others.
void SetArgument(std::vector<std::string>& arguments, const std::string& name,
                 const std::string& value) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") ||
        WithUnderscores(std::string_view(word).substr(
            2, equals == std::string::npos ? equals : equals - 2)) != name) {
      continue;
    }
    if (equals != std::string::npos) {
      arguments[i] = word.substr(0, equals + 1) + value;
    } else if (i + 1 < arguments.size()) {
      arguments[i + 1] = value;
    } else {
      arguments.push_back(value);
    }
    return;
  }
  arguments.push_back("--" + name + "=" + value);
}

/// `drydock whatif REPORT --set name=value`: the same run with something changed, beside it.
class WhatifCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "whatif"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "run a dry run once more with something changed, and say what that changes";
  }
  [[nodiscard]] std::string Usage() const override {
    return "--set NAME=VALUE [flags] report_folder";
  }
  void AddFlags(FlagSet& flags) override {
    flags.Add({"set", "NAME=VALUE", "flag of msrun or argument of the script; may be repeated"},
              [this](std::string_view word) -> Status {
                if (word.find('=') == std::string_view::npos || word.starts_with("=")) {
                  return Fail(ErrorCode::kInvalidArgument,
                              "expected NAME=VALUE, got '" + std::string(word) + "'");
                }
                changes_.emplace_back(word);
                return {};
              });
    flags.AddText({"log_dir", "DIR", "where the new reports go (REPORT.whatif)"}, &log_dir_);
    flags.AddSwitch({"json", "", "print JSON (schema drydock.diff/1)"}, &json_);
    flags.AddSwitch({"fail_on_regression", "", "exit 1 if a peak, the bytes sent or the step grew"},
                    &fail_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 1 || changes_.empty()) {
      return FailCommand(FailureCode::kUsage, "expected --set NAME=VALUE and one report folder",
                         "drydock whatif --set batch_size=8 report_folder");
    }
    const std::string& folder = flags.rest().front();
    DRYDOCK_TRY(FormerRun run, ReadFormerRun(folder));
    const std::string target = log_dir_.empty() ? folder + ".whatif" : log_dir_;
    DRYDOCK_TRY(const MsrunOptions options, Changed(std::move(run), target, context));
    DRYDOCK_TRY(const ExitCode code, Simulate(options, context));
    if (code != ExitCode::kOk) {
      return code;
    }
    return Compare(folder, target, json_, fail_, context, 0);
  }

 private:
  [[nodiscard]] Result<MsrunOptions> Changed(FormerRun run, const std::string& target,
                                             const Context& context) const {
    MsrunOptions options;
    FlagSet flags;
    AddMsrunFlags(flags, options);
    for (const std::string& change : changes_) {
      const std::size_t equals = change.find('=');
      const std::string name = WithUnderscores(change.substr(0, equals));
      const std::string value = change.substr(equals + 1);
      if (flags.Find(name) == nullptr) {
        SetArgument(run.arguments, name, value);
        continue;
      }
      std::erase_if(run.flags, [&](const std::string& flag) {
        return WithUnderscores(flag.substr(0, flag.find('='))) == name;
      });
      run.flags.push_back(change);
    }
    std::vector<std::string> words;
    for (const std::string& flag : run.flags) {
      words.push_back(std::string("--").append(flag));
    }
    words.insert(words.end(), {"--quiet", "--log_dir=" + target, run.subject});
    words.insert(words.end(), run.arguments.begin(), run.arguments.end());
    DRYDOCK_RETURN_IF_ERROR(flags.Parse(words));
    return FinishMsrunOptions(std::move(options), flags, context.environment);
  }

  std::vector<std::string> changes_ = {};
  std::string log_dir_ = {};
  bool json_ = false;
  bool fail_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDiffCommand() {
  return std::make_unique<DiffCommand>();
}

std::unique_ptr<Command> MakeWhatifCommand() {
  return std::make_unique<WhatifCommand>();
}

}  // namespace drydock::launcher
