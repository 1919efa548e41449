#include "sim/fleet/memory_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/memory/static_plan.h"
#include "strategies/graph/kept_constant.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// From kernels to buffers.
///
/// Each result of a kernel is a buffer, each leaf (parameter, input, constant) one. A collective's
/// stream and the events between streams become "before this kernel, computation has waited for
/// that stream up to that kernel", which is all that lifetimes need. A view shares the storage of
/// what it reads unless that is a leaf or written in place, or the view is what the step returns:
/// then it is a buffer and a kernel like any other.
///
/// A step that leaves its update out after an overflow is several graphs in MindSpore: what only
/// the side with the update uses (moments) is not brought to the device as weights are, and a
/// branch between backward and the update ends a graph, whose results live until then. Source:
/// mindspore/ccsrc/runtime/graph_scheduler/control_node_parser.cc, and
/// mindspore/ccsrc/pipeline/jit/ps/static_analysis/order_enforce.cc
namespace drydock::sim {
namespace {

using strategies::Graph;
using strategies::KernelGraph;
using strategies::KernelId;
using strategies::KernelKind;
using strategies::KernelNode;
using strategies::KernelOperand;
using strategies::Launch;

class PlanBuilder {
 public:
  explicit PlanBuilder(const strategies::LocalProgram& program)
      : local_(program.local),
        graph_(program.kernels),
        micro_batches_(program.from ? program.from->config.micro_batches : 1) {
    for (const strategies::Node& node : local_.nodes) {
      conditional_.push_back(node.attrs.contains(strategies::kConditional));
    }
  }

  MemoryPlan Build() && {
    AddBuffers();
    MarkOutputs();
    MarkWritten();
    plan_.kernels.reserve(graph_.launches.size());
    for (const Launch& launch : graph_.launches) {
      if (launch.kind == Launch::Kind::kSend) {
        NoteSend(launch);
      } else if (launch.kind == Launch::Kind::kReceive) {
        NoteReceive(launch);
      } else {
        AddKernel(launch);
      }
    }
    plan_.last_events = std::move(events_);
    MarkOnHost();
    HoldReadings();
    AddLaterKernels();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::int32_t BufferOf(const KernelOperand& operand) const {
    return first_[static_cast<std::size_t>(operand.node)] + operand.item;
  }
  [[nodiscard]] PlannedBuffer& Buffer(std::int32_t index) {
    return plan_.buffers[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] BufferKind KindOf(const KernelNode& node) const {
    switch (node.kind) {
      case KernelKind::kInput:
        return BufferKind::kInput;
      case KernelKind::kConstant:
        return BufferKind::kConstant;
      case KernelKind::kParameter:
        return ParameterKind(node);
      default:
        break;
    }
    if (node.communication) {
      return BufferKind::kCommunication;
    }
    return node.origin == strategies::kNoNode ||
                   local_.at(node.origin).phase == strategies::Phase::kForward
               ? BufferKind::kActivation
               : BufferKind::kGradient;
  }

  [[nodiscard]] BufferKind ParameterKind(const KernelNode& node) const {
    const auto detail = static_cast<std::size_t>(local_.at(node.results.front().value).detail);
    switch (local_.parameters[detail].role) {
      case strategies::ParameterRole::kOptimizerState:
        return BufferKind::kOptimizerState;
      case strategies::ParameterRole::kAccumulatedGradient:
        return BufferKind::kAccumulatedGradient;
      default:
        return BufferKind::kParameter;
    }
  }

  void AddBuffers() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const KernelNode& node = graph_.nodes[n];
      first_.push_back(static_cast<std::int32_t>(plan_.buffers.size()));
      if (node.kind == KernelKind::kState) {
        continue;
      }
      for (const strategies::KernelResult& result : node.results) {
        plan_.buffers.push_back({.bytes = ByteSize(result.type),
                                 .kind = KindOf(node),
                                 .tag = static_cast<std::uint32_t>(n)});
      }
    }
    written_.assign(plan_.buffers.size(), false);
  }

  void MarkOutputs() {
    for (const KernelId output : graph_.outputs) {
      for (const KernelOperand& operand : RealOperands(graph_, output)) {
        Buffer(BufferOf(operand)).graph_output = true;
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (IsKeptUnread(graph_.nodes[n])) {
        Buffer(first_[n]).graph_output = true;
      }
    }
  }

  /// Buffers that are written in place, and those whose storage they are.
  void MarkWritten() {
    for (const Launch& launch : graph_.launches) {
      if (launch.kind != Launch::Kind::kKernel || graph_.at(launch.kernel).view) {
        continue;
      }
      const KernelNode& node = graph_.at(launch.kernel);
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        const std::int32_t shared = SharedBuffer(node, node.results[i].shares);
        if (shared >= 0) {
          const std::int32_t result =
              BufferOf({.node = launch.kernel, .item = static_cast<std::int32_t>(i)});
          Buffer(result).alias_of = shared;
          written_[static_cast<std::size_t>(result)] = true;
          written_[static_cast<std::size_t>(shared)] = true;
        }
      }
    }
  }

