#include "strategies/reference/stage_run.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "strategies/operators/collective_facts.h"
#include "strategies/operators/known_ops.h"
#include "strategies/reference/evaluate_node.h"

/// The ranks of one stage run the nodes of their program in the order of the local graph, each
/// node on all ranks before the next one: first what needs no micro batch, then everything of the
/// first micro batch, of the second, ..., then what comes when all are done. That is not the order
/// of the schedule. But messages are paired by the schedule: the n-th that a rank launches to a
/// peer is the n-th that the peer waits for, whatever they contain. A schedule that pairs the wrong
/// ones gives wrong numbers or other shapes.
///
/// Example: stage 0 does micro batch 0 as far as the Receive of its gradient and stops there; stage
/// 1 does the same micro batch and sends it; stage 0 goes on.
namespace drydock::strategies {
namespace {

std::vector<Range> WholeRanges(const Shape& shape) {
  std::vector<Range> ranges;
  for (const std::int64_t extent : shape) {
    ranges.push_back({.begin = 0, .end = extent});
  }
  return ranges;
}

}  // namespace

StageRun::StageRun(std::span<const LocalProgram* const> programs, std::int64_t first_rank,
                   StageExchange& exchange)
    : programs_(programs),
      first_(*programs.front()),
      first_rank_(first_rank),
      exchange_(exchange),
      numbers_(LaunchNumbers(first_)),
      ranks_(programs.size(), RankValues(first_.local.values.size())) {
  ListTasks();
}

namespace {

/// Nodes that need what another stage sends once, when all of its micro batches are done: its part
/// of the gradient of a weight.
std::vector<bool> WaitsForStages(const Graph& local) {
  std::vector<bool> late(local.nodes.size(), false);
  for (std::size_t n = 0; n < late.size(); ++n) {
    const Node& node = local.nodes[n];
    late[n] = (PointToPointOf(node) == PointToPoint::kReceives && node.phase == Phase::kBackward &&
               node.attrs.contains(kPassesWeight)) ||
              std::ranges::any_of(node.inputs, [&](ValueId id) {
                return id != kNoValue && local.at(id).kind == ValueKind::kOutput &&
                       late[ToIndex(local.at(id).producer)];
              });
  }
  return late;
}

}  // namespace

void StageRun::ListTasks() {
  const std::int64_t count = first_.from->config.micro_batches;
  parts_ = count > 1 ? MicroParts(first_.local)
                     : std::vector<MicroPart>(first_.local.nodes.size(), MicroPart::kBefore);
  const std::vector<bool> late = WaitsForStages(first_.local);
  for (std::size_t n = 0; n < parts_.size(); ++n) {
    parts_[n] = late[n] && parts_[n] == MicroPart::kBefore ? MicroPart::kAfter : parts_[n];
  }
  const auto add = [this](MicroPart part, std::int64_t micro) {
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      if (parts_[n] == part) {
        tasks_.push_back({.node = n, .micro = micro});
      }
    }
  };
  add(MicroPart::kBefore, -1);
  for (std::int64_t micro = 0; count > 1 && micro < count; ++micro) {
    add(MicroPart::kEach, micro);
    tasks_.push_back({.micro = micro, .adds_up = true});
  }
  add(MicroPart::kAfter, -1);
}

// ---- What a rank starts with --------------------------------------------------------------------

/// Values and nodes are spoken of by their numbers in the first program.
Status StageRun::CheckAlike() const {
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

Status StageRun::FeedParameters(const std::vector<NdArray>& parameters) {
  DRYDOCK_RETURN_IF_ERROR(CheckAlike());
  if (parameters.size() != first_.from->traced.parameters.size()) {
    return Fail(ErrorCode::kInvalidArgument, "step data do not match the program's parameters");
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const auto position = static_cast<std::int64_t>(r);
    FeedSlices(parameters, position);
    const Graph& local = ProgramOf(position).local;
    for (const Constant& constant : local.constants) {
      const TensorType& type = local.at(constant.value).type;
      if (!constant.number && !constant.data) {
        return Fail(ErrorCode::kUnsupported, "a constant without contents cannot be executed");
      }
      ranks_[r][ToIndex(constant.value)] =
          constant.number ? FilledArray(type.shape, *constant.number)
                          : NdArray{.shape = type.shape, .data = *constant.data};
    }
  }
  return {};
}

void StageRun::FeedSlices(const std::vector<NdArray>& parameters, std::int64_t position) {
  const LocalProgram& program = ProgramOf(position);
  const Graph& traced = program.from->traced;
  std::map<std::string_view, const NdArray*> by_name;
  for (std::size_t p = 0; p < traced.parameters.size(); ++p) {
    by_name[traced.at(traced.parameters[p].value).name] = &parameters[p];
  }
  const RankId rank{static_cast<std::int32_t>(first_rank_ + position)};
  for (std::size_t p = 0; p < program.local.parameters.size(); ++p) {
    const ValueId id = program.local.parameters[p].value;
    ranks_[static_cast<std::size_t>(position)][ToIndex(id)] =
        SliceArray(*by_name.at(program.local.at(id).name), OwnedRanges(program, p, rank));
  }
}

Status StageRun::BeginStep(const std::vector<NdArray>& inputs) {
  const Graph& traced = first_.from->traced;
  if (inputs.size() != traced.inputs.size()) {
    return Fail(ErrorCode::kInvalidArgument, "step data do not match the program's inputs");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto position = static_cast<std::int64_t>(r);
      const Graph& local = ProgramOf(position).local;
      const auto read = local.inputs.size() == inputs.size()
                            ? local.inputs.begin() + static_cast<std::ptrdiff_t>(i)
                            : std::ranges::find(local.inputs, traced.at(traced.inputs[i]).name,
                                                [&local](ValueId id) { return local.at(id).name; });
      if (read != local.inputs.end()) {  // A stage need not read all of the data.
        ranks_[r][ToIndex(*read)] =
            SliceArray(inputs[i], InputRanges(i, inputs[i].shape, *read, position));
      }
    }
  }
  sums_.clear();
  next_ = 0;
  return {};
}

