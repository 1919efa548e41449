#include "reports/memory_tracker_csv.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace drydock::reports {
namespace {

using sim::MemoryTrace;
using sim::TrackedBlock;
using sim::TrackedTask;
using sim::TrackedTaskKind;

/// One line: every field followed by a comma.
std::string Row(std::initializer_list<std::string_view> fields) {
  std::string row;
  for (const std::string_view field : fields) {
    for (const char c : field) {
      row += c == ',' ? ';' : (c == '\n' || c == '\r' ? ' ' : c);
    }
    row += ',';
  }
  return row + '\n';
}

std::string PointerText(std::int64_t address) {
  std::array<char, 20> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<std::uint64_t>(address), 16)
                       .ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string LineText(std::int32_t line) {
  return line > 0 ? std::to_string(line) : std::string();
}

KernelLabel LabelOf(const TrackedTask& task, std::span<const KernelLabel> labels,
                    const TrackerFileOptions& options) {
  switch (task.kind) {
    case TrackedTaskKind::kPrepareData:
      return KernelLabel{
          .task_name = "PrepareData", .node_name = "PrepareData", .graph_name = options.graph_name};
    case TrackedTaskKind::kReadInputs:
      return KernelLabel{
          .task_name = "DataSource", .node_name = "DataSource", .graph_name = options.graph_name};
    case TrackedTaskKind::kKernel:
      break;
  }
  const auto kernel = static_cast<std::size_t>(task.kernel);
  return kernel < labels.size() ? labels[kernel] : KernelLabel{.graph_name = options.graph_name};
}

/// Time stamps of the tasks that use a block: "{3-7-9}".
std::string UsersText(const MemoryTrace& trace, const TrackedBlock& block) {
  std::string text = "{";
  for (const std::size_t task : block.user_tasks) {
    text += (text.size() > 1 ? "-" : "") + std::to_string(trace.tasks[task].time_stamp);
  }
  return text + "}";
}

std::string BlockRow(const MemoryTrace& trace, const TrackedBlock& block, const KernelLabel& label,
                     const TrackerFileOptions& options) {
  const std::string last_user =
      block.user_tasks.empty() ? std::string()
                               : std::to_string(trace.tasks[block.user_tasks.back()].time_stamp);
  return Row({std::to_string(block.start_time_stamp), std::to_string(block.end_time_stamp),
              PointerText(options.base_address + block.allocation.address), "0", options.pool_name,
              std::to_string(block.allocation.bytes), std::to_string(block.actual_peak_bytes),
              label.file_name, LineText(label.line), sim::TrackedTypeName(block.type),
              std::to_string(trace.tasks[block.producer_task].time_stamp), label.task_name,
              label.node_name, label.graph_name, UsersText(trace, block), last_user,
              label.python_stack});
}

}  // namespace

std::string MemoryBlockCsv(const MemoryTrace& trace, std::span<const KernelLabel> labels,
                           const TrackerFileOptions& options) {
  std::string text =
      Row({"start_time_stamp", "end_time_stamp", "device_addr", "stream_id", "pool_type", "size",
           "actual_peak_memory", "file_name", "line_num", "type", "producer_task", "task_name",
           "node_name", "graph_name", "user_tasks", "last_user_task", "python_stack"});
  for (const TrackedBlock& block : trace.blocks) {
    text +=
        BlockRow(trace, block, LabelOf(trace.tasks[block.producer_task], labels, options), options);
  }
  return text;
}

std::string TaskCsv(const MemoryTrace& trace, std::span<const KernelLabel> labels,
                    const TrackerFileOptions& options) {
  std::string text = Row({"time_stamp", "task_name", "node_name", "graph_name", "file_name",
                          "line_num", "python_stack"});
  for (const TrackedTask& task : trace.tasks) {
    const KernelLabel label = LabelOf(task, labels, options);
    text += Row({std::to_string(task.time_stamp), label.task_name, label.node_name,
                 label.graph_name, label.file_name, LineText(label.line), label.python_stack});
  }
  return text;
}

}  // namespace drydock::reports
