#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/place.h"
#include "reports/run_report.h"
#include "sim/fleet/dry_run.h"

/// Device memory of every class of ranks: schema `drydock.memory/1`. The members of each struct are
/// described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct MemoryPartReport {
  std::string part = {};
  std::int64_t bytes = 0;

  static constexpr std::string_view kTypeName = "MemoryPart";
  static constexpr std::string_view kMeaning = "Share of one kind of tensors in the peak.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("part", &MemoryPartReport::part, "Kind of tensors.");
    field("bytes", &MemoryPartReport::bytes, "Bytes at the peak, rounding included.");
  }
};

struct PeakTensorReport {
  std::string name = {};
  std::string part = {};
  std::string producer = {};
  std::string operator_name = {};
  std::string scope = {};
  std::int64_t bytes = 0;
  std::string tensor = {};
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "PeakTensor";
  static constexpr std::string_view kMeaning = "A tensor that is alive at the peak.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("name", &PeakTensorReport::name, "Parameter or input, or what produces it.");
    field("part", &PeakTensorReport::part, "Kind of tensor, as in the breakdown.");
    field("producer", &PeakTensorReport::producer,
          "Kind of operator that computes it; empty for parameters and inputs.");
    field("operator", &PeakTensorReport::operator_name,
          "Full name of the operator of the rank's program that makes it, or reads it first (of an "
          "optimizer state: its weight); empty if none does.");
    field("scope", &PeakTensorReport::scope,
          "Cell that this operator belongs to; of backward operators the Cell of the forward one.");
    field("bytes", &PeakTensorReport::bytes, "Bytes it occupies, rounding included.");
    field("tensor", &PeakTensorReport::tensor, "Type and shape on one rank; empty for workspace.");
    field(
        "place", &PeakTensorReport::place,
        "Line of the script that makes it (a parameter's or its layer's), or that first uses it.");
  }
};

/// A tensor and when it is there; `--detail=full`.
struct TensorReport {
  std::string name = {};
  std::string part = {};
  std::string producer = {};
  std::string operator_name = {};
  std::string scope = {};
  std::int64_t bytes = 0;
  std::string tensor = {};
  std::int64_t address = 0;
  std::int64_t first_kernel = -1;
  std::int64_t last_kernel = -1;
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "Tensor";
  static constexpr std::string_view kMeaning =
      "A tensor of the step with the peak. It is in memory at kernel k if first_kernel <= k <= "
      "last_kernel.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("name", &TensorReport::name, "As of PeakTensor; so are the fields up to `tensor`.");
    field("part", &TensorReport::part, "Kind of tensor, as in the breakdown.");
    field("producer", &TensorReport::producer, "Kind of operator that computes it.");
    field("operator", &TensorReport::operator_name, "Operator that makes it, or reads it first.");
    field("scope", &TensorReport::scope, "Cell that this operator belongs to.");
    field("bytes", &TensorReport::bytes, "Bytes it occupies, rounding included.");
    field("tensor", &TensorReport::tensor, "Type and shape on one rank.");
    field("address", &TensorReport::address,
          "Where it lies, relative to the base of the pool; negative beyond the limit.");
    field("first_kernel", &TensorReport::first_kernel,
          "Kernel before whose launch it is placed; -1: it is there from the beginning.");
    field("last_kernel", &TensorReport::last_kernel,
          "Last kernel at whose launch it is there; the last one of the step if it stays.");
    field(
        "place", &TensorReport::place,
        "Line of the script that makes it (a parameter's or its layer's), or that first uses it.");
  }
};

struct LayerMemoryReport {
  std::string scope = {};
  std::int64_t bytes = 0;
  std::vector<MemoryPartReport> parts = {};

  static constexpr std::string_view kTypeName = "LayerMemory";
  static constexpr std::string_view kMeaning = "What is alive at the peak because of one layer.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("scope", &LayerMemoryReport::scope,
          "Scope up to the first numbered Cell (`.../layers-CellList/3-Block`), else the whole "
          "scope; empty: of no operator.");
    field("bytes", &LayerMemoryReport::bytes, "Bytes at the peak.");
    field("parts", &LayerMemoryReport::parts, "The same by kind of tensors, without empty kinds.");
  }
};

struct PeakPointReport {
  std::int64_t kernel = -1;
  std::string name = {};
  std::string phase = {};
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "PeakPoint";
  static constexpr std::string_view kMeaning = "When the peak is reached for the first time.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("kernel", &PeakPointReport::kernel,
          "Number of the kernel about to run, from 0; -1 before the first one. `--detail=full` "
          "lists them in kernels.csv.");
    field("operator", &PeakPointReport::name, "Its full name; empty before the first kernel.");
    field("phase", &PeakPointReport::phase, "Part of the step.",
          {"preparation", "forward", "backward", "optimizer"});
    field("place", &PeakPointReport::place, "Line of the script it comes from.");
  }
};

