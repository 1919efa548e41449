#include <array>
#include <cstdio>
#include <filesystem>

#include "launcher/commands.h"
#include "launcher/files.h"
#include "launcher/hardware_file.h"
#include "sim/calibration/kernel_trace.h"
#include "sim/calibration/memory_block.h"
#include "sim/timing/hardware_text.h"

/// `drydock calibrate`: what a real run shows becomes input of dry runs. The tracker's
/// memory_block.csv gives a table of workspaces for --workspaces, a profiler's trace a hardware
/// profile with its own efficiencies for --hardware. What a file is is seen by how it begins.
namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

Error AtCommand(Error error) {
  error = WithCode(std::move(error), FailureCode::kCalibrate);
  if (error.hint.empty()) {
    error.hint =
        "give the memory_block.csv of a run with MindSpore's memory tracker, or a profiler's "
        "trace";
  }
  return error;
}

class CalibrateCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "calibrate"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "tables for dry runs from what a real run wrote: memory_block.csv, a profiler's trace";
  }
  [[nodiscard]] std::string Usage() const override {
    return "[flags] memory_block.csv ... | trace_view.json";
  }
  void AddFlags(FlagSet& flags) override {
    flags.AddText({"output", "FILE", "file to write (workspaces.json, fitted.json)"}, &output_);
    flags.AddText({"hardware", "NAME|FILE", "profile whose efficiencies a trace replaces"},
                  &hardware_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().empty()) {
      return FailCommand(FailureCode::kUsage, "expected a file of a real run",
                         "drydock calibrate memory_block.csv, or: drydock calibrate "
                         "--hardware=910B trace_view.json");
    }
    std::vector<std::string> texts;
    for (const std::string& file : flags.rest()) {
      Result<std::string> text = ReadFile(file, kMaxFileBytes);
      if (!text) {
        return tl::unexpected(AtCommand(std::move(text).error()));
      }
      texts.push_back(*std::move(text));
    }
    const std::size_t begin = texts.front().find_first_not_of(" \t\r\n");
    const bool trace =
        begin != std::string::npos && (texts.front()[begin] == '{' || texts.front()[begin] == '[');
    return trace ? Trace(flags.rest(), texts, context) : Blocks(flags.rest(), texts, context);
  }

 private:
  Result<ExitCode> Blocks(const std::vector<std::string>& files,
                          const std::vector<std::string>& texts, const Context& context) const {
    sim::WorkspaceTable table;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto next = sim::WorkspacesOfBlocks(texts[i], files[i]);
      if (!next) {
        return tl::unexpected(AtCommand(next.error()));
      }
      MergeWorkspaces(table, *next);
    }
    std::int64_t kernels = 0;
    std::int64_t most = 0;
    for (const auto& [key, entry] : table.entries) {
      kernels += entry.kernels;
      most = std::max(most, entry.bytes);
    }
    DRYDOCK_RETURN_IF_ERROR(Write("workspaces.json", WorkspaceTableText(table), context));
    context.out << kernels << " kernels of " << table.entries.size()
                << " kinds, the largest workspace has " << most
                << " bytes; use it with: msrun --sim_level=2 --workspaces=" << written_ << " ...\n";
    return ExitCode::kOk;
  }

  Result<ExitCode> Trace(const std::vector<std::string>& files,
                         const std::vector<std::string>& texts, const Context& context) const {
    if (files.size() != 1 || hardware_.empty()) {
      return FailCommand(FailureCode::kUsage, "a trace needs --hardware, and there can be one",
                         "drydock calibrate --hardware=910B trace_view.json");
    }
    DRYDOCK_TRY(sim::HardwareProfile profile, LoadHardware(hardware_));
    const auto fit = sim::FitTrace(texts.front(), files.front(), profile);
    if (!fit) {
      return tl::unexpected(AtCommand(fit.error()));
    }
    const std::string file_name = std::filesystem::path(files.front()).filename().string();
    std::string seen;
    for (std::size_t kind = 0; kind < sim::kEfficiencyKindCount; ++kind) {
      if (fit->efficiency[kind].points.empty()) {
        continue;
      }
      const std::string name(EfficiencyKindName(static_cast<sim::EfficiencyKind>(kind)));
      profile.efficiency[kind] = fit->efficiency[kind];
      for (sim::NumberSource& source : profile.sources) {
        if (source.field == "efficiency." + name) {
          source.origin = "fitted";
          source.source = std::to_string(fit->kernels[kind]) + " operators of " + file_name;
        }
      }
      seen += (seen.empty() ? "" : ", ") + std::to_string(fit->kernels[kind]) + " " + name;
    }
    ApplyCollectives(fit->collectives, file_name, profile);
    profile.name += "-fitted";
    DRYDOCK_RETURN_IF_ERROR(Write("fitted.json", HardwareProfileText(profile), context));
    context.out << "operators: " << (seen.empty() ? "none" : seen) << "; " << fit->without_shapes
                << " kernels without shapes and " << fit->unknown
                << " operators of unknown work left out\n"
                << LinksText(*fit, profile)
                << "use it with: msrun --sim_level=3 --hardware=" << written_ << " ...\n";
    return ExitCode::kOk;
  }

  /// "links: node 12 transfers, 8.3 us a step and 0.81 of the bandwidth (3 % off); 2 left out".
  static std::string LinksText(const sim::TraceFit& fit, const sim::HardwareProfile& profile) {
    std::array<char, 160> line = {};
    std::string text;
    for (const sim::LevelFit& one : fit.collectives.levels) {
      std::snprintf(line.data(), line.size(),
                    "%s %lld transfers, %.1f us a step and %.3f of the bandwidth (%.0f %% off)",
                    profile.levels[one.level].name.c_str(), static_cast<long long>(one.transfers),
                    1e6 * one.latency_seconds, one.efficiency, 100 * one.mean_error);
      text += (text.empty() ? "" : ", ") + std::string(line.data());
    }
    return "links: " + (text.empty() ? "none" : text) + "; " +
           std::to_string(fit.collectives.left_out) + " transfers left out\n";
  }

  Status Write(const std::string& name, const std::string& text, const Context& context) const {
    written_ = output_.empty() ? name : output_;
    const auto delay = context.stop.Delay();
    return WriteFiles("", {{.path = written_, .text = text}});
  }

  std::string output_ = {};
  std::string hardware_ = {};
  mutable std::string written_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace drydock::launcher
