#include "launcher/simulate.h"

#include <unistd.h>

#include "base/executor.h"
#include "base/text.h"
#include "launcher/files.h"
#include "launcher/load_job.h"
#include "reports/communication_report.h"
#include "reports/field_table.h"
#include "reports/ir_text.h"
#include "reports/memory_report.h"
#include "reports/summary_report.h"
#include "reports/terminal_summary.h"
#include "strategies/passes/program.h"

namespace drydock::launcher {
namespace {

using strategies::CompiledProgram;

/// What playing all ranks found out.
struct Played {
  CompiledProgram program = {};
  strategies::Agreement agreement = {};
  std::optional<reports::MemoryReport> memory = {};  ///< Absent at level 0.
};

std::optional<RankId> ChosenRank(const MsrunOptions& options) {
  return options.sim_rank_id < 0
             ? std::nullopt
             : std::optional(RankId{static_cast<std::int32_t>(options.sim_rank_id)});
}

reports::RunFacts FactsOf(const MsrunOptions& options, const LoadedJob& job) {
  return {.drydock_version = std::string(Version()),
          .subject = job.subject,
          .compat_from = job.compat_from,
          .simulation_level = options.sim_level};
}

Result<Played> PlayRanks(CompiledProgram program) {
  Played played{.program = std::move(program)};
  const std::vector<std::int32_t> sequence_of_rank(
      static_cast<std::size_t>(played.program.config.world_size), 0);
  played.agreement =
      strategies::CheckAgreement({strategies::SequenceOf(played.program)}, sequence_of_rank);
  return played;
}

/// Prints the answer: JSON, text, or nothing.
void Print(const reports::SummaryReport& summary,
           const std::optional<reports::MemoryReport>& memory, const MsrunOptions& options,
           const Context& context) {
  if (options.json) {
    context.out << reports::JsonText(summary);
  } else if (!options.quiet) {
    const bool colour = ::isatty(STDOUT_FILENO) != 0 &&
                        !Variable(context.environment, "NO_COLOR") &&
                        Variable(context.environment, "TERM") != "dumb";
    context.out << reports::TerminalSummary(
        summary, memory,
        {.color = colour, .verbose = options.verbose, .output_folder = options.log_dir});
  }
}

Status WriteIrDumps(const CompiledProgram& program, const MsrunOptions& options) {
  if (program.config.save_graphs == 0) {
    return {};
  }
  const RankId rank = ChosenRank(options).value_or(RankId{0});
  const std::string folder =
      PathIn(program.config.save_graphs_path, reports::IrFolder(program, rank));
  DRYDOCK_RETURN_IF_ERROR(PrepareFolder(folder));
  std::vector<OutputFile> files;
  for (reports::IrFile& file : reports::IrFiles(program, rank, options.ir_style)) {
    files.push_back({.path = std::move(file.name), .text = std::move(file.text), .ours = true});
  }
  return WriteFiles(folder, files);
}

/// Writes the reports; gives the summary as it was written.
Result<reports::SummaryReport> WriteReports(const Played& played, reports::RunFacts facts,
                                            const MsrunOptions& options, const Context& context) {
  const reports::CommunicationReport communication =
      reports::BuildCommunicationReport(played.program, played.agreement, ChosenRank(options));
  std::vector<OutputFile> files = {
      {.path = "communication.json", .text = reports::JsonText(communication)}};
  if (played.memory) {
    files.push_back({.path = "memory.json", .text = reports::JsonText(*played.memory)});
  }
  for (const OutputFile& file : files) {
    facts.files.push_back(file.path);
  }
  facts.files.emplace_back("summary.json");
  reports::SummaryReport summary =
      reports::BuildSummary(facts, played.program, communication, played.memory);
  files.push_back({.path = "summary.json", .text = reports::JsonText(summary)});
  const auto delay = context.stop.Delay();
  DRYDOCK_RETURN_IF_ERROR(WriteFiles(options.log_dir, files));
  DRYDOCK_RETURN_IF_ERROR(WriteIrDumps(played.program, options));
  return summary;
}

/// Writes and prints why there is no result, then gives the error on.
tl::unexpected<Error> Reject(Error error, const LoadedJob& job, const MsrunOptions& options,
                             const Context& context) {
  reports::RunFacts facts = FactsOf(options, job);
  facts.files.emplace_back("summary.json");
  const reports::SummaryReport summary = reports::BuildRejection(facts, job.document.job, error);
  {
    const auto delay = context.stop.Delay();
    const Status written =
        WriteFiles(options.log_dir, {{.path = "summary.json", .text = reports::JsonText(summary)}});
    if (!written) {
      context.log.Warning(written.error().message);
    }
  }
  if (options.json) {
    context.out << reports::JsonText(summary);
  }
  return tl::unexpected(std::move(error));
}

/// What a finished dry run means for the exit status.
Result<ExitCode> Verdict(const Played& played, const MsrunOptions& options) {
  if (!played.agreement.holds) {
    return FailCommand("STRATEGY", "the ranks disagree: " + played.agreement.first_conflict);
  }
  if (options.strict) {
    for (const strategies::Diagnostic& diagnostic : played.program.diagnostics) {
      if (diagnostic.unsupported) {
        Error error =
            FailCommand("UNSUPPORTED", diagnostic.text, "leave --strict out to go on without it")
                .value();
        error.place = diagnostic.first_place;
        return tl::unexpected(std::move(error));
      }
    }
  }
  if (options.fail_on_memory && played.memory && !played.memory->fits) {
    const auto& worst = played.memory->classes[static_cast<std::size_t>(played.memory->heaviest)];
    return FailCommand("MEMORY_LIMIT", "ranks " + worst.ranks + " need " +
                                           BytesText(worst.actual_peak_bytes) + ", a device has " +
                                           BytesText(worst.limit_bytes));
  }
  return ExitCode::kOk;
}

}  // namespace

Result<ExitCode> Simulate(const MsrunOptions& options, const Context& context) {
  DRYDOCK_RETURN_IF_ERROR(PrepareFolder(options.log_dir));
  Result<LoadedJob> job = LoadJob(options, context);
  if (!job) {
    return ExitCodeOf(job.error()) == ExitCode::kRejected ||
                   ExitCodeOf(job.error()) == ExitCode::kUnsupported
               ? Result<ExitCode>(
                     Reject(std::move(job).error(), {.subject = options.script}, options, context))
               : tl::unexpected(std::move(job).error());
  }
  if (options.sim_rank_id >= job->document.job.world_size) {
    return FailCommand("USAGE",
                       "argument --sim_rank_id: rank " + std::to_string(options.sim_rank_id) +
                           " is not in the job",
                       "ranks are 0 to " + std::to_string(job->document.job.world_size - 1));
  }
  context.log.Info("compiling for " + std::to_string(job->document.job.world_size) + " ranks");
  Result<CompiledProgram> program =
      strategies::Compile(std::move(job->document.graph), job->document.job);
  if (!program) {
    return Reject(std::move(program).error(), *job, options, context);
  }
  Result<Played> played = PlayRanks(*std::move(program));
  if (!played) {
    return Reject(std::move(played).error(), *job, options, context);
  }
  DRYDOCK_TRY(const reports::SummaryReport summary,
              WriteReports(*played, FactsOf(options, *job), options, context));
  Print(summary, played->memory, options, context);
  return Verdict(*played, options);
}

}  // namespace drydock::launcher
