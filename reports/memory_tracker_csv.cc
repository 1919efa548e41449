#include "reports/memory_tracker_csv.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "reports/kernel_names.h"
#include "strategies/graph/graph.h"

namespace drydock::reports {
namespace {

using sim::MemoryTrace;
using sim::TrackedBlock;
using sim::TrackedTask;
using sim::TrackedTaskKind;
using strategies::KernelKind;
using strategies::KernelNode;

constexpr std::string_view kGraphName = "kernel_graph0";

/// Folder of MindSpore's actors.
constexpr std::string_view kActors = "mindspore/ccsrc/backend/ms_backend/runtime/actors/base/";

/// Place in MindSpore.
struct Origin {
  std::string_view folder;
  std::string_view file;
  std::string_view line;
};

/// One line: every field followed by a comma.
std::string TrackerRow(std::initializer_list<std::string_view> fields) {
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

Origin OriginOf(TrackedTaskKind kind) {
  switch (kind) {
    case TrackedTaskKind::kPrepareData:
      return {kActors, "data_prepare_actor.cc", "72"};
    case TrackedTaskKind::kReadInputs:
      return {kActors, "data_source_actor.cc", "46"};
    case TrackedTaskKind::kKernel:
      return {kActors, "kernel_actor.cc", "133"};
    case TrackedTaskKind::kRecordEvent:
    case TrackedTaskKind::kWaitEvent:
      return {kActors, "kernel_actor.cc", "121"};
    case TrackedTaskKind::kKernelEvent:
      return {"mindspore/ccsrc/plugin/ascend/res_manager/event/", "ascend_event.cc", "96"};
    case TrackedTaskKind::kReturn:
      return {kActors, "output_actor.cc", "795"};
  }
  return {};
}

Origin OriginOf(const TrackedBlock& block) {
  return block.producer.kind == TrackedTaskKind::kPrepareData
             ? Origin{kActors, "data_prepare_actor.cc", "73"}
             : Origin{kActors, "memory_manager_actor.cc", "47"};
}

std::string FileOf(const Origin& origin) {
  return std::string(origin.folder) + std::string(origin.file);
}

/// Names of a task and whether it belongs to a graph.
struct TaskLabel {
  TrackedName name = {};
  std::string_view graph_name = {};
};

TaskLabel LabelOf(const TrackedTask& task, const TrackedNames& names) {
  const auto same = [](std::string name) { return TaskLabel{.name = {name, name, {}}}; };
  switch (task.kind) {
    case TrackedTaskKind::kPrepareData: {
      const TrackedName& name = names.buffers[static_cast<std::size_t>(task.buffer)];
      return {name, name.node_name.starts_with("Default/data-") ? std::string_view() : kGraphName};
    }
    case TrackedTaskKind::kKernel:
      return {names.kernels[static_cast<std::size_t>(task.kernel)], kGraphName};
    case TrackedTaskKind::kReadInputs:
      return same("kernel_graph_0_HostDSActor");
    case TrackedTaskKind::kRecordEvent:
      return same("RecordEvent");
    case TrackedTaskKind::kWaitEvent:
      return same("WaitEvent");
    case TrackedTaskKind::kKernelEvent:
      return {.name = {"Event", "RecordEvent", {}}};
    case TrackedTaskKind::kReturn:
      return {.name = {"kernel_graph_0_OutputActor", "UpdateOutputDeviceAddress", {}}};
  }
  return {};
}

/// Time stamps of the launches that read a block: "{3-7-9}".
std::string UsersText(const TrackedBlock& block) {
  std::string text = "{";
  for (const std::int64_t stamp : block.user_tasks) {
    text += (text.size() > 1 ? "-" : "") + std::to_string(stamp);
  }
  return text + "}";
}

std::string BlockRow(const TrackedBlock& block, const TrackedNames& names,
                     const TrackerFileOptions& options) {
  const Origin origin = OriginOf(block);
  const TaskLabel label = LabelOf(block.producer, names);
  return TrackerRow(
      {std::to_string(block.start_time_stamp),
       std::to_string(block.end_time_stamp),
       PointerText(options.base_address + block.allocation.address),
       "0",
       options.pool_name,
       std::to_string(block.allocation.bytes),
       std::to_string(block.used_bytes),
       std::to_string(block.actual_peak_bytes),
       FileOf(origin),
       origin.line,
       sim::TrackedTypeName(block.type),
       std::to_string(block.producer.time_stamp),
       label.name.task_name,
       label.name.node_name,
       label.graph_name,
       UsersText(block),
       block.user_tasks.empty() ? std::string() : std::to_string(block.user_tasks.back()),
       label.name.python_stack,
       block.allocation.pool == sim::PoolKind::kPersistent ? "1" : "0",
       "0"});
}

/// "File:net.py;Line:12;Function:|"
std::string StackText(const strategies::Graph& graph, NodeId origin) {
  const auto place = strategies::PlaceOf(graph, graph.at(origin));
  return place ? "File:" + place->file + ";Line:" + std::to_string(place->line) + ";Function:|"
               : std::string();
}

TrackedName NameOfLeaf(const strategies::Graph& graph, const KernelNode& node,
                       std::size_t& constants) {
  if (node.kind == KernelKind::kConstant) {
    const bool tensor = node.results.front().value != strategies::kNoValue;
    return {.task_name = tensor ? "SyncTensorData" : "PrepareDataForSequenceAndScalarValue",
            .node_name = "Default/data-" + std::to_string(++constants)};
  }
  const ValueId value = node.results.front().value;
  return {.task_name = "SyncTensorData",
          .node_name = value == strategies::kNoValue ? node.name.str() : graph.at(value).name};
}

}  // namespace

TrackedNames NamesOfPlan(const strategies::LocalProgram& program, const sim::MemoryPlan& plan) {
  TrackedNames names;
  names.buffers.resize(plan.buffers.size());
  std::size_t constants = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const KernelNode& node = program.kernels.nodes[plan.buffers[b].tag];
    if (node.kind == KernelKind::kParameter || node.kind == KernelKind::kConstant) {
      names.buffers[b] = NameOfLeaf(program.local, node, constants);
    }
  }
  std::vector<std::string> full(program.kernels.nodes.size());
  const std::vector<std::string> launch_names = LaunchNames(program);
  for (std::size_t i = 0; i < launch_names.size(); ++i) {
    const strategies::Launch& launch = program.kernels.launches[i];
    if (launch.kind == strategies::Launch::Kind::kKernel) {
      full[static_cast<std::size_t>(launch.kernel)] = launch_names[i];
    }
  }
  std::size_t launches = 0;
  std::map<std::uint32_t, std::size_t> position;
  for (const sim::PlannedKernel& kernel : plan.kernels) {
    position[kernel.tag] = names.kernels.size();
    const KernelNode& node = program.kernels.nodes[kernel.tag];
    launches += kernel.events.size();
    TrackedName name{.node_name = full[kernel.tag]};
    if (node.origin != strategies::kNoNode) {
      name.python_stack = StackText(program.local, node.origin);
    }
    name.task_name = std::to_string(launches++) + "_" + name.node_name;
    names.kernels.push_back(std::move(name));
  }
  launches = 0;
  for (const sim::PlannedKernel& kernel : plan.later_kernels) {
    TrackedName name = names.kernels[position.at(kernel.tag)];
    name.task_name = std::to_string(launches++) + "_" + name.node_name;
    names.kernels.push_back(std::move(name));
  }
  return names;
}

std::string MemoryBlockCsv(const MemoryTrace& trace, const TrackedNames& names,
                           const TrackerFileOptions& options) {
  std::string text = TrackerRow({"start_time_stamp",
                                 "end_time_stamp",
                                 "device_addr",
                                 "stream_id",
                                 "pool_type",
                                 "size",
                                 "actual_used_memory",
                                 "actual_peak_memory",
                                 "file_name",
                                 "line_num",
                                 "type",
                                 "producer_task",
                                 "task_name",
                                 "node_name",
                                 "graph_name",
                                 "user_tasks",
                                 "last_user_task",
                                 "python_stack",
                                 "is_persistent",
                                 "is_small"});
  for (const TrackedBlock& block : trace.blocks) {
    text += BlockRow(block, names, options);
  }
  return text;
}

std::string TaskCsv(const MemoryTrace& trace, const TrackedNames& names) {
  std::string text = TrackerRow({"time_stamp", "task_name", "node_name", "graph_name", "file_name",
                                 "line_num", "python_stack"});
  for (const TrackedTask& task : trace.tasks) {
    const Origin origin = OriginOf(task.kind);
    const TaskLabel label = LabelOf(task, names);
    text += TrackerRow({std::to_string(task.time_stamp), label.name.task_name, label.name.node_name,
                        label.graph_name, FileOf(origin), origin.line, label.name.python_stack});
  }
  return text;
}

}  // namespace drydock::reports
