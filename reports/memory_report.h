#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/place.h"
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
    field("bytes", &PeakTensorReport::bytes, "Bytes it occupies, rounding included.");
    field("tensor", &PeakTensorReport::tensor, "Type and shape on one rank; empty for workspace.");
    field("place", &PeakTensorReport::place, "Line of the script that makes or first uses it.");
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
          "Number of the kernel about to run, from 0; -1 before the first one.");
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
  std::int64_t limit_bytes = 0;
  std::int64_t head_room_bytes = 0;
  bool fits = true;
  PeakPointReport peak = {};
  std::vector<MemoryPartReport> breakdown = {};
  std::vector<PeakTensorReport> largest = {};

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
    field("limit_bytes", &RankClassReport::limit_bytes, "Device memory the framework may use.");
    field("head_room_bytes", &RankClassReport::head_room_bytes,
          "limit_bytes - actual_peak_bytes; negative if the rank does not fit.");
    field("fits", &RankClassReport::fits, "Whether head_room_bytes is not negative.");
    field("peak", &RankClassReport::peak, "When the peak is reached.");
    field("breakdown", &RankClassReport::breakdown, "Parts of used_peak_bytes; they sum to it.");
    field("largest", &RankClassReport::largest,
          "Largest tensors alive at the peak, largest first.");
  }
};

struct MemoryReport {
  std::string schema = "drydock.memory/1";
  std::int64_t simulation_level = 1;
  std::int64_t world_size = 1;
  std::int64_t device_bytes = 0;
  std::int64_t limit_bytes = 0;
  bool fits = true;
  std::int64_t heaviest = 0;
  std::vector<RankClassReport> classes = {};
  std::vector<std::string> not_modelled = {};

  static constexpr std::string_view kTypeName = "MemoryReport";
  static constexpr std::string_view kMeaning = "Device memory of every rank over one step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &MemoryReport::schema, "Format of this document.", {"drydock.memory/1"});
    field("simulation_level", &MemoryReport::simulation_level,
          "Level of the dry run; workspaces count as nothing below 2.");
    field("world_size", &MemoryReport::world_size, "Ranks of the job.");
    field("device_bytes", &MemoryReport::device_bytes, "Memory of one device.");
    field("limit_bytes", &MemoryReport::limit_bytes, "Of that, what the framework may use.");
    field("fits", &MemoryReport::fits, "Whether every rank fits.");
    field("heaviest", &MemoryReport::heaviest,
          "Index in `classes` of the one with the largest actual_peak_bytes.");
    field("classes", &MemoryReport::classes, "Every rank is in exactly one class.");
    field("not_modelled", &MemoryReport::not_modelled, "What no figure here includes.");
  }
};

/// What the ranks keep in memory; nothing if the dry run did not look at memory (level 0).
[[nodiscard]] std::optional<MemoryReport> BuildMemoryReport(const sim::DryRunResult& result);

}  // namespace drydock::reports
