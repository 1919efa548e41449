#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/place.h"

/// Parts of the time line (reports/timeline_report.h). The members of each struct are described by
/// its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct LevelTimeReport {
  std::string name = {};
  double rank_bytes = 0;
  double job_bytes = 0;
  std::int64_t busiest_stage = 0;
  double busiest_bytes = 0;

  static constexpr std::string_view kTypeName = "LevelTime";
  static constexpr std::string_view kMeaning = "A level of the network.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("name", &LevelTimeReport::name, "Level of the hardware profile.");
    field("rank_bytes", &LevelTimeReport::rank_bytes, "Sent on it by one rank, on average.");
    field("job_bytes", &LevelTimeReport::job_bytes, "By all ranks together.");
    field("busiest_stage", &LevelTimeReport::busiest_stage, "Stage whose ranks send most on it.");
    field("busiest_bytes", &LevelTimeReport::busiest_bytes, "What one of those sends.");
  }
};

struct ClassTimeReport {
  std::string ranks = {};
  std::int64_t stage = 0;
  double end_seconds = 0;
  double busy_seconds = 0;
  double exposed_seconds = 0;
  double bubble_seconds = 0;
  double transfer_seconds = 0;
  double model_flops = 0;
  double hardware_flops = 0;

  static constexpr std::string_view kTypeName = "ClassTime";
  static constexpr std::string_view kMeaning = "Where the step of one rank of a class goes.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("ranks", &ClassTimeReport::ranks, "Ranks of the class.");
    field("stage", &ClassTimeReport::stage, "Pipeline stage.");
    field("end_seconds", &ClassTimeReport::end_seconds, "When its last kernel or transfer ends.");
    field("busy_seconds", &ClassTimeReport::busy_seconds, "Kernels on the stream of computation.");
    field("exposed_seconds", &ClassTimeReport::exposed_seconds,
          "Something is transferred and nothing computes.");
    field("bubble_seconds", &ClassTimeReport::bubble_seconds,
          "Neither: it waits for another stage, or is done before the others. The three sum to the "
          "step.");
    field("transfer_seconds", &ClassTimeReport::transfer_seconds, "All transfers, each by itself.");
    field("model_flops", &ClassTimeReport::model_flops,
          "Of products and attention, forward and backward.");
    field("hardware_flops", &ClassTimeReport::hardware_flops,
          "The same with what is computed again.");
  }
};

struct TransferTimeReport {
  std::string kind = {};
  std::int64_t group_size = 0;
  std::string ranks = {};
  std::string level = {};
  std::string algorithm = {};
  double count = 0;
  double bytes = 0;
  double seconds = 0;
  double exposed_seconds = 0;
  double hidden_seconds = 0;

  static constexpr std::string_view kTypeName = "TransferTime";
  static constexpr std::string_view kMeaning =
      "Transfers of one kind over groups of one pattern, of one rank on average.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("kind", &TransferTimeReport::kind,
          "What moves how: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, "
          "neighbours, message.");
    field("group_size", &TransferTimeReport::group_size, "Ranks of a group.");
    field("ranks", &TransferTimeReport::ranks,
          "One such group; `0>8`: a message from rank 0 to rank 8.");
    field("level", &TransferTimeReport::level, "Outermost level of the network that they cross.");
    field("algorithm", &TransferTimeReport::algorithm,
          "What the profile's library does there, the fastest by the model.");
    field("count", &TransferTimeReport::count, "Transfers in a step.");
    field("bytes", &TransferTimeReport::bytes,
          "Payload of all of them: the buffer of an AllReduce, the result of an AllGather, the "
          "operand of a ReduceScatter or AlltoAll.");
    field("seconds", &TransferTimeReport::seconds, "Time of all of them, each by itself.");
    field("exposed_seconds", &TransferTimeReport::exposed_seconds,
          "Of that, while the rank computes nothing.");
    field("hidden_seconds", &TransferTimeReport::hidden_seconds, "Of that, while it computes.");
  }
};

struct OperatorTimeReport {
  std::string kernel = {};
  std::string work = {};
  double count = 0;
  double seconds = 0;
  double flops = 0;

  static constexpr std::string_view kTypeName = "OperatorTime";
  static constexpr std::string_view kMeaning = "Kernels of one name, of one rank on average.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("kernel", &OperatorTimeReport::kernel, "Name of the kernel.");
    field("work", &OperatorTimeReport::work,
          "Efficiency that counts: product, attention, vector, movement.");
    field("count", &OperatorTimeReport::count, "Kernels in a step.");
    field("seconds", &OperatorTimeReport::seconds, "Time of all of them.");
    field("flops", &OperatorTimeReport::flops, "Their operations.");
  }
};

struct ScopeTimeReport {
  std::string scope = {};
  double seconds = 0;
  double recomputed_seconds = 0;

