#pragma once

#include <optional>
#include <string>

#include "reports/memory_report.h"
#include "reports/summary_report.h"

namespace drydock::reports {

/// Columns no line of the summary exceeds.
inline constexpr std::size_t kTerminalColumns = 80;

struct TerminalOptions {
  bool color = false;    ///< ANSI colours for the verdict and the headings.
  bool verbose = false;  ///< Adds MindSpore's own memory lines.
  /// Where causes of communication are taken from; null: they are not told.
  const CommunicationReport* communication = nullptr;
  std::string output_folder = {};  ///< Where SummaryReport::files are; empty = not mentioned.
};

/// A summary that is understood at a glance: the verdict, what was checked, peak memory and
/// head-room, what is sent, the largest tensors, diagnostics, files. At most `kTerminalColumns`
/// wide and about 30 lines long, however large the job; ends with a newline.
[[nodiscard]] std::string TerminalSummary(const SummaryReport& summary,
                                          const std::optional<MemoryReport>& memory,
                                          const TerminalOptions& options);

}  // namespace drydock::reports
