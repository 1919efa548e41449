#include "strategies/reference/executor.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "strategies/program/micro_nodes.h"

namespace drydock::strategies {
namespace {

/// Values of one rank, by value id of the local program.
using RankValues = std::vector<NdArray>;

std::vector<Range> WholeRanges(const Shape& shape) {
  std::vector<Range> ranges;
  for (const std::int64_t extent : shape) {
    ranges.push_back({.begin = 0, .end = extent});
  }
  return ranges;
}

class LockStep {
 public:
  LockStep(std::span<const LocalProgram* const> program_of_rank, const StepData& data)
      : programs_(program_of_rank),
        first_(*program_of_rank.front()),
        data_(data),
        ranks_(program_of_rank.size(), RankValues(first_.local.values.size())) {}

  Result<std::vector<RankOutcome>> Run() {
    DRYDOCK_RETURN_IF_ERROR(CheckAlike());
    DRYDOCK_RETURN_IF_ERROR(Feed());
    DRYDOCK_RETURN_IF_ERROR(RunNodes());
    std::vector<RankOutcome> outcomes(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const ValueId output : first_.local.outputs) {
        outcomes[r].outputs.push_back(ranks_[r][ToIndex(output)]);
      }
      for (const Parameter& parameter : first_.local.parameters) {
        outcomes[r].parameters.push_back(ranks_[r][ToIndex(parameter.value)]);
      }
    }
    return outcomes;
  }

 private:
  /// Nodes in order; those of micro batches once for each, in between.
  Status RunNodes() {
    const std::int64_t count = first_.from->config.micro_batches;
    const std::vector<MicroPart> parts =
        count > 1 ? MicroParts(first_.local)
                  : std::vector<MicroPart>(first_.local.nodes.size(), MicroPart::kBefore);
    DRYDOCK_RETURN_IF_ERROR(RunPart(parts, MicroPart::kBefore));
    for (micro_batch_ = 0; count > 1 && micro_batch_ < count; ++micro_batch_) {
      DRYDOCK_RETURN_IF_ERROR(RunPart(parts, MicroPart::kEach));
      AddUp(parts);
    }
    return count > 1 ? RunPart(parts, MicroPart::kAfter) : Status();
  }

  Status RunPart(const std::vector<MicroPart>& parts, MicroPart part) {
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (parts[n] == part) {
        const Node& node = first_.local.nodes[n];
        DRYDOCK_RETURN_IF_ERROR(node.group && node.entry->kind == OpKind::kCollective
                                    ? RunTogether(node)
                                    : RunApart(n));
      }
    }
    return {};
  }

