#include "strategies/reference/executor.h"

#include <algorithm>
#include <map>

#include "base/text.h"

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
  LockStep(const CompiledProgram& program, const StepData& data)
      : program_(program),
        local_(program.local),
        data_(data),
        ranks_(static_cast<std::size_t>(program.config.world_size),
               RankValues(program.local.values.size())) {}

  Result<std::vector<RankOutcome>> Run() {
    DRYDOCK_RETURN_IF_ERROR(Feed());
    for (const Node& node : local_.nodes) {
      DRYDOCK_RETURN_IF_ERROR(node.group && node.entry->kind == OpKind::kCollective
                                  ? RunTogether(node)
                                  : RunApart(node));
    }
    std::vector<RankOutcome> outcomes(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const ValueId output : local_.outputs) {
        outcomes[r].outputs.push_back(ranks_[r][ToIndex(output)]);
      }
      for (const Parameter& parameter : local_.parameters) {
        outcomes[r].parameters.push_back(ranks_[r][ToIndex(parameter.value)]);
      }
    }
    return outcomes;
  }

 private:
  Status Feed() {
    if (data_.inputs.size() != local_.inputs.size() ||
        data_.parameters.size() != program_.traced.parameters.size()) {
      return Fail(ErrorCode::kInvalidArgument, "step data do not match the program's inputs");
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto position = static_cast<std::int64_t>(r);
      for (std::size_t i = 0; i < local_.inputs.size(); ++i) {
        ranks_[r][ToIndex(local_.inputs[i])] =
            SliceArray(data_.inputs[i], InputRanges(i, position));
      }
      FeedParameters(position, ranks_[r]);
      for (const Constant& constant : local_.constants) {
        if (!constant.data) {
          return Fail(ErrorCode::kUnsupported, "a constant without contents cannot be executed");
        }
        ranks_[r][ToIndex(constant.value)] = {.shape = local_.at(constant.value).type.shape,
                                              .data = *constant.data};
      }
    }
    return {};
  }

  /// Part of the batch a rank is fed: by the data-set node's layout, or row blocks in
  /// data_parallel.
  [[nodiscard]] std::vector<Range> InputRanges(std::size_t input, std::int64_t position) const {
    const Shape& whole = data_.inputs[input].shape;
    for (const NodePlan& plan : program_.plans) {
      if (plan.source == StrategySource::kDataset) {
        return SliceOf(plan.sharding->outputs[input], position);
      }
    }
    std::vector<Range> ranges = WholeRanges(whole);
    const Shape& local = local_.at(local_.inputs[input]).type.shape;
    if (!whole.empty() && local[0] != whole[0]) {
      ranges[0] = {.begin = position * local[0], .end = (position + 1) * local[0]};
    }
    return ranges;
  }

  void FeedParameters(std::int64_t position, RankValues& values) const {
    std::map<std::string_view, const NdArray*> by_name;
    for (std::size_t p = 0; p < program_.traced.parameters.size(); ++p) {
      by_name[program_.traced.at(program_.traced.parameters[p].value).name] = &data_.parameters[p];
    }
    for (std::size_t p = 0; p < local_.parameters.size(); ++p) {
      const ValueId id = local_.parameters[p].value;
      values[ToIndex(id)] = SliceArray(*by_name.at(local_.at(id).name),
                                       SliceOf(program_.parameter_layouts[p], position));
    }
  }

  Status RunApart(const Node& node) {
    if (node.entry->evaluate == nullptr) {
      return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no reference execution");
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      DRYDOCK_TRY(std::vector<NdArray> results, Evaluate(node, static_cast<std::int64_t>(r)));
      Store(node, std::move(results), ranks_[r]);
    }
    return {};
  }

  Result<std::vector<NdArray>> Evaluate(const Node& node, std::int64_t position) {
    std::vector<NdArray> inputs;
    std::vector<TensorType> input_types;
    std::vector<TensorType> output_types;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        inputs.push_back(ranks_[static_cast<std::size_t>(position)][ToIndex(input)]);
        input_types.push_back(local_.at(input).type);
      }
    }
    for (const ValueId output : node.outputs) {
      output_types.push_back(local_.at(output).type);
    }
    AttrMap attrs;
    for (const auto& [name, attr] : node.attrs) {
      attrs[name] = ResolveAttr(attr, position);
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
    const Value& value = local_.at(id);
    if (value.kind == ValueKind::kOutput &&
        local_.at(value.producer).entry->kind == OpKind::kView) {
      StoreWritten(local_.at(value.producer).inputs.front(), contents, values);
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

  const CompiledProgram& program_;
  const Graph& local_;
  const StepData& data_;
  std::vector<RankValues> ranks_;
};

}  // namespace

Result<std::vector<RankOutcome>> RunAllRanks(const CompiledProgram& program, const StepData& data) {
  return LockStep(program, data).Run();
}

}  // namespace drydock::strategies