/// Part of the batch a rank is fed: by the data-set node's layout, or row blocks in data_parallel.
std::vector<Range> StageRun::InputRanges(std::size_t input, const Shape& whole, ValueId local_input,
                                         std::int64_t position) const {
  for (const NodePlan& plan : ProgramOf(position).from->plans) {
    if (plan.source == StrategySource::kDataset) {
      return SliceOf(plan.sharding->outputs[input], position);
    }
  }
  std::vector<Range> ranges = WholeRanges(whole);
  const Shape& local = ProgramOf(position).local.at(local_input).type.shape;
  if (!whole.empty() && local[0] != whole[0]) {
    ranges[0] = {.begin = position * local[0], .end = (position + 1) * local[0]};
  }
  return ranges;
}

// ---- Running ------------------------------------------------------------------------------------

Result<bool> StageRun::Advance() {
  const std::size_t before = next_;
  while (!Done()) {
    DRYDOCK_TRY(const bool ran, Run(tasks_[next_]));
    if (!ran) {
      break;
    }
    ++next_;
  }
  return next_ > before;
}

/// False if it has to wait.
Result<bool> StageRun::Run(const Task& task) {
  micro_batch_ = std::max<std::int64_t>(task.micro, 0);
  if (task.adds_up) {
    AddUp();
    return true;
  }
  const Node& node = first_.local.nodes[task.node];
  const bool collective = node.group && node.entry->kind == OpKind::kCollective;
  if (!collective || (!node.group->of_job && PointToPointOf(node) == PointToPoint::kNone)) {
    DRYDOCK_RETURN_IF_ERROR(collective ? RunTogether(node) : RunApart(task.node));
    return true;
  }
  DRYDOCK_TRY(const std::int64_t number, NumberOf(task));
  switch (PointToPointOf(node)) {
    case PointToPoint::kSends:
      DRYDOCK_RETURN_IF_ERROR(RunSend(node, number));
      return true;
    case PointToPoint::kReceives:
      return RunReceive(node, number);
    case PointToPoint::kNone:
      break;
  }
  return RunAcrossStages(node, number);
}

std::string StageRun::Waiting() const {
  if (Done()) {
    return {};
  }
  const Task& task = tasks_[next_];
  return "stage " + std::to_string(ToInt(first_.stage)) + " waits in '" +
         first_.local.nodes[task.node].op + "' of micro batch " + std::to_string(task.micro);
}