  /// What a sum over micro batches reads becomes what all of them gave so far.
  void AddUp(const std::vector<MicroPart>& parts) {
    for (const Node& node : first_.local.nodes) {
      const ValueId id = node.entry->joins_micro_batches ? node.inputs.front() : kNoValue;
      if (id == kNoValue || first_.local.at(id).kind != ValueKind::kOutput ||
          parts[ToIndex(first_.local.at(id).producer)] != MicroPart::kEach) {
        continue;
      }
      std::vector<NdArray>& sums = sums_[id];
      sums.resize(ranks_.size());
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        NdArray& value = ranks_[r][ToIndex(id)];
        for (std::size_t i = 0; micro_batch_ > 0 && i < value.data.size(); ++i) {
          value.data[i] += sums[r].data[i];
        }
        sums[r] = value;
      }
    }
  }

  [[nodiscard]] const LocalProgram& ProgramOf(std::int64_t rank) const {
    return *programs_[static_cast<std::size_t>(rank)];
  }

  /// Values and nodes are spoken of by their numbers in the first program.
  [[nodiscard]] Status CheckAlike() const {
    for (const LocalProgram* program : programs_) {
      const Graph& local = program->local;
      const bool alike =
          local.values.size() == first_.local.values.size() &&
          std::ranges::equal(local.nodes, first_.local.nodes, [](const Node& a, const Node& b) {
            return SameOperator(a, b) && a.inputs == b.inputs && a.outputs == b.outputs;
          });
      if (!alike) {
        return Fail(ErrorCode::kInternal, "the programs of the ranks are not alike");
      }
    }
    return {};
  }

  Status Feed() {
    if (data_.inputs.size() != first_.local.inputs.size() ||
        data_.parameters.size() != first_.from->traced.parameters.size()) {
      return Fail(ErrorCode::kInvalidArgument, "step data do not match the program's inputs");
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto position = static_cast<std::int64_t>(r);
      const Graph& local = ProgramOf(position).local;
      for (std::size_t i = 0; i < local.inputs.size(); ++i) {
        ranks_[r][ToIndex(local.inputs[i])] = SliceArray(data_.inputs[i], InputRanges(i, position));
      }
      FeedParameters(position, ranks_[r]);
      for (const Constant& constant : local.constants) {
        const TensorType& type = local.at(constant.value).type;
        if (constant.number) {
          ranks_[r][ToIndex(constant.value)] = FilledArray(type.shape, *constant.number);
          continue;
        }
        if (!constant.data) {
          return Fail(ErrorCode::kUnsupported, "a constant without contents cannot be executed");
        }
        ranks_[r][ToIndex(constant.value)] = {.shape = type.shape, .data = *constant.data};
      }
    }
    return {};
  }

  /// Part of the batch a rank is fed: by the data-set node's layout, or row blocks in
  /// data_parallel.
  [[nodiscard]] std::vector<Range> InputRanges(std::size_t input, std::int64_t position) const {
    const Shape& whole = data_.inputs[input].shape;
    for (const NodePlan& plan : ProgramOf(position).from->plans) {
      if (plan.source == StrategySource::kDataset) {
        return SliceOf(plan.sharding->outputs[input], position);
      }
    }
    std::vector<Range> ranges = WholeRanges(whole);
    const Graph& graph = ProgramOf(position).local;
    const Shape& local = graph.at(graph.inputs[input]).type.shape;
    if (!whole.empty() && local[0] != whole[0]) {
      ranges[0] = {.begin = position * local[0], .end = (position + 1) * local[0]};
    }
    return ranges;
  }

  void FeedParameters(std::int64_t position, RankValues& values) const {
    const LocalProgram& program = ProgramOf(position);
    const Graph& traced = program.from->traced;
    std::map<std::string_view, const NdArray*> by_name;
    for (std::size_t p = 0; p < traced.parameters.size(); ++p) {
      by_name[traced.at(traced.parameters[p].value).name] = &data_.parameters[p];
    }
    const RankId rank{static_cast<std::int32_t>(position)};
    for (std::size_t p = 0; p < program.local.parameters.size(); ++p) {
      const ValueId id = program.local.parameters[p].value;
      values[ToIndex(id)] =
          SliceArray(*by_name.at(program.local.at(id).name), OwnedRanges(program, p, rank));
    }
  }

  Status RunApart(std::size_t n) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Node& node = programs_[r]->local.nodes[n];
      if (node.entry->evaluate == nullptr) {
        return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no reference execution");
      }
      DRYDOCK_TRY(std::vector<NdArray> results, Evaluate(node, static_cast<std::int64_t>(r)));
      Store(node, std::move(results), ranks_[r]);
    }
    return {};
  }

  Result<std::vector<NdArray>> Evaluate(const Node& node, std::int64_t position) {
    const Graph& local = ProgramOf(position).local;
    std::vector<NdArray> inputs;
    std::vector<TensorType> input_types;
    std::vector<TensorType> output_types;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        inputs.push_back(ranks_[static_cast<std::size_t>(position)][ToIndex(input)]);
        input_types.push_back(local.at(input).type);
      }
    }
    for (const ValueId output : node.outputs) {
      output_types.push_back(local.at(output).type);
    }
    AttrMap attrs;
    for (const auto& [name, attr] : node.attrs) {
      attrs[name] = ResolveAttr(attr, position);
    }
    if (node.entry->per_micro_batch) {
      attrs["micro_batch"] = micro_batch_;
    }
    DRYDOCK_TRY(std::vector<NdArray> results,
                node.entry->evaluate({.inputs = inputs,
                                      .input_types = input_types,
                                      .output_types = output_types,
                                      .attrs = attrs,
                                      .absent = AbsentBits(node.inputs)}));
    for (std::size_t i = 0; i < results.size() && i < output_types.size(); ++i) {
      if (results[i].shape != output_types[i].shape) {
        return Fail(ErrorCode::kInternal, "reference execution of '" + node.op + "' gives shape " +
                                              TupleText(results[i].shape) + ", inference says " +
                                              TupleText(output_types[i].shape));
      }
    }
    return results;
  }

  /// New contents of a written operand; what it is a view of (a mirrored parameter) changes too.
  void StoreWritten(ValueId id, const NdArray& contents, RankValues& values) const {
    values[ToIndex(id)] = contents;
    const Value& value = first_.local.at(id);
    if (value.kind == ValueKind::kOutput &&
        first_.local.at(value.producer).entry->kind == OpKind::kView) {
      StoreWritten(first_.local.at(value.producer).inputs.front(), contents, values);
    }
  }

  void Store(const Node& node, std::vector<NdArray> results, RankValues& values) const {
    const std::vector<std::size_t> written = WrittenOperands(*node.entry);
    for (std::size_t i = 0; i < written.size() && i < results.size(); ++i) {
      StoreWritten(node.inputs[written[i]], results[i], values);
    }
    for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
      values[ToIndex(node.outputs[i])] = std::move(results[i]);
    }
  }

  Status RunTogether(const Node& node) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto position = static_cast<std::int64_t>(r);
      if (GroupLeader(*node.group, position) != position) {
        continue;
      }
      const std::vector<std::int64_t> members = GroupRanks(*node.group, position, 0);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        std::vector<NdArray> inputs;
        inputs.reserve(members.size());
        for (const std::int64_t member : members) {
          inputs.push_back(ranks_[static_cast<std::size_t>(member)][ToIndex(node.inputs[i])]);
        }
        DRYDOCK_TRY(std::vector<NdArray> results, RunCollective(node, inputs));
        for (std::size_t m = 0; m < members.size(); ++m) {
          ranks_[static_cast<std::size_t>(members[m])][ToIndex(node.outputs[i])] =
              std::move(results[m]);
        }
      }
    }
    return {};
  }

  std::span<const LocalProgram* const> programs_;
  const LocalProgram& first_;
  const StepData& data_;
  std::vector<RankValues> ranks_;
  std::int64_t micro_batch_ = 0;
  std::map<ValueId, std::vector<NdArray>> sums_ = {};  ///< Per rank, of the micro batches so far.
};

}  // namespace

Result<std::vector<RankOutcome>> RunAllRanks(const LocalProgram& program, const StepData& data) {
  const std::vector<const LocalProgram*> program_of_rank(
      static_cast<std::size_t>(program.from->config.world_size), &program);
  return LockStep(program_of_rank, data).Run();
}

Result<std::vector<RankOutcome>> RunAllRanks(std::span<const LocalProgram* const> program_of_rank,
                                             const StepData& data) {
  return LockStep(program_of_rank, data).Run();
}

}  // namespace drydock::strategies
