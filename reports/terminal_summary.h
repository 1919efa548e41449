#pragma once

#include <optional>
#include <string>

#include "reports/memory_report.h"
#include "reports/summary_report.h"

namespace drydock::reports {

/// Columns no line of the summary exceeds.
inline constexpr std::size_t kTerminalColumns = 100;

struct TerminalOptions {
  bool color = false;              ///< ANSI colours for the verdict and the headings.
  bool verbose = false;            ///< Adds MindSpore's own memory lines.
  std::string output_folder = {};  ///< Where SummaryReport::files are; empty = not mentioned.
};

/// A summary that is understood at a glance: what was checked, the verdict, peak memory and
/// head-room, what is sent, the largest tensors, diagnostics, files. At most `kTerminalColumns`
/// wide and about 30 lines long, however large the job; ends with a newline.
[[nodiscard]] std::string TerminalSummary(const SummaryReport& summary,
                                          const std::optional<MemoryReport>& memory,
                                          const TerminalOptions& options);

}  // namespace drydock::reports
