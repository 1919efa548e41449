#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/place.h"

/// Parts of the summary (reports/summary_report.h). The members of each struct are described by its
/// `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct CheckedReport {
  std::string subject = {};
  std::string network = {};
  std::int64_t world_size = 1;
  std::int64_t pipeline_stages = 1;
  std::string parallel_mode = {};
  std::string search_mode = {};
  std::string dataset_strategy = {};
  std::string device_target = {};
  std::int64_t simulation_level = 0;
  std::string compat = {};
  std::string compat_from = {};

  static constexpr std::string_view kTypeName = "Checked";
  static constexpr std::string_view kMeaning = "What was checked, under which settings.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("subject", &CheckedReport::subject,
          "Script or graph file, as given on the command line.");
    field("network", &CheckedReport::network, "Name of the program; empty if it has none.");
    field("world_size", &CheckedReport::world_size, "Ranks of the job.");
    field("pipeline_stages", &CheckedReport::pipeline_stages, "Pipeline stages of the job.");
    field(
        "parallel_mode", &CheckedReport::parallel_mode,
        "Parallel mode of the script; it, `dataset_strategy` and `device_target` are empty if the "
        "script ended before anything was known.",
        {"", "stand_alone", "data_parallel", "hybrid_parallel", "semi_auto_parallel",
         "auto_parallel"});
    field("search_mode", &CheckedReport::search_mode,
          "Strategy search of auto_parallel; empty in other modes.");
    field("dataset_strategy", &CheckedReport::dataset_strategy,
          "`data_parallel`, `full_batch` or the cuts of each input.");
    field("device_target", &CheckedReport::device_target, "Ascend, GPU or CPU.");
    field("simulation_level", &CheckedReport::simulation_level, "Level of the dry run.");
    field("compat", &CheckedReport::compat, "MindSpore release whose defaults apply.");
    field("compat_from", &CheckedReport::compat_from, "Where that release was found.");
  }
};

struct SourceCountReport {
  std::string source = {};
  std::int64_t operators = 0;

  static constexpr std::string_view kTypeName = "SourceCount";
  static constexpr std::string_view kMeaning =
      "Operators of the script by who decided their strategy.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field(
        "source", &SourceCountReport::source,
        "Who decided: shard() in the script, the batch-parallel default, propagation, the data set "
        "strategy; `fallback` = no sharding rule here, `none` = nothing to decide.",
        {"user", "default", "propagated", "dataset", "fallback", "none"});
    field("operators", &SourceCountReport::operators, "How many operators.");
  }
};

struct StrategyReport {
  std::string name = {};
  std::string source = {};
  std::string strategy = {};
  std::vector<std::int64_t> device_matrix = {};
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "Strategy";
  static constexpr std::string_view kMeaning = "Strategy of one operator.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("operator", &StrategyReport::name, "Full name of the operator.");
    field("source", &StrategyReport::source, "Who decided.",
          {"user", "default", "propagated", "dataset", "fallback", "none"});
    field("strategy", &StrategyReport::strategy,
          "Cuts as a script writes them: `((2, 4), (4, 1))`.");
    field("device_matrix", &StrategyReport::device_matrix, "Device matrix, outermost axis first.");
    field("place", &StrategyReport::place, "Line of the script that applies it.");
  }
};

struct FoundStrategyReport {
  std::string name = {};
  std::string paste = {};
  std::int64_t count = 1;
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "FoundStrategy";
  static constexpr std::string_view kMeaning = "A strategy that the search found, to be pasted.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("operator", &FoundStrategyReport::name, "The operator's own name.");
    field("paste", &FoundStrategyReport::paste, "What to write behind the operator.");
    field("count", &FoundStrategyReport::count, "Operators of this line that take it.");
    field("place", &FoundStrategyReport::place, "Line of the script that applies it.");
  }
};

struct SearchReport {
  double cost = 0;
  double lower_bound = 0;
  double gap = 0;
  std::int64_t estimated_bytes = 0;
  std::int64_t limit_bytes = 0;
  bool fits = true;
  std::optional<double> dynamic_programming_cost = {};
  std::optional<double> recursive_programming_cost = {};
  std::vector<FoundStrategyReport> strategies = {};

  static constexpr std::string_view kTypeName = "Search";
  static constexpr std::string_view kMeaning = "What --search=optimal found.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("cost", &SearchReport::cost,
          "Bytes that a rank computes on, plus 400 times those it sends (50 times on GPUs).");
    field("lower_bound", &SearchReport::lower_bound, "No strategies that fit cost less.");
    field("gap", &SearchReport::gap,
          "How much more than the bound that is, as a part of the bound; 0: nothing is better.");
    field("estimated_bytes", &SearchReport::estimated_bytes,
          "Memory that these strategies need, as the search estimates it; `memory` has the peak.");
    field("limit_bytes", &SearchReport::limit_bytes, "What it may be; 0: anything.");
    field("fits", &SearchReport::fits, "False: no strategies were found that fit.");
    field("dynamic_programming_cost", &SearchReport::dynamic_programming_cost,
          "The cost of what that search finds.");
    field("recursive_programming_cost", &SearchReport::recursive_programming_cost,
          "The cost of what that search finds.");
    field("strategies", &SearchReport::strategies, "What to paste, by line.");
  }
};