  static constexpr std::string_view kTypeName = "ScopeTime";
  static constexpr std::string_view kMeaning =
      "Kernels of one scope of the network, of one rank on average.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("scope", &ScopeTimeReport::scope, "As in full names of operators; empty for constants.");
    field("seconds", &ScopeTimeReport::seconds, "Time of all of them.");
    field("recomputed_seconds", &ScopeTimeReport::recomputed_seconds,
          "Of that, what is computed again in the backward pass.");
  }
};

struct PathPartReport {
  std::string operator_ = {};
  std::int64_t stage = 0;
  bool transfer = false;
  std::int64_t count = 0;
  double seconds = 0;
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "PathPart";
  static constexpr std::string_view kMeaning =
      "A line of the script on the longest chain of the step.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("operator", &PathPartReport::operator_, "Kernel or collective.");
    field("stage", &PathPartReport::stage, "Pipeline stage.");
    field("transfer", &PathPartReport::transfer, "It communicates.");
    field("count", &PathPartReport::count, "How often it stands on the chain.");
    field("seconds", &PathPartReport::seconds, "All of them; the parts sum to the step.");
    field("place", &PathPartReport::place, "Line of the script.");
  }
};

struct HardwareReport {
  std::string name = {};
  std::string description = {};
  std::int64_t devices_per_node = 0;
  std::vector<std::string> assumed = {};

  static constexpr std::string_view kTypeName = "Hardware";
  static constexpr std::string_view kMeaning = "The device and network that times are for.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("name", &HardwareReport::name, "Hardware profile.");
    field("description", &HardwareReport::description, "What it describes.");
    field("devices_per_node", &HardwareReport::devices_per_node, "Devices in a node.");
    field("assumed", &HardwareReport::assumed,
          "Numbers of the profile that nobody measured or published.");
  }
};

/// The figures of a step that both the time line and the summary have, each described once.
struct StepFigures {
  double step_seconds = 0;
  std::optional<double> samples_per_second = {};
  std::optional<double> tokens_per_second = {};
  double model_utilisation = 0;
  double hardware_utilisation = 0;
  double peak_flops = 0;
  std::string peak_type = {};
  double busy_share = 0;
  double exposed_share = 0;
  double bubble_share = 0;

  /// The same as members of `Report`, which is derived from this.
  template <typename Report, typename Visitor>
  static void StepFields(Visitor& field) {
    const auto add = [&]<typename Member>(std::string_view name, Member StepFigures::*member,
                                          std::string_view meaning) {
      field(name, static_cast<Member Report::*>(member), meaning);
    };
    add("step_seconds", &StepFigures::step_seconds,
        "From the first kernel to the end of the last one of any stage.");
    add("samples_per_second", &StepFigures::samples_per_second,
        "Samples of all ranks over `step_seconds`.");
    add("tokens_per_second", &StepFigures::tokens_per_second,
        "The same in tokens, where the data are tokens.");
    add("model_utilisation", &StepFigures::model_utilisation,
        "MFU: operations of products and attention (whole sequences squared), forward and "
        "backward, over what all devices could do in that time.");
    add("hardware_utilisation", &StepFigures::hardware_utilisation,
        "HFU: the same with what is computed again.");
    add("peak_flops", &StepFigures::peak_flops,
        "What one device could do: its peak in `peak_type`.");
    add("peak_type", &StepFigures::peak_type, "Type in which most of the operations are done.");
    add("busy_share", &StepFigures::busy_share,
        "Share of the step in which a rank computes, on average.");
    add("exposed_share", &StepFigures::exposed_share,
        "In which it transfers and computes nothing.");
    add("bubble_share", &StepFigures::bubble_share, "In which it does neither.");
  }
};

struct TimeSummaryReport : StepFigures {
  std::string hardware = {};
  std::string most_exposed = {};
  double most_exposed_seconds = 0;
  std::string longest_line = {};
  double longest_line_seconds = 0;
  std::int64_t assumed_numbers = 0;
  std::string not_modelled = {};

  static constexpr std::string_view kTypeName = "TimeSummary";
  static constexpr std::string_view kMeaning = "How long a step takes; see timeline.json.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("hardware", &TimeSummaryReport::hardware, "Hardware profile.");
    StepFields<TimeSummaryReport>(field);
    field("most_exposed", &TimeSummaryReport::most_exposed,
          "The transfers that hold computation up most.");
    field("most_exposed_seconds", &TimeSummaryReport::most_exposed_seconds,
          "How long they do, of one rank on average.");
    field("longest_line", &TimeSummaryReport::longest_line,
          "What stands longest on the critical path.");
    field("longest_line_seconds", &TimeSummaryReport::longest_line_seconds, "How long.");
    field("assumed_numbers", &TimeSummaryReport::assumed_numbers,
          "Numbers of the profile that nobody measured or published.");
    field("not_modelled", &TimeSummaryReport::not_modelled, "What the times leave out.");
  }
};

}  // namespace drydock::reports