struct RankClassReport {
  std::string ranks = {};
  std::int64_t rank_count = 0;
  std::int64_t stage = 0;
  std::int64_t used_peak_bytes = 0;
  std::int64_t actual_peak_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t persistent_bytes = 0;
  std::int64_t communicator_bytes = 0;
  std::int64_t kept_for_backward_bytes = 0;
  std::int64_t parameter_count = 0;
  std::int64_t limit_bytes = 0;
  std::int64_t head_room_bytes = 0;
  bool fits = true;
  PeakPointReport peak = {};
  std::vector<MemoryPartReport> breakdown = {};
  std::vector<LayerMemoryReport> by_layer = {};
  std::vector<PeakTensorReport> largest = {};
  std::optional<std::vector<TensorReport>> tensors = {};

  static constexpr std::string_view kTypeName = "RankClass";
  static constexpr std::string_view kMeaning =
      "Ranks that run the same program on equally large slices: same stage, same memory.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("ranks", &RankClassReport::ranks, "The ranks; `0-3` is a range.");
    field("rank_count", &RankClassReport::rank_count, "How many they are.");
    field("stage", &RankClassReport::stage, "Their pipeline stage.");
    field("used_peak_bytes", &RankClassReport::used_peak_bytes,
          "Largest sum of tensors alive at one time, without fragments.");
    field("actual_peak_bytes", &RankClassReport::actual_peak_bytes,
          "Address range the pool ever handed out: the peak with fragments.");
    field("reserved_bytes", &RankClassReport::reserved_bytes,
          "Blocks the pool took from the device.");
    field("persistent_bytes", &RankClassReport::persistent_bytes,
          "Of the peak: parameters, optimizer state and constants.");
    field("communicator_bytes", &RankClassReport::communicator_bytes,
          "Memory of the communication library outside the pool; an assumption of 200 MiB for each "
          "group of the rank, in none of the other figures.");
    field("kept_for_backward_bytes", &RankClassReport::kept_for_backward_bytes,
          "Largest sum at one time, in the backward part, of results of forward kernels that "
          "backward kernels still read: the activations that training keeps.");
    field("parameter_count", &RankClassReport::parameter_count,
          "Elements of the weights that one of the ranks holds.");
    field("limit_bytes", &RankClassReport::limit_bytes, "Device memory the framework may use.");
    field("head_room_bytes", &RankClassReport::head_room_bytes,
          "limit_bytes - actual_peak_bytes; negative if the rank does not fit.");
    field("fits", &RankClassReport::fits, "Whether head_room_bytes is not negative.");
    field("peak", &RankClassReport::peak, "When the peak is reached.");
    field("breakdown", &RankClassReport::breakdown, "Parts of used_peak_bytes; they sum to it.");
    field("by_layer", &RankClassReport::by_layer,
          "The same sum by layer, in the order of the network.");
    field("largest", &RankClassReport::largest,
          "Largest tensors alive at the peak, largest first.");
    field("tensors", &RankClassReport::tensors,
          "All tensors of the step with the peak; only with --detail=full.");
  }
};

struct MemoryReport {
  std::string schema = "drydock.memory/1";
  RunReport run = {};
  std::int64_t simulation_level = 1;
  std::int64_t world_size = 1;
  std::int64_t device_bytes = 0;
  std::int64_t limit_bytes = 0;
  std::int64_t all_ranks_bytes = 0;
  bool fits = true;
  std::int64_t heaviest = 0;
  std::vector<RankClassReport> classes = {};
  std::vector<std::string> not_modelled = {};

  static constexpr std::string_view kTypeName = "MemoryReport";
  static constexpr std::string_view kMeaning = "Device memory of every rank over one step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &MemoryReport::schema, "Format of this document.", {"drydock.memory/1"});
    field("run", &MemoryReport::run, "Which run this belongs to.");
    field("simulation_level", &MemoryReport::simulation_level,
          "Level of the dry run; workspaces count as nothing below 2.");
    field("world_size", &MemoryReport::world_size, "Ranks of the job.");
    field("device_bytes", &MemoryReport::device_bytes, "Memory of one device.");
    field("limit_bytes", &MemoryReport::limit_bytes, "Of that, what the framework may use.");
    field("all_ranks_bytes", &MemoryReport::all_ranks_bytes,
          "actual_peak_bytes of all ranks together.");
    field("fits", &MemoryReport::fits, "Whether every rank fits.");
    field("heaviest", &MemoryReport::heaviest,
          "Index in `classes` of the one with the largest actual_peak_bytes.");
    field("classes", &MemoryReport::classes, "Every rank is in exactly one class.");
    field("not_modelled", &MemoryReport::not_modelled, "What no figure here includes.");
  }
};

struct MemoryReportOptions {
  RunReport run = {};
  bool all_tensors = false;  ///< Fill RankClassReport::tensors, if lifetimes were kept.
};

/// What the ranks keep in memory; nothing if the dry run did not look at memory (level 0).
[[nodiscard]] std::optional<MemoryReport> BuildMemoryReport(
    const sim::DryRunResult& result, const MemoryReportOptions& options = {});

}  // namespace drydock::reports
