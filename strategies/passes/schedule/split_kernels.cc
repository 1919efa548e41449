#include "strategies/passes/schedule/split_kernels.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "strategies/passes/schedule/split_areas.h"

/// Groups of kernels that cannot be one kernel fall apart.
///
/// split_areas.cc says into which parts. Each becomes a kernel of its own, named by what it does;
/// single casts, transpositions and assignments are the kernels that they were before.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel/core/graph_kernel_splitter_rebuild.cc.
namespace drydock::strategies {
namespace {

using Source = BasicValue::Source;

class KernelSplitter {
 public:
  explicit KernelSplitter(FusedGraph& graph) : graph_(graph) {}

  void Run() {
    struct Split {
      KernelId kernel = kNoKernel;
      std::vector<KernelId> results = {};  ///< What they are now.
    };
    std::vector<Split> splits;
    std::vector<std::int32_t> split_of(graph_.size(), -1);  // Per node.
    for (const KernelId id : graph_.FusedKernels()) {
      const std::vector<BasicArea> areas = SplitAreas(*graph_.ProgramOf(id));
      if (areas.size() > 1 || areas.front().basic) {
        split_of[IndexOf(id)] = static_cast<std::int32_t>(splits.size());
        splits.push_back({.kernel = id, .results = TakeAreas(id, graph_.TakeProgram(id), areas)});
      }
    }
    for (std::size_t i = 0; i < split_of.size(); ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      const KernelNode& node = graph_.at(id);
      if (node.kind != KernelKind::kTupleGetItem) {
        continue;
      }
      const std::int32_t split = split_of[IndexOf(node.inputs.front())];
      const auto item = static_cast<std::size_t>(node.item);
      // Nodes that nobody reads any more may name results that are gone.
      if (split >= 0 && item < splits[static_cast<std::size_t>(split)].results.size()) {
        graph_.Replace(id, splits[static_cast<std::size_t>(split)].results[item]);
      }
    }
    for (const auto& [id, results] : splits) {
      graph_.Replace(id, results.size() == 1 ? results.front()
                                             : graph_.AddVirtual(KernelKind::kMakeTuple, results));
    }
    graph_.Resolve();
  }

 private:
  /// A part of a kernel that falls apart.
  struct Part {
    std::vector<std::size_t> ops = {};
    std::vector<std::size_t> outputs = {};
    KernelId kernel = kNoKernel;
    bool basic = false;
  };

  std::vector<KernelId> TakeAreas(KernelId id, const BasicProgram& program,
                                  const std::vector<BasicArea>& areas) {
    std::vector<Part> parts = PartsOf(program, areas);
    std::vector<KernelId> made(program.ops.size(), kNoKernel);
    for (Part& part : parts) {
      part.kernel = graph_.Add(part.basic ? BasicKernel(id, program.ops[part.ops.front()])
                                          : FusedKernel(id, program, part));
      const std::vector<KernelId> items = graph_.Items(part.kernel);
      for (std::size_t i = 0; i < part.outputs.size(); ++i) {
        made[part.outputs[i]] = items[i];
      }
    }
    for (const Part& part : parts) {
      if (part.basic) {
        ReadAsBasic(id, program.ops[part.ops.front()], part.kernel, made);
      } else {
        MakeProgram(id, program, part, made);
      }
    }
    std::vector<KernelId> results;
    for (const BasicValue& result : program.results) {
      results.push_back(made[static_cast<std::size_t>(result.index)]);
    }
    return results;
  }

  static std::vector<Part> PartsOf(const BasicProgram& program,
                                   const std::vector<BasicArea>& areas) {
    std::vector<std::size_t> part_of(program.ops.size(), 0);
    std::vector<Part> parts;
    for (const BasicArea& area : areas) {
      for (std::size_t i = 0; i < area.ops.size(); ++i) {
        if (i == 0 || area.basic) {
          parts.push_back({.basic = area.basic});
        }
        parts.back().ops.push_back(area.ops[i]);
        part_of[area.ops[i]] = parts.size() - 1;
      }
    }
    std::vector<bool> output(program.ops.size(), false);
    for (std::size_t n = 0; n < program.ops.size(); ++n) {
      for (const BasicValue& input : program.ops[n].inputs) {
        const auto made = static_cast<std::size_t>(input.index);
        if (input.source == Source::kResult && part_of[made] != part_of[n]) {
          output[made] = true;
        }
      }
    }
    for (const BasicValue& result : program.results) {
      output[static_cast<std::size_t>(result.index)] = true;
    }
    for (Part& part : parts) {
      std::ranges::copy_if(part.ops, std::back_inserter(part.outputs),
                           [&output](std::size_t op) { return output[op]; });
    }
    return parts;
  }