std::vector<RankOutcome> StageRun::Outcomes() const {
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

/// What a sum over micro batches reads becomes what all of them gave so far.
void StageRun::AddUp() {
  std::set<ValueId> summed;
  for (const Node& node : first_.local.nodes) {
    const ValueId id = node.entry->joins_micro_batches ? node.inputs.front() : kNoValue;
    if (id != kNoValue && first_.local.at(id).kind == ValueKind::kOutput &&
        parts_[ToIndex(first_.local.at(id).producer)] == MicroPart::kEach) {
      summed.insert(id);
    }
  }
  for (const ValueId id : summed) {
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

Status StageRun::RunApart(std::size_t n) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Node& node = programs_[r]->local.nodes[n];
    DRYDOCK_TRY(std::vector<NdArray> results, Evaluate(node, static_cast<std::int64_t>(r)));
    Store(node, std::move(results), ranks_[r]);
  }
  return {};
}

Result<std::vector<NdArray>> StageRun::Evaluate(const Node& node, std::int64_t position) {
  const Graph& local = ProgramOf(position).local;
  AttrMap attrs;
  for (const auto& [name, attr] : node.attrs) {
    attrs[name] = ResolveAttr(attr, position);
  }
  if (node.entry->per_micro_batch) {
    attrs["micro_batch"] = micro_batch_;
  }
  const RankValues& values = ranks_[static_cast<std::size_t>(position)];
  DRYDOCK_TRY(std::vector<NdArray> results,
              EvaluateNode(local, node, attrs, [&values](ValueId id) -> const NdArray& {
                return values[ToIndex(id)];
              }));
  for (std::size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
    const Shape& inferred = local.at(node.outputs[i]).type.shape;
    // A stage to which a weight was passed has a number in place of its gradient.
    if (results[i].shape.empty() && !results[i].data.empty() &&
        first_.from->config.pipeline_stages > 1) {
      results[i] = FilledArray(inferred, results[i].data.front());
    }
    if (results[i].shape != inferred) {
      return Fail(ErrorCode::kInternal, "reference execution of '" + node.op + "' gives shape " +
                                            TupleText(results[i].shape) + ", inference says " +
                                            TupleText(inferred));
    }
  }
  return results;
}

/// New contents of a written operand; what it is a view of (a mirrored parameter) changes too.
void StageRun::StoreWritten(ValueId id, const NdArray& contents, RankValues& values) const {
  values[ToIndex(id)] = contents;
  const Value& value = first_.local.at(id);
  if (value.kind == ValueKind::kOutput &&
      first_.local.at(value.producer).entry->kind == OpKind::kView) {
    StoreWritten(first_.local.at(value.producer).inputs.front(), contents, values);
  }
}

void StageRun::Store(const Node& node, std::vector<NdArray> results, RankValues& values) const {
  const std::vector<std::size_t> written = WrittenOperands(*node.entry);
  for (std::size_t i = 0; i < written.size() && i < results.size(); ++i) {
    StoreWritten(node.inputs[written[i]], results[i], values);
  }
  for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    values[ToIndex(node.outputs[i])] = std::move(results[i]);
  }
}

// ---- Collectives --------------------------------------------------------------------------------

Status StageRun::RunTogether(const Node& node) {
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

Result<std::int64_t> StageRun::NumberOf(const Task& task) const {
  const auto found =
      numbers_.find({.node = NodeId{static_cast<std::int32_t>(task.node)}, .micro = task.micro});
  if (found == numbers_.end()) {
    return Fail(ErrorCode::kInternal, "'" + first_.local.nodes[task.node].op + "' of micro batch " +
                                          std::to_string(task.micro) + " is never launched");
  }
  return found->second;
}

Status StageRun::RunSend(const Node& node, std::int64_t number) {
  const std::int64_t distance = IntAttr(node.attrs, kRankDistance, 0).value_or(0);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t rank = first_rank_ + static_cast<std::int64_t>(r);
    const NdArray& sent = ranks_[r][ToIndex(node.inputs.front())];
    if (!exchange_.Send(rank, rank + distance, number, sent)) {
      return Fail(ErrorCode::kInternal, "a message is sent twice");
    }
    ranks_[r][ToIndex(node.outputs.front())] = sent;
  }
  return {};
}

Result<bool> StageRun::RunReceive(const Node& node, std::int64_t number) {
  const std::int64_t distance = IntAttr(node.attrs, kRankDistance, 0).value_or(0);
  const Shape& shape = first_.local.at(node.outputs.front()).type.shape;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t rank = first_rank_ + static_cast<std::int64_t>(r);
    std::optional<NdArray> tensor = exchange_.Receive(rank - distance, rank, number);
    if (!tensor && r == 0) {
      return false;  // A stage sends from all of its ranks at once.
    }
    if (!tensor || tensor->shape != shape) {
      return Fail(ErrorCode::kInternal,
                  "rank " + std::to_string(rank) + " waits for " + TupleText(shape) +
                      ", but gets " + (tensor ? TupleText(tensor->shape) : std::string("nothing")));
    }
    ranks_[r][ToIndex(node.outputs.front())] = *std::move(tensor);
  }
  return true;
}

Result<bool> StageRun::RunAcrossStages(const Node& node, std::int64_t number) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    std::vector<NdArray> given;
    for (const ValueId input : node.inputs) {
      given.push_back(ranks_[r][ToIndex(input)]);
    }
    exchange_.Give(*node.group, number, first_rank_ + static_cast<std::int64_t>(r),
                   std::move(given));
  }
  std::vector<std::vector<NdArray>> results(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t rank = first_rank_ + static_cast<std::int64_t>(r);
    const std::vector<std::int64_t> members = GroupRanks(*node.group, rank, 0);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      std::vector<NdArray> inputs;
      for (const std::int64_t member : members) {
        const std::vector<NdArray>* const given = exchange_.Given(*node.group, number, member);
        if (given == nullptr) {
          return false;
        }
        inputs.push_back(given->at(i));
      }
      DRYDOCK_TRY(std::vector<NdArray> all, RunCollective(node, inputs));
      const auto place = std::ranges::find(members, rank) - members.begin();
      results[r].push_back(std::move(all[static_cast<std::size_t>(place)]));
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      ranks_[r][ToIndex(node.outputs[i])] = std::move(results[r][i]);
    }
  }
  return true;
}

}  // namespace drydock::strategies