  [[nodiscard]] std::int32_t SharedBuffer(const KernelNode& node, std::int32_t operand) const {
    if (operand < 0) {
      return -1;
    }
    const std::vector<KernelOperand> read =
        RealOperands(graph_, node.inputs[static_cast<std::size_t>(operand)]);
    return read.size() == 1 ? BufferOf(read.front()) : -1;
  }

  void ShareView(const KernelNode& node, std::int32_t result) {
    const std::vector<KernelOperand> read = RealOperands(graph_, node.inputs.front());
    if (read.size() != 1 || IsLeaf(graph_.at(read.front().node).kind)) {
      return;
    }
    const std::int32_t origin = BufferOf(read.front());
    if (!Buffer(result).graph_output && !written_[static_cast<std::size_t>(result)] &&
        !written_[static_cast<std::size_t>(origin)]) {
      Buffer(result).alias_of = origin;
    }
  }

  [[nodiscard]] bool OfBranch(std::size_t kernel) const {
    const NodeId origin = graph_.nodes[kernel].origin;
    return origin != strategies::kNoNode && conditional_[static_cast<std::size_t>(origin)];
  }

  /// Parameters that only a side of a branch uses stay where they are filled.
  void MarkOnHost() {
    std::vector<bool> in_branch(plan_.buffers.size(), false);
    std::vector<bool> outside(plan_.buffers.size(), false);
    for (const PlannedKernel& kernel : plan_.kernels) {
      std::vector<bool>& where = OfBranch(kernel.tag) ? in_branch : outside;
      for (const std::int32_t input : kernel.inputs) {
        where[static_cast<std::size_t>(input)] = true;
      }
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      plan_.buffers[b].on_host =
          graph_.nodes[plan_.buffers[b].tag].kind == KernelKind::kParameter && in_branch[b] &&
          !outside[b] && !plan_.buffers[b].graph_output;
    }
  }

  /// True if a kernel reads a parameter that is written in the branch, other than to cast it; a
  /// fused one may begin with that cast.
  [[nodiscard]] bool ReadsWeight(const KernelNode& node, const std::vector<bool>& written) const {
    const bool casts = node.origin != strategies::kNoNode && local_.at(node.origin).entry->is_cast;
    return !casts && std::ranges::any_of(node.inputs, [&](KernelId input) {
      const KernelNode& load = graph_.at(input);
      return load.kind == KernelKind::kLoad &&
             written[static_cast<std::size_t>(load.inputs.front())];
    });
  }

  /// Parameters that the branch writes and that something in front of it reads other than to cast
  /// them, per node.
  [[nodiscard]] std::vector<bool> WrittenAndRead() const {
    std::set<ValueId> read;
    for (const strategies::Node& node : local_.nodes) {
      if (!node.entry->is_cast && !node.attrs.contains(strategies::kConditional)) {
        read.insert(node.inputs.begin(), node.inputs.end());
      }
    }
    std::vector<bool> written = WrittenInBranch();
    for (std::size_t n = 0; n < written.size(); ++n) {
      written[n] = written[n] && read.contains(graph_.nodes[n].results.front().value);
    }
    return written;
  }

  /// Per node: a parameter that a side of the branch writes.
  [[nodiscard]] std::vector<bool> WrittenInBranch() const {
    std::vector<bool> written(graph_.nodes.size(), false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const KernelNode& node = graph_.nodes[n];
      for (const strategies::KernelResult& result : node.results) {
        if (result.shares >= 0 && node.update && OfBranch(n)) {
          for (const KernelOperand& operand :
               RealOperands(graph_, node.inputs[static_cast<std::size_t>(result.shares)])) {
            written[static_cast<std::size_t>(operand.node)] = true;
          }
        }
      }
    }
    return written;
  }

  /// The last kernel that decides a branch; -1 if there is none in front of a branch with updates.
  [[nodiscard]] std::int32_t EndOfFirstGraph() const {
    const bool cut =
        micro_batches_ == 1 && std::ranges::any_of(local_.nodes, [](const strategies::Node& node) {
          return node.attrs.contains(strategies::kSelectsSide);
        });
    std::int32_t last = -1;
    for (std::size_t k = 0; cut && k < plan_.kernels.size(); ++k) {
      const std::size_t node = plan_.kernels[k].tag;
      const NodeId origin = graph_.nodes[node].origin;
      if (origin != strategies::kNoNode && !OfBranch(node) &&
          local_.at(origin).attrs.contains(strategies::kDecides)) {
        last = static_cast<std::int32_t>(k);
      }
    }
    return last;
  }