  /// The kernel that the operation was, or a new one.
  [[nodiscard]] KernelNode BasicKernel(KernelId whole, const BasicOp& op) const {
    if (op.from != kNoKernel) {
      return graph_.at(op.from);
    }
    KernelNode node = {.kind = KernelKind::kKernel,
                       .micro = graph_.at(whole).micro,
                       .origin = graph_.at(whole).origin,
                       .name = graph_.Named(std::string(op.facts->kernel))};
    node.results = {{.type = op.type, .shares = op.facts->writes ? 0 : -1}};
    node.view = op.facts->pattern == BasicPattern::kReshape;
    return node;
  }

  void ReadAsBasic(KernelId whole, const BasicOp& op, KernelId kernel,
                   const std::vector<KernelId>& made) {
    std::vector<KernelId> inputs = graph_.at(kernel).inputs;
    inputs.resize(std::max(inputs.size(), op.inputs.size()), kNoKernel);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const BasicValue& input = op.inputs[i];
      if (input.source == Source::kOperand) {
        inputs[i] = graph_.at(whole).inputs[static_cast<std::size_t>(input.index)];
      } else if (input.source == Source::kResult) {
        inputs[i] = made[static_cast<std::size_t>(input.index)];
      } else if (inputs[i] == kNoKernel) {
        KernelNode constant = {.kind = KernelKind::kConstant};
        constant.results = {{.type = input.type}};
        inputs[i] = graph_.Add(std::move(constant));
      }
    }
    graph_.at(kernel).inputs = std::move(inputs);
  }

  /// With results that remember which tensors of the local program they are.
  [[nodiscard]] KernelNode FusedKernel(KernelId whole, const BasicProgram& program,
                                       const Part& part) const {
    KernelNode node = {.kind = KernelKind::kKernel,
                       .micro = graph_.at(whole).micro,
                       .origin = graph_.at(whole).origin};
    std::vector<KernelResult> results;
    for (const std::size_t op : part.outputs) {
      results.push_back({.type = program.ops[op].type});
      for (std::size_t i = 0; i < program.results.size(); ++i) {
        if (program.results[i].index == static_cast<std::int32_t>(op)) {
          results.back().value = graph_.at(whole).results[i].value;
        }
      }
    }
    node.results = std::move(results);
    return node;
  }

  void MakeProgram(KernelId whole, const BasicProgram& program, const Part& part,
                   const std::vector<KernelId>& made) {
    BasicProgram own;
    std::vector<KernelId> operands;
    std::map<KernelId, std::int32_t> operand_of;
    std::map<std::size_t, std::int32_t> op_of;
    for (const std::size_t n : part.ops) {
      BasicOp op = program.ops[n];
      for (BasicValue& input : op.inputs) {
        const auto index = static_cast<std::size_t>(input.index);
        if (input.source == Source::kResult && op_of.contains(index)) {
          input.index = op_of.at(index);
        } else if (input.source != Source::kNumber) {
          const bool outer = input.source == Source::kOperand;
          const KernelId id = outer ? graph_.at(whole).inputs[index] : made[index];
          const auto count = static_cast<std::int32_t>(operands.size());
          const auto [known, fresh] = operand_of.try_emplace(id, count);
          if (fresh) {
            operands.push_back(id);
            own.operands.push_back(program.TypeOf(input));
          }
          input = {.source = Source::kOperand, .index = known->second};
        }
      }
      op_of[n] = static_cast<std::int32_t>(own.ops.size());
      own.ops.push_back(std::move(op));
    }
    for (const std::size_t op : part.outputs) {
      own.results.push_back({.source = Source::kResult, .index = op_of.at(op)});
    }
    std::string name;
    graph_.SetProgram(part.kernel, std::move(own), operands, {});
    for (const BasicOp& op : graph_.ProgramOf(part.kernel)->ops) {
      name += std::string(op.facts->kernel) + "_";
    }
    graph_.at(part.kernel).name = graph_.Named(name + "split");
  }

  FusedGraph& graph_;
};

}  // namespace

void SplitKernels(FusedGraph& graph) {
  KernelSplitter(graph).Run();
}

}  // namespace drydock::strategies
