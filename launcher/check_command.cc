#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/msrun_options.h"
#include "launcher/simulate.h"
#include "reports/sarif.h"

namespace drydock::launcher {
namespace {

/// `drydock check a.py b.py ...`: a dry run of each script, one verdict a line.
class CheckCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "check"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "dry-run several scripts, one verdict each";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] task_script ..."; }
  void AddFlags(FlagSet& flags) override {
    AddMsrunFlags(flags, options_);
    flags.AddText({"junit", "FILE", "write the verdicts as JUnit's XML"}, &junit_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    DRYDOCK_TRY(MsrunOptions options,
                FinishMsrunOptions(std::move(options_), flags, context.environment));
    if (options.sim_level < 0) {
      options.sim_level = 1;
    }
    const std::string folder = options.log_dir;
    std::vector<reports::CheckedScript> checked;
    ExitCode worst = ExitCode::kOk;
    for (const std::string& script : flags.rest()) {
      if (script.starts_with("--")) {
        return FailCommand(FailureCode::kUsage,
                           script + " stands behind a script, where it counts as one",
                           "put flags before the first script");
      }
    }
    for (const std::string& script : flags.rest()) {
      options.script = script;
      options.script_args.clear();
      options.log_dir = PathIn(folder, FolderOf(script));
      options.json = true;
      const ExitCode code = Check(options, context, checked);
      worst = Worse(worst, code);
      const reports::CheckedScript& last = checked.back();
      context.out << fmt::format("{:<16} {}{}{}\n", last.verdict, script,
                                 last.failed ? ": " + last.text : "",
                                 last.place.empty() || !last.failed ? "" : " (" + last.place + ")");
    }
    if (!junit_.empty()) {
      const std::size_t slash = junit_.rfind('/');
      const std::string parent = slash == std::string::npos ? "" : junit_.substr(0, slash);
      DRYDOCK_RETURN_IF_ERROR(PrepareFolder(parent));
      DRYDOCK_RETURN_IF_ERROR(
          WriteFiles(parent, {{.path = junit_.substr(slash == std::string::npos ? 0 : slash + 1),
                               .text = reports::JunitText(checked)}}));
    }
    return worst;
  }

 private:
  /// A folder of its own for each script, numbered where names are equal.
  std::string FolderOf(const std::string& script) {
    std::string name = script.substr(script.rfind('/') + 1);
    name = name.substr(0, name.rfind('.'));
    const int count = ++folders_[name];
    return count == 1 ? name : name + "_" + std::to_string(count);
  }

  static ExitCode Worse(ExitCode a, ExitCode b) {
    // A script that cannot be checked says less than one that is wrong.
    for (const ExitCode code : {ExitCode::kInternal, ExitCode::kRejected, ExitCode::kLimitExceeded,
                                ExitCode::kUnsupported}) {
      if (a == code || b == code) {
        return code;
      }
    }
    return a == ExitCode::kOk ? b : a;
  }

  static ExitCode Check(const MsrunOptions& options, const Context& context,
                        std::vector<reports::CheckedScript>& checked) {
    std::ostringstream summary;
    const Context own{.program = context.program,
                      .environment = context.environment,
                      .out = summary,
                      .log = context.log,
                      .stop = context.stop};
    const Result<ExitCode> code = Simulate(options, own);
    reports::CheckedScript script = {.script = options.script, .verdict = "refused"};
    const auto json = nlohmann::json::parse(summary.str(), nullptr, false);
    if (json.is_object()) {
      script.verdict = json.value("verdict", "refused");
      script.text = json.value("verdict_text", "");
    }
    if (!code) {
      script.failed = true;
      script.text = code.error().message;
      script.hint = code.error().hint;
      script.place = reports::ShortPlaceText(reports::ToPlaceReport(code.error().place));
    }
    checked.push_back(std::move(script));
    return code ? *code : ExitCodeOf(code.error());
  }

  MsrunOptions options_ = {};
  std::string junit_ = {};
  std::map<std::string, int> folders_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() {
  return std::make_unique<CheckCommand>();
}

}  // namespace drydock::launcher
