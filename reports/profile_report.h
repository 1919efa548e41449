#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/lanes.h"
#include "reports/memory_report.h"
#include "reports/run_report.h"
#include "sim/fleet/dry_run.h"

/// Memory over the step, small enough for a page: schema `drydock.profile/1`. The members of each
/// struct are described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct PartSeriesReport {
  std::string part = {};
  std::vector<std::int64_t> bytes = {};

  static constexpr std::string_view kTypeName = "PartSeries";
  static constexpr std::string_view kMeaning = "One kind of tensors over the step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("part", &PartSeriesReport::part, "Kind of tensors, as in memory.json.");
    field("bytes", &PartSeriesReport::bytes, "Bytes at the launch of each of `kernels`.");
  }
};

struct ProfileKernelReport {
  std::int64_t kernel = 0;
  std::string name = {};
  std::string kind = {};
  std::string phase = {};
  std::int64_t stream = 0;
  std::int64_t micro_batch = -1;
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "ProfileKernel";
  static constexpr std::string_view kMeaning = "A kernel of the step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("kernel", &ProfileKernelReport::kernel, "Its number, from 0.");
    field("operator", &ProfileKernelReport::name, "Full name of the operator it belongs to.");
    field("kind", &ProfileKernelReport::kind, "What is launched.");
    field("phase", &ProfileKernelReport::phase, "Part of the step.",
          {"forward", "backward", "optimizer"});
    field("stream", &ProfileKernelReport::stream, "0: computation; collectives have others.");
    field("micro_batch", &ProfileKernelReport::micro_batch, "Its micro batch; -1: none.");
    field("place", &ProfileKernelReport::place, "Line of the script it comes from.");
  }
};

struct ClassProfileReport {
  std::string ranks = {};
  std::int64_t stage = 0;
  std::int64_t kernel_count = 0;
  std::int64_t peak_kernel = -1;
  std::int64_t used_peak_bytes = 0;
  std::vector<ProfileKernelReport> kernels = {};
  std::vector<PartSeriesReport> parts = {};
  std::int64_t tensor_count = 0;
  std::vector<TensorReport> tensors = {};

  static constexpr std::string_view kTypeName = "ClassProfile";
  static constexpr std::string_view kMeaning = "The step of one class of ranks of memory.json.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("ranks", &ClassProfileReport::ranks, "The ranks.");
    field("stage", &ClassProfileReport::stage, "Their pipeline stage.");
    field("kernel_count", &ClassProfileReport::kernel_count, "Kernels of the step.");
    field("peak_kernel", &ClassProfileReport::peak_kernel, "As `peak.kernel` of memory.json.");
    field("used_peak_bytes", &ClassProfileReport::used_peak_bytes, "As in memory.json.");
    field("kernels", &ClassProfileReport::kernels,
          "The kernels; of a long step the one with most and the one with least memory of each "
          "stretch, and always the one of the peak.");
    field("parts", &ClassProfileReport::parts,
          "Memory by kind of tensors, kinds that never occur left out.");
    field("tensor_count", &ClassProfileReport::tensor_count, "Tensors of the step.");
    field("tensors", &ClassProfileReport::tensors, "The largest of them.");
  }
};

struct ProfileReport {
  std::string schema = "drydock.profile/1";
  RunReport run = {};
  std::vector<ClassProfileReport> classes = {};
  std::vector<LaneReport> lanes = {};

  static constexpr std::string_view kTypeName = "ProfileReport";
  static constexpr std::string_view kMeaning =
      "Memory over the step with the peak, per class of ranks; with --html or --detail=full.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &ProfileReport::schema, "Format of this document.", {"drydock.profile/1"});
    field("run", &ProfileReport::run, "Which run this belongs to.");
    field("classes", &ProfileReport::classes, "As in memory.json, in the same order.");
    field("lanes", &ProfileReport::lanes, "What runs when; empty below level 3.");
  }
};

/// Kernels and tensors that a profile of all classes together has at most (each class at least a
/// few, and no class more than the second number): what a page can draw.
struct ProfileLimit {
  std::size_t of_all = 0;
  std::size_t of_class = 0;
  std::size_t few = 0;
};
inline constexpr ProfileLimit kProfileKernels = {.of_all = 16000, .of_class = 5000, .few = 600};
inline constexpr ProfileLimit kProfileTensors = {.of_all = 12000, .of_class = 6000, .few = 200};

/// Lifetimes must have been kept (sim::DryRunOptions::keep_lifetimes).
[[nodiscard]] ProfileReport BuildProfile(const RunReport& run, const sim::DryRunResult& result);

}  // namespace drydock::reports