  /// Updates in a branch wait for all that read a weight before. Where another branch lies between,
  /// the graph ends in front of that, and what was read is a result of it until then.
  void HoldReadings() {
    const std::int32_t end = EndOfFirstGraph();
    if (end < 0) {
      return;
    }
    const std::vector<bool> written = WrittenAndRead();
    for (std::int32_t k = 0; k < end; ++k) {
      const PlannedKernel& kernel = plan_.kernels[static_cast<std::size_t>(k)];
      if (ReadsWeight(graph_.nodes[kernel.tag], written)) {
        for (const std::int32_t output : kernel.outputs) {
          Buffer(output).held_until = end;
        }
      }
    }
  }

  void NoteSend(const Launch& launch) {
    const auto last = last_of_stream_.find(launch.stream);
    if (last != last_of_stream_.end()) {
      sent_[launch.event] = last->second;
    }
    events_.push_back({.records = true});
  }

  /// Only what computation waits for frees memory: all memory belongs to its stream.
  void NoteReceive(const Launch& launch) {
    const auto sent = sent_.find(launch.event);
    const bool releases = launch.stream == 0 && sent != sent_.end();
    events_.push_back({.stream = launch.other, .release_up_to = releases ? sent->second : -1});
  }

  void AddKernel(const Launch& launch) {
    const KernelNode& node = graph_.at(launch.kernel);
    PlannedKernel kernel{.stream = launch.stream,
                         .events = std::exchange(events_, {}),
                         .tag = static_cast<std::uint32_t>(launch.kernel)};
    const std::vector<KernelOperand> read = TensorsRead(graph_, launch.kernel);
    kernel.inputs.reserve(read.size());
    for (const KernelOperand& operand : read) {
      kernel.inputs.push_back(BufferOf(operand));
    }
    kernel.outputs.reserve(node.results.size());
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      kernel.outputs.push_back(
          BufferOf({.node = launch.kernel, .item = static_cast<std::int32_t>(i)}));
    }
    if (node.view) {
      ShareView(node, kernel.outputs.front());
    }
    kernel.continuous_inputs = node.communication && kernel.inputs.size() > 1;
    kernel.continuous_outputs = node.communication && kernel.outputs.size() > 1;
    const auto index = static_cast<std::int32_t>(plan_.kernels.size());
    if (!graph_.after_step.empty() && launch.kernel == graph_.after_step.front()) {
      plan_.first_after_step = index;
    }
    last_of_stream_[launch.stream] = index;
    plan_.kernels.push_back(std::move(kernel));
  }

  void AddLaterKernels() {
    if (graph_.later_launches.empty()) {
      return;
    }
    std::map<std::uint32_t, std::size_t> position;
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      position[plan_.kernels[k].tag] = k;
    }
    for (const KernelId kernel : graph_.later_launches) {
      plan_.later_kernels.push_back(plan_.kernels[position.at(static_cast<std::uint32_t>(kernel))]);
    }
  }

  const Graph& local_;
  const KernelGraph& graph_;
  const std::int64_t micro_batches_;
  MemoryPlan plan_ = {};
  std::vector<bool> conditional_ = {};    ///< Per node of the local program: of a branch's side.
  std::vector<std::int32_t> first_ = {};  ///< Per node: its first buffer.
  std::vector<bool> written_ = {};        ///< Per buffer: part of an update in place.
  std::map<std::int32_t, std::int32_t> last_of_stream_ = {};  ///< Last kernel on each stream.
  std::map<std::int32_t, std::int32_t> sent_ = {};            ///< Per event: the kernel before it.
  std::vector<PlannedEvent> events_ = {};                     ///< For the next kernel.
};

}  // namespace

MemoryPlan PlanMemory(const strategies::LocalProgram& program) {
  return PlanBuilder(program).Build();
}

std::size_t ResultOf(const MemoryPlan& plan, std::size_t buffer) {
  std::size_t first = buffer;
  while (first > 0 && plan.buffers[first - 1].tag == plan.buffers[buffer].tag) {
    --first;
  }
  return buffer - first;
}

bool PlansMemoryBeforehand(const strategies::LocalProgram& program) {
  return PlansMemoryBeforehand(program.from->config.alloc_conf) &&
         std::ranges::none_of(program.local.nodes, [](const strategies::Node& node) {
           return node.attrs.contains(strategies::kConditional);
         });
}

}  // namespace drydock::sim