struct ScriptRunReport {
  std::int64_t rank = 0;
  std::string ranks = {};
  std::int64_t network = 0;
  std::int64_t operators = 0;
  std::int64_t collectives = 0;
  std::int64_t sent_bytes = 0;

  static constexpr std::string_view kTypeName = "ScriptRun";
  static constexpr std::string_view kMeaning =
      "One run of the script, and the ranks whose path is the same.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("rank", &ScriptRunReport::rank, "The rank the script played.");
    field("ranks", &ScriptRunReport::ranks, "Ranks that take the same path, in range notation.");
    field("network", &ScriptRunReport::network,
          "Which network it computes: runs with the same number compute the same one. Network 0 is "
          "what the other parts of this summary and communication.json describe; --sim_rank_id "
          "shows another one in full.");
    field("operators", &ScriptRunReport::operators,
          "Operators of one rank in a step, inserted ones included.");
    field("collectives", &ScriptRunReport::collectives, "Collectives among them.");
    field("sent_bytes", &ScriptRunReport::sent_bytes, "What such a rank sends in one step.");
  }
};

struct DiagnosticReport {
  std::string code = {};
  std::string text = {};
  std::int64_t count = 1;
  bool unsupported = false;
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "Diagnostic";
  static constexpr std::string_view kMeaning = "Something to know although the run went on.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("code", &DiagnosticReport::code, "Stable name.");
    field("text", &DiagnosticReport::text, "What was found.");
    field("count", &DiagnosticReport::count, "How often.");
    field("unsupported", &DiagnosticReport::unsupported,
          "A limit of this program; --strict turns it into an error.");
    field("place", &DiagnosticReport::place, "First place in the script.");
  }
};

struct ErrorReport {
  std::string code = {};
  std::string reason = {};
  std::string message = {};
  std::string hint = {};
  std::vector<std::string> notes = {};
  std::optional<PlaceReport> place = {};

  static constexpr std::string_view kTypeName = "Error";
  static constexpr std::string_view kMeaning = "Why the program was rejected.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("code", &ErrorReport::code, "Kind of failure.",
          {"invalid-argument", "unsupported", "protocol", "timeout", "io", "internal"});
    field("reason", &ErrorReport::reason, "Stable name `Subject:what`; may be empty.");
    field("message", &ErrorReport::message, "What is wrong, with the values.");
    field("hint", &ErrorReport::hint, "What would work; may be empty.");
    field("notes", &ErrorReport::notes, "Context, innermost first.");
    field("place", &ErrorReport::place, "Line of the script.");
  }
};

struct ClassPeakReport {
  std::string ranks = {};
  std::int64_t stage = 0;
  std::int64_t used_peak_bytes = 0;
  std::int64_t actual_peak_bytes = 0;
  std::int64_t limit_bytes = 0;
  std::int64_t head_room_bytes = 0;

  static constexpr std::string_view kTypeName = "ClassPeak";
  static constexpr std::string_view kMeaning =
      "Peak memory of one class of ranks; see memory.json.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("ranks", &ClassPeakReport::ranks, "The ranks, in range notation.");
    field("stage", &ClassPeakReport::stage, "Their pipeline stage.");
    field("used_peak_bytes", &ClassPeakReport::used_peak_bytes, "Peak without fragments.");
    field("actual_peak_bytes", &ClassPeakReport::actual_peak_bytes, "Peak with fragments.");
    field("limit_bytes", &ClassPeakReport::limit_bytes, "Device memory the framework may use.");
    field("head_room_bytes", &ClassPeakReport::head_room_bytes, "What is left; may be negative.");
  }
};

struct FleetReport {
  std::int64_t registered_ranks = 0;
  std::int64_t specialised_ranks = 0;
  std::int64_t messages = 0;
  std::int64_t message_bytes = 0;

  static constexpr std::string_view kTypeName = "Fleet";
  static constexpr std::string_view kMeaning = "What the virtual ranks did.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("registered_ranks", &FleetReport::registered_ranks,
          "Ranks that registered with the scheduler, over an in-process network.");
    field("specialised_ranks", &FleetReport::specialised_ranks, "Ranks whose program was made.");
    field("messages", &FleetReport::messages, "Frames exchanged.");
    field("message_bytes", &FleetReport::message_bytes, "Bytes of these frames.");
  }
};

}  // namespace drydock::reports
