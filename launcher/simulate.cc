#include "launcher/simulate.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "base/executor.h"
#include "base/text.h"
#include "launcher/export_files.h"
#include "launcher/files.h"
#include "launcher/fit_trials.h"
#include "launcher/hardware_file.h"
#include "launcher/ir_files.h"
#include "launcher/load_job.h"
#include "launcher/load_script.h"
#include "launcher/page_files.h"
#include "launcher/run_identity.h"
#include "launcher/run_progress.h"
#include "launcher/scheduler_job.h"
#include "launcher/spread.h"
#include "launcher/sqlite_file.h"
#include "launcher/terminal.h"
#include "launcher/time_options.h"
#include "launcher/tracker_files.h"
#include "launcher/verify.h"
#include "reports/database.h"
#include "reports/report_json.h"
#include "reports/report_set.h"
#include "reports/sarif.h"
#include "reports/terminal_summary.h"
#include "sim/fleet/dry_run.h"
#include "strategies/document/json_codec.h"
#include "strategies/passes/compile_job.h"

namespace drydock::launcher {
namespace {

using strategies::LocalProgram;

std::optional<RankId> ChosenRank(const MsrunOptions& options) {
  return options.sim_rank_id < 0
             ? std::nullopt
             : std::optional(RankId{static_cast<std::int32_t>(options.sim_rank_id)});
}

/// Whether memory over the step is shown.
bool ShowsTheStep(const MsrunOptions& options) {
  return options.html || options.export_trace || options.sqlite;
}

reports::RunFacts FactsOf(const MsrunOptions& options, const LoadedJob& job) {
  return {.run = IdentityOf(options, job),
          .devices_per_node =
              options.devices_per_node > 0 ? options.devices_per_node : options.local_worker_num,
          .all_tensors = options.full_detail,
          .profile = ShowsTheStep(options),
          .drydock_version = std::string(Version()),
          .subject = job.subject,
          .compat_from = job.compat_from,
          .simulation_level = options.sim_level,
          .script_runs = job.script_runs,
          .rank_asks = job.rank_asks,
          .rank_asks_text = sim::PlacesText(job.rank_asks),
          .settings_known = job.settings_known};
}

Result<sim::WorkspaceTable> LoadWorkspaces(const std::string& file) {
  constexpr std::size_t kMaxTableBytes = std::size_t{1} << 28;
  const auto text = ReadFile(file, kMaxTableBytes);
  if (!text) {
    return FailCommand(FailureCode::kWorkspaces, "argument --workspaces: " + text.error().message);
  }
  Result<sim::WorkspaceTable> table = sim::ParseWorkspaceTable(*text, file);
  if (!table) {
    return tl::unexpected(WithCode(std::move(table).error(), FailureCode::kWorkspaces));
  }
  return table;
}

Result<sim::DryRunOptions> DryRunOptionsOf(const MsrunOptions& options, const LoadedJob& job) {
  sim::DryRunOptions dry_run{
      .level = static_cast<std::int32_t>(options.sim_level),
      .only_rank = ChosenRank(options),
      .keep_lifetimes = options.full_detail || options.export_csv || ShowsTheStep(options)};
  if (!options.workspaces.empty()) {
    DRYDOCK_TRY(dry_run.workspaces, LoadWorkspaces(options.workspaces));
  }
  if (options.sim_level == 3) {
    DRYDOCK_TRY(dry_run.time, TimeOptionsOf(options, job.settings.device_target));
  }
  return dry_run;
}

/// The network of the rank that is described, as a document that can be dry-run instead.
std::string GraphTextOf(const LoadedJob& job) {
  const strategies::TracedNetwork& network = job.traced.networks.front();
  return strategies::WriteGraphDocument(network.graph, network.config);
}

/// Compiles the job and plays its ranks.
Result<sim::DryRunResult> Play(LoadedJob& job, const sim::DryRunOptions& dry_run,
                               std::int64_t threads, const Context& context,
                               RunProgress& progress) {
  const std::string ranks = std::to_string(job.settings.world_size) + " ranks";
  context.log.Info("compiling for " + ranks);
  const auto executor = MakeExecutor(static_cast<std::size_t>(threads));
  const strategies::CompileHelp help{.watch =
                                         [&](std::size_t number, std::size_t count) {
                                           progress.Say("compiling program " +
                                                        std::to_string(number) + " of " +
                                                        std::to_string(count) + " for " + ranks);
                                         },
                                     .executor = executor.get()};
  DRYDOCK_TRY(strategies::JobProgram program,
              strategies::CompileJob(std::move(job.traced), sim::DescribedRank(dry_run), help));
  progress.Say("playing " + ranks);
  program.diagnostics.insert(program.diagnostics.begin(), job.limits.begin(), job.limits.end());
  context.log.Info("playing the ranks");
  return sim::DryRun(std::move(program), dry_run, *executor);
}

/// @param result  null if the program was rejected
Result<std::vector<OutputFile>> FilesOf(const reports::ReportSet& set, const MsrunOptions& options,
                                        const sim::DryRunResult* result) {
  std::vector<OutputFile> files;
  std::vector<reports::ReportFile> reports = reports::ReportFiles(set);
  if (options.html) {
    DRYDOCK_TRY(std::string page, PageOfRun(reports));
    reports.push_back({.name = reports::kPageFile, .text = std::move(page)});
  }
  std::ranges::move(ExportFiles(options, set, result), std::back_inserter(reports));
  for (reports::ReportFile& file : reports) {
    const bool ours = IsTraceName(file.name);
    files.push_back({.path = std::move(file.name), .text = std::move(file.text), .ours = ours});
  }
  return files;
}

/// Text of the summary as it is written, which is what --json prints.
const std::string& SummaryJson(const std::vector<OutputFile>& files) {
  return files.front().text;
}

void PrintSummary(const reports::ReportSet& set, const MsrunOptions& options,
                  const Context& context) {
  context.out << reports::TerminalSummary(
      set.summary, set.memory,
      {.color = WantsColour(STDOUT_FILENO, context.environment),
       .verbose = options.verbose,
       .communication = set.communication ? &*set.communication : nullptr,
       .output_folder = options.log_dir});
}

/// The folder of the reports: ours alone while the object lives, and without those of earlier runs.
///
/// A run takes away what an earlier one left before it begins, so that whoever looks into the
/// folder of a run that was stopped, killed or refused finds no answer instead of an old one.
struct OutputFolder {
  std::unique_ptr<Descriptor> lock = {};
  bool writable = true;  ///< False: the answer is printed only.
};

Result<OutputFolder> ClaimFolder(const MsrunOptions& options, const Context& context) {
  const Status prepared = PrepareFolder(options.log_dir);
  if (!prepared) {
    if (!options.json) {
      return tl::unexpected(prepared.error());
    }
    context.log.Warning(prepared.error().message + "; no files are written");
    return OutputFolder{.writable = false};
  }
  OutputFolder folder;
  DRYDOCK_TRY(folder.lock, LockFolder(options.log_dir));
  const auto delay = context.stop.Delay();
  RemoveReports(options.log_dir, reports::AllReportNames());
  RemoveTraces(options.log_dir);
  return folder;
}

Status WriteSqlite(const reports::ReportSet& set, const std::string& path) {
  if (!MayReplace(path)) {
    return FailCommand(FailureCode::kReportWrite,
                       path + " is there already and is not a report of ours",
                       "move it away, or choose another folder with --log_dir");
  }
  return WriteDatabase(path, reports::DatabaseSql(set));
}

/// Diagnostics for GitHub, beside whatever the answer is.
void PrintAnnotations(const reports::ReportSet& set, const MsrunOptions& options,
                      const Context& context) {
  if (options.github) {
    context.out << reports::GithubAnnotations(set.summary, CurrentFolder());
  }
}

/// Writes and prints the reports of a finished dry run.
/// @param graph  text of the traced network; empty if nobody asked for it
Status Publish(const sim::DryRunResult& result, const reports::ReportSet& set, std::string graph,
               const MsrunOptions& options, const Context& context, bool writable) {
  DRYDOCK_TRY(std::vector<OutputFile> files, FilesOf(set, options, &result));
  if (!graph.empty()) {
    files.push_back({.path = kTracedGraphFile, .text = std::move(graph)});
  }
  if (writable) {
    const auto delay = context.stop.Delay();
    if (options.sqlite) {
      DRYDOCK_RETURN_IF_ERROR(WriteSqlite(set, PathIn(options.log_dir, reports::kDatabaseFile)));
    }
    DRYDOCK_RETURN_IF_ERROR(WriteFiles(options.log_dir, files));
    DRYDOCK_RETURN_IF_ERROR(WriteIrDumps(result, options));
    if (const auto folder = TrackerFolder(context.environment, options.log_dir)) {
      if (Status written = WriteTrackerFiles(result, *folder); !written) {
        return tl::unexpected(*folder == options.log_dir
                                  ? std::move(written).error()
                                  : WithFolderFlag(std::move(written).error(),
                                                   "memory_tracker_path of MS_ALLOC_CONF"));
      }
    } else if (options.sim_level == 2) {
      DRYDOCK_RETURN_IF_ERROR(WriteMemoryFiles(result, options.log_dir));
    }
  }
  PrintAnnotations(set, options, context);
  if (options.json) {
    context.out << SummaryJson(files);
  } else if (!options.quiet) {
    PrintSummary(set, options, context);
  }
  return {};
}

/// Writes and prints why there is no result, then gives the error on.
tl::unexpected<Error> Reject(Error error, const LoadedJob& job, const MsrunOptions& options,
                             const Context& context, bool writable) {
  reports::RunFacts facts = FactsOf(options, job);
  facts.files = ExportNames(options, false);
  reports::ReportSet set = reports::BuildRejectionReports(std::move(facts), job.settings, error);
  if (!writable) {
    set.summary.files.clear();
  }
  const std::vector<OutputFile> files = *FilesOf(set, options, nullptr);  // Of our own reports.
  if (writable) {
    const auto delay = context.stop.Delay();
    RemoveIrDumps(job.settings, options);
    if (const Status written = WriteFiles(options.log_dir, files); !written) {
      context.log.Warning(written.error().message);
    }
  }
  PrintAnnotations(set, options, context);
  if (options.json) {
    context.out << SummaryJson(files);
  }
  return tl::unexpected(std::move(error));
}

/// True for failures that say something about the job and not about this machine or this command
/// line.
bool IsAboutTheJob(const Error& error) {
  const ExitCode code = ExitCodeOf(error);
  return code == ExitCode::kRejected || code == ExitCode::kUnsupported;
}

Status CheckStrict(const std::vector<strategies::Diagnostic>& diagnostics) {
  for (const strategies::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.kind == strategies::DiagnosticKind::kFailure) {
      return FailCommand(FailureCode::kScript, diagnostic.text,
                         "leave --strict out to go on without it");
    }
    if (diagnostic.kind == strategies::DiagnosticKind::kLimit) {
      Error error = FailCommand(FailureCode::kUnsupported, diagnostic.text,
                                "leave --strict out to go on without it")
                        .value();
      error.code = ErrorCode::kUnsupported;
      error.place = diagnostic.first_place;
      return tl::unexpected(std::move(error));
    }
  }
  return {};
}

/// What the described program leaves out, then the job, then the other programs.
Status CheckStrict(const sim::DryRunResult& result) {
  DRYDOCK_RETURN_IF_ERROR(CheckStrict(DiagnosticsOf(sim::DescribedProgram(result))));
  DRYDOCK_RETURN_IF_ERROR(CheckStrict(result.job.diagnostics));
  for (const LocalProgram& program : result.job.programs) {
    DRYDOCK_RETURN_IF_ERROR(CheckStrict(DiagnosticsOf(program)));
  }
  return {};
}

/// What a finished dry run means for the exit status.
Result<ExitCode> Verdict(const sim::DryRunResult& result, const reports::ReportSet& set,
                         const LoadedJob& job, const MsrunOptions& options) {
  if (!result.agreement.holds) {
    return FailCommand(FailureCode::kStrategy,
                       "the ranks disagree: " + result.agreement.first_conflict,
                       job.rank_asks.empty() || result.job.classes.size() == 1
                           ? ""
                           : "ranks of a group that issue different collectives wait for each "
                             "other for ever; the script asks for its rank at " +
                                 sim::PlacesText(job.rank_asks));
  }
  if (options.strict) {
    DRYDOCK_RETURN_IF_ERROR(CheckStrict(result));
  }
  if (options.fail_on_memory && set.memory && !set.memory->fits) {
    const auto& worst = set.memory->classes[static_cast<std::size_t>(set.memory->heaviest)];
    return FailCommand(FailureCode::kMemoryLimit,
                       "ranks " + worst.ranks + " need " + BytesText(worst.actual_peak_bytes) +
                           ", a device has " + BytesText(worst.limit_bytes));
  }
  return ExitCode::kOk;
}

Status CheckChosenRank(const MsrunOptions& options, const LoadedJob& job) {
  if (options.sim_rank_id < job.settings.world_size) {
    return {};
  }
  return FailCommand(
      FailureCode::kUsage,
      "argument --sim_rank_id: rank " + std::to_string(options.sim_rank_id) + " is not in the job",
      "ranks are 0 to " + std::to_string(job.settings.world_size - 1));
}

/// What is wrong with files of flags is found before the script runs for minutes.
Status CheckFiles(const MsrunOptions& options) {
  if (!options.workspaces.empty()) {
    DRYDOCK_TRY([[maybe_unused]] const sim::WorkspaceTable table,
                LoadWorkspaces(options.workspaces));
  }
  if (!options.hardware.empty()) {
    DRYDOCK_TRY([[maybe_unused]] const sim::HardwareProfile profile,
                LoadHardware(options.hardware));
  }
  if (!options.rank_table_file.empty() && options.rendezvous != Rendezvous::kLauncher) {
    DRYDOCK_TRY([[maybe_unused]] const sim::RankTable table,
                ReadRankTable(options.rank_table_file, "argument --rank_table_file"));
  }
  return {};
}

/// What host 0 saw of a dry run that many hosts played, behind the summary.
Status PublishSpread(const Spread& spread, const MsrunOptions& options, const Context& context,
                     bool writable) {
  const reports::SpreadReport& report = spread.report();
  if (writable) {
    const auto delay = context.stop.Delay();
    DRYDOCK_RETURN_IF_ERROR(WriteFiles(
        options.log_dir, {{.path = reports::kSpreadFile, .text = reports::ReportJson(report)}}));
  }
  if (!options.json && !options.quiet) {
    context.out << fmt::format(
        "\nPlayed on {} hosts: {} ranks registered over {} connections, all known after {:.3f} s, "
        "all left {:.3f} s later\n",
        report.hosts.size(), report.ranks, report.connections, report.formed_seconds,
        report.left_seconds);
  }
  return {};
}

/// Whether files beside the reports, or a proof, are made of the job's kernels.
/// @param files  what is written beside the reports
bool NeedsKernels(const std::vector<std::string>& files, const MsrunOptions& options,
                  const Context& context) {
  return !files.empty() || options.sim_level != 1 || options.verify || options.sim_spread ||
         TrackerFolder(context.environment, options.log_dir).has_value();
}

/// Room for the kernels of trials: the reports are made.
void DropKernels(strategies::JobProgram& job) {
  for (LocalProgram& program : job.programs) {
    program.kernels = strategies::KernelGraph();
  }
}

/// @param folder  of the reports
/// @param spread  null where one host plays all ranks
Result<ExitCode> SimulateIn(const OutputFolder& folder, const MsrunOptions& options,
                            const Context& context, Spread* spread) {
  RunProgress progress(!options.quiet && !options.verbose &&
                       IsTerminal(STDERR_FILENO, context.environment));
  progress.Say("running " + options.script);
  MsrunOptions watched = options;
  watched.progress_file = progress.NotesFile();
  auto job = LoadJobOrSettings(watched, context);
  if (!job) {
    auto& [error, settings] = job.error();
    if (!IsAboutTheJob(error)) {
      return tl::unexpected(std::move(error));
    }
    LoadedJob unknown{.subject = options.script, .compat_from = "default"};
    unknown.settings_known = settings.has_value();
    unknown.settings = settings.value_or(strategies::JobConfig{.world_size = options.worker_num});
    progress.End();
    return Reject(std::move(error), unknown, options, context, folder.writable);
  }
  DRYDOCK_RETURN_IF_ERROR(CheckChosenRank(options, *job));
  DRYDOCK_TRY(const sim::DryRunOptions dry_run, DryRunOptionsOf(options, *job));
  std::string graph = options.export_graph ? GraphTextOf(*job) : std::string();
  const auto verified = NetworkToVerify(options, *job);
  Result<sim::DryRunResult> result = Play(*job, dry_run, options.threads, context, progress);
  if (!result) {
    progress.End();
    return Reject(result.error(), *job, options, context, folder.writable);
  }
  progress.Say("making reports");
  reports::RunFacts facts = FactsOf(options, *job);
  facts.files = ExportNames(options, true);
  if (std::string dumps = IrDumpFiles(*result, options); !dumps.empty()) {
    facts.files.push_back(std::move(dumps));
  }
  const bool needs_kernels = NeedsKernels(facts.files, options, context);
  reports::ReportSet set = reports::BuildReports(std::move(facts), *result);
  if (!folder.writable) {
    set.summary.files.clear();
  }
  if (spread != nullptr) {
    progress.Say("playing the ranks with the other hosts");
    DRYDOCK_RETURN_IF_ERROR(spread->Play(set, result->job));
    if (!spread->reports()) {
      return ExitCode::kOk;
    }
  }
  if (options.suggest && set.summary.verdict == "memory-exceeded") {
    if (!needs_kernels) {
      DropKernels(result->job);
    }
    DRYDOCK_TRY(set.summary.trials, TryToFit(options, context, *job, *result, progress));
  }
  progress.End();
  DRYDOCK_RETURN_IF_ERROR(
      Publish(*result, set, std::move(graph), options, context, folder.writable));
  if (spread != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(PublishSpread(*spread, options, context, folder.writable));
  }
  DRYDOCK_TRY(const ExitCode code, Verdict(*result, set, *job, options));
  DRYDOCK_RETURN_IF_ERROR(Verify(verified, result->job, options, context));
  return code;
}

/// This host's part of a dry run that many play; those behind the first write nothing.
Result<ExitCode> SimulateSpread(const MsrunOptions& options, const Context& context) {
  DRYDOCK_TRY(const SpreadPlace place, SpreadPlaceOf(options));
  OutputFolder folder{.writable = false};
  if (place.host == 0) {
    DRYDOCK_TRY(folder, ClaimFolder(options, context));
  }
  DRYDOCK_TRY(const std::unique_ptr<Spread> spread,
              Spread::Open(options, context, folder.writable));
  MsrunOptions own = options;
  if (!spread->reports()) {
    if (!options.verbose) {
      context.log.SetLevel(LogLevel::kError);  // Host 0 says the same.
    }
    own.json = false;
    own.github = false;
  }
  Result<ExitCode> outcome = SimulateIn(folder, own, context, spread.get());
  if (!outcome) {
    spread->Tell(outcome.error());
  }
  return outcome;
}

}  // namespace

Result<ExitCode> Simulate(const MsrunOptions& options, const Context& context) {
  DRYDOCK_RETURN_IF_ERROR(CheckFiles(options));
  if (options.sim_spread) {
    return SimulateSpread(options, context);
  }
  DRYDOCK_TRY(const OutputFolder folder, ClaimFolder(options, context));
  return SimulateIn(folder, options, context, nullptr);
}

}  // namespace drydock::launcher
