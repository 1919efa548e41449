// IR dumps, in the folders that MindSpore writes them to: <save_graphs_path>/rank_<r>/*.ir.
//
// A script asks for them by save_graphs and says where; --dump_all_ranks asks for those of every
// rank, and puts them beside the reports where the script says nothing. Dumps of an earlier run are
// taken away first, of ranks that this job does not have as well, and also where the job is
// rejected: what lies there is of the run that wrote summary.json.

#include "launcher/ir_files.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "launcher/files.h"
#include "reports/ir_text.h"
#include "strategies/program/job_program.h"

namespace drydock::launcher {
namespace {

/// Folder above those of the ranks; empty where nobody asked for dumps.
std::string RootOf(const strategies::JobConfig& config, const MsrunOptions& options) {
  if (config.save_graphs != 0) {
    return config.save_graphs_path;
  }
  return options.dump_all_ranks ? options.log_dir : std::string();
}

bool IsRankFolder(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view kPrefix = "rank_";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

void RemoveDumpsIn(const std::filesystem::path& folder) {
  for (const std::string_view name : reports::AllIrNames()) {
    std::error_code ignored;
    std::filesystem::remove(folder / name, ignored);
  }
}

Status WriteOf(const strategies::JobProgram& job, RankId rank, const std::string& root,
               const MsrunOptions& options) {
  const strategies::LocalProgram& program = ProgramOf(job, rank);
  const std::string folder = PathIn(root, reports::IrFolder(program, rank));
  DRYDOCK_RETURN_IF_ERROR(PrepareFolder(folder));
  std::vector<OutputFile> files;
  for (reports::IrFile& file : reports::IrFiles(program, rank, options.ir_style)) {
    files.push_back({.path = std::move(file.name), .text = std::move(file.text), .ours = true});
  }
  return WriteFiles(folder, files);
}

Status WriteAllIn(const std::string& root, const sim::DryRunResult& result,
                  const MsrunOptions& options) {
  if (!options.dump_all_ranks) {
    return WriteOf(result.job, sim::DescribedRank(result.options), root, options);
  }
  const std::int64_t ranks = sim::DescribedProgram(result).from->config.world_size;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    DRYDOCK_RETURN_IF_ERROR(
        WriteOf(result.job, RankId{static_cast<std::int32_t>(rank)}, root, options));
  }
  return {};
}

}  // namespace

std::string IrDumpFiles(const sim::DryRunResult& result, const MsrunOptions& options) {
  const strategies::LocalProgram& program = sim::DescribedProgram(result);
  const std::string root = RootOf(program.from->config, options);
  if (root.empty()) {
    return {};
  }
  const std::string folder = reports::IrFolder(program, sim::DescribedRank(result.options));
  return PathIn(root, options.dump_all_ranks && !folder.empty() ? "rank_*" : folder) + "/*.ir";
}

Status WriteIrDumps(const sim::DryRunResult& result, const MsrunOptions& options) {
  const strategies::JobConfig& config = sim::DescribedProgram(result).from->config;
  const std::string root = RootOf(config, options);
  if (root.empty()) {
    return {};
  }
  RemoveIrDumps(config, options);
  Status written = WriteAllIn(root, result, options);
  if (!written && config.save_graphs != 0) {
    return tl::unexpected(
        WithFolderFlag(std::move(written).error(), "save_graphs_path in the script"));
  }
  return written;
}

void RemoveIrDumps(const strategies::JobConfig& config, const MsrunOptions& options) {
  const std::string root = RootOf(config, options);
  if (root.empty()) {
    return;
  }
  RemoveDumpsIn(root);
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(root, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (IsRankFolder(entry->path())) {
      RemoveDumpsIn(entry->path());
    }
  }
}

}  // namespace drydock::launcher
