#include "strategies/passes/schedule/sequence_calls.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

/// Control edges between calls and messages of a stage that works through its calls as seqpipe and
/// its relatives do. C is a call, forward or backward, R(x) what x receives, S(x) what it sends, i
/// runs through all calls in order:
///
///   Ci -> Ci+1,  Ci -> R -> / <- S(Ci) -> Ci+1,  Ci -> S(Ci)
///
/// R is what a call that comes later receives. Odd stages send first, even ones receive first.
/// Usually that is R(Ci+1). Where forward and backward calls take turns it is what the call behind
/// the next one receives, so that a message is there a call before it is needed; the border to that
/// time has both. The first stage gets what the last one sends to it in a round of micro batches
/// as it comes, which is calls before its next part begins, and the last stage likewise gets what
/// comes back from the first one. What is received early is there before the call that was next.
///
/// Example, seqpipe, stage 0 of two stages of two parts, four micro batches, by (micro batch,
/// part): F00 F10 F01 F11 F20 B01 F30 B11 F21 B00 F31 B10 B21 B31 B20 B30; W = 4 calls come before
/// the first backward one, which is behind F20. F10 receives nothing, but behind it R(F01) comes.
///
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/seqpipe_scheduler.cc (Reorder)
namespace drydock::strategies {
namespace {

using What = CallSpot::What;

class SequenceEdges {
 public:
  SequenceEdges(CallOrder& order, PipelineScheduler scheduler, const PipelineShape& shape,
                std::int64_t stage, const std::vector<PipelineTask>& tasks)
      : order_(order),
        scheduler_(scheduler),
        shape_(shape),
        stage_(stage),
        tasks_(tasks),
        last_(stage + 1 == shape.stages),
        half_(std::ssize(tasks) / 2),
        bias_(scheduler == PipelineScheduler::kSeqSmartVpp || shape.chunks == 1 ? 1 : 2),
        cycles_(CyclesOfMicroBatches(shape.micros, shape.stages)) {
    const std::int64_t wanted =
        (shape.stages - 1 - stage) * bias_ + (shape.chunks - 1) * cycles_.front();
    warm_up_ = std::min(wanted, half_ - 1);
    small_ = wanted == half_ - 1 && stage != 0;
    before_small_ = wanted > half_ - 1;
    drain_ = 2 * half_ - warm_up_;
    places_.resize(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const PipelineTask& task = tasks[i];
      places_[Slot(task.backward, task.micro, task.chunk)] = static_cast<std::int64_t>(i);
      numbers_.push_back(static_cast<std::int64_t>(order.calls[i].index));
    }
  }

  void Run() {
    if (shape_.chunks > 1 && last_) {
      FindFirstFromFront();
    }
    for (std::int64_t i = 0; i + 1 < std::ssize(tasks_); ++i) {
      Between(i);
    }
    const std::int64_t end = std::ssize(tasks_) - 1;
    if (Sends(end)) {
      Add(Call(end), Send(end));
    }
  }

 private:
  using Place = std::optional<std::int64_t>;  ///< Of a call, or none.

  // Calls by their places: among all, and among those of their direction.

  [[nodiscard]] const PipelineTask& TaskAt(std::int64_t i) const {
    return tasks_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool IsBackward(std::int64_t i) const { return TaskAt(i).backward; }

  [[nodiscard]] Place PlaceOf(bool backward, std::int64_t micro, std::int64_t chunk) const {
    if (micro < 0 || micro >= shape_.micros || chunk < 0 || chunk >= shape_.chunks) {
      return {};
    }
    return places_[Slot(backward, micro, chunk)];
  }

  [[nodiscard]] std::size_t Slot(bool backward, std::int64_t micro, std::int64_t chunk) const {
    return static_cast<std::size_t>(((backward ? shape_.micros : 0) + micro) * shape_.chunks +
                                    chunk);
  }

  /// Number among the calls of its direction.
  [[nodiscard]] std::int64_t NumberOf(std::int64_t i) const {
    return numbers_[static_cast<std::size_t>(i)];
  }

  /// The call that has a number in a direction.
  [[nodiscard]] Place Numbered(bool backward, std::int64_t number) const {
    const std::vector<PipelineTask>& list = backward ? order_.backward : order_.forward;
    if (number < 0 || number >= std::ssize(list)) {
      return {};
    }
    const PipelineTask& task = list[static_cast<std::size_t>(number)];
    return PlaceOf(backward, task.micro, task.chunk);
  }

  [[nodiscard]] CallSpot Spot(What what, std::int64_t i) const {
    return {
        .what = what, .backward = IsBackward(i), .index = static_cast<std::size_t>(NumberOf(i))};
  }
  [[nodiscard]] CallSpot Call(std::int64_t i) const { return Spot(What::kCall, i); }
  [[nodiscard]] CallSpot Send(std::int64_t i) const { return Spot(What::kSend, i); }
  [[nodiscard]] CallSpot Receive(std::int64_t i) const { return Spot(What::kReceive, i); }

  [[nodiscard]] std::int64_t Along(std::int64_t i) const {
    return FlowPosition(scheduler_, shape_, stage_, TaskAt(i).chunk);
  }
  [[nodiscard]] bool IsAtEnd(std::int64_t i, bool front) const {
    return Along(i) == (front ? 0 : shape_.stages * shape_.chunks - 1);
  }
  [[nodiscard]] bool Sends(std::int64_t i) const { return !IsAtEnd(i, IsBackward(i)); }
  [[nodiscard]] bool Receives(std::int64_t i) const { return !IsAtEnd(i, !IsBackward(i)); }
  [[nodiscard]] bool Receives(Place i) const { return i && Receives(*i); }

  void Add(CallSpot prior, CallSpot post) { order_.edges.emplace_back(prior, post); }

  /// Between call i and the next one.
  void Between(std::int64_t i) {
    const Place received = ReceivedBefore(i + 1);
    Add(Call(i), Call(i + 1));
    if (Receives(received)) {
      Add(Call(i), Receive(*received));
    }
    Messages(i, received);
    if (Sends(i)) {
      Add(Send(i), Call(i + 1));
      Add(Call(i), Send(i));
    }
  }

  void Messages(std::int64_t i, Place received) {
    const bool smart = scheduler_ == PipelineScheduler::kSeqSmartVpp;
    const bool border = !smart && shape_.chunks > 1 &&
                        ((i == warm_up_ && i + 2 < drain_) || (small_ && i == warm_up_ - 1));
    if (border && Receives(i + 1)) {
      AddNextAsWell(i, received);
    }
    if (!Receives(received) || !Sends(i)) {
      return;
    }
    const bool sends_first = stage_ % 2 == 1 || (border && small_ && i == warm_up_ - 1) ||
                             (!smart && !border && before_small_ && i == warm_up_);
    sends_first ? Add(Send(i), Receive(*received)) : Add(Receive(*received), Send(i));
  }

  /// The next call's own message comes before the one behind it.
  void AddNextAsWell(std::int64_t i, Place received) {
    if (Sends(i)) {
      Add(Receive(i + 1), Send(i));
    }
    if (Receives(received)) {
      Add(Receive(i + 1), Receive(*received));
    }
    Add(Call(i), Receive(i + 1));
  }

  // What is received before a call.

  /// The call whose message is received before call i: that one or a later one; none if it is
  /// there.
  Place ReceivedBefore(std::int64_t i) {
    const Place place = scheduler_ == PipelineScheduler::kSeqPipe  ? InCycles(i)
                        : scheduler_ == PipelineScheduler::kSeqVpp ? InRounds(i)
                                                                   : Smart(i);
    if (!place || early_.contains(*place)) {
      return {};
    }
    if (*place != i) {
      early_.insert(*place);
      if (Receives(*place)) {
        Add(Receive(*place), Call(i));
      }
    }
    return place;
  }

  /// seqpipe.
  [[nodiscard]] Place InCycles(std::int64_t i) const {
    std::int64_t place = i;
    const bool turns = i > warm_up_ && i + 1 < drain_;
    if (shape_.chunks > 1 && (turns || (small_ && i == warm_up_))) {
      ++place;
    }
    if (shape_.chunks == 1 || place >= std::ssize(tasks_)) {
      return place;
    }
    const std::int64_t cycle = CycleOf(place);
    const std::int64_t early = std::min(cycle, shape_.stages);
    if (stage_ == 0 && place >= early && !IsBackward(place)) {
      place = Numbered(false, NumberOf(place) + cycle - early).value_or(place);
    }
    if (last_ && from_front_ && place >= *from_front_ && IsBackward(place)) {
      const std::int64_t number =
          NumberOf(place) - from_front_number_ + first_back_ - (cycles_.front() - cycle);
      place = Numbered(true, number).value_or(place);
    }
    return place;
  }

  /// Micro batches of the cycle of a call.
  [[nodiscard]] std::int64_t CycleOf(std::int64_t i) const {
    std::int64_t end = 0;
    for (const std::int64_t cycle : cycles_) {
      end += cycle;
      if (TaskAt(i).micro < end) {
        return cycle;
      }
    }
    return cycles_.back();
  }

  /// When the last stage receives what the first one sends back first.
  void FindFirstFromFront() {
    std::int64_t front = stage_ * bias_ + warm_up_;
    std::int64_t more = 1;
    if (half_ < shape_.stages + warm_up_) {
      front -= shape_.stages - (half_ - warm_up_);
      more = 0;
    }
    const Place first = PlaceOf(true, 0, shape_.chunks - 2);
    if (!first || front + 1 < 0 || front + 1 >= std::ssize(tasks_)) {
      return;
    }
    first_back_ = NumberOf(*first);
    const PipelineTask& meanwhile = TaskAt(front + 1);
    from_front_number_ = NumberOf(*PlaceOf(true, meanwhile.micro, meanwhile.chunk)) + more;
    from_front_ = Numbered(true, from_front_number_);
  }

  /// seqvpp.
  [[nodiscard]] Place InRounds(std::int64_t i) const {
    Place place = i > warm_up_ && i + 1 < drain_ ? i + 1 : i;
    const std::int64_t away = shape_.stages - 1;
    if (stage_ == 0 && i >= shape_.stages && !IsBackward(i - 1)) {
      place = NextPart(Numbered(false, NumberOf(i - 1) - away)).value_or(*place);
    }
    if (last_ && IsBackward(i - 1)) {
      place = NextPart(Numbered(true, NumberOf(i - 1) - away)).value_or(*place);
    }
    return place;
  }

  /// seqsmartvpp.
  Place Smart(std::int64_t i) {
    if (stage_ == 0 && i == warm_up_ + 1) {
      ReceiveAhead(i);
    }
    const std::int64_t warm_up_of_first = stage_ * bias_ + warm_up_;
    const std::int64_t drain_of_first = 2 * half_ - warm_up_of_first;
    const bool turns = i > warm_up_of_first && i + 1 < drain_of_first;
    const std::int64_t away = turns ? shape_.stages / 2 : shape_.stages;
    Place place = i;
    if (stage_ == 0 && i >= shape_.stages && !IsBackward(i) && NumberOf(i) >= shape_.stages) {
      place = NextPart(Numbered(false, NumberOf(i) - away)).value_or(*place);
    }
    if (last_ && IsBackward(i) && NumberOf(i) >= shape_.stages / 2 &&
        (turns || i + 1 >= drain_of_first + shape_.stages)) {
      place = NextPart(Numbered(true, NumberOf(i) - away)).value_or(*place);
    }
    return place;
  }

  /// The call of the same micro batch that comes next along its way in this stage.
  [[nodiscard]] Place NextPart(Place call) const {
    if (!call) {
      return {};
    }
    const PipelineTask& task = TaskAt(*call);
    return PlaceOf(task.backward, task.micro, task.chunk + (task.backward ? -1 : 1));
  }

  /// What the last stage has sent when calls begin to take turns.
  void ReceiveAhead(std::int64_t i) {
    if (i + 1 >= std::ssize(tasks_) || IsBackward(i + 1)) {
      return;
    }
    Place before;
    const std::int64_t end = NumberOf(i + 1) - shape_.stages / 2;
    for (std::int64_t n = std::max<std::int64_t>(0, warm_up_ + 1 - shape_.stages); n < end; ++n) {
      const Place next = NextPart(Numbered(false, n));
      if (!next) {
        continue;
      }
      early_.insert(*next);
      if (Receives(*next)) {
        Add(Call(i - 1), Receive(*next));
        if (Receives(i)) {
          Add(Receive(*next), Receive(i));
        }
        if (before) {
          Add(Receive(*before), Receive(*next));
        }
        before = next;
      }
    }
  }

  CallOrder& order_;
  PipelineScheduler scheduler_;
  const PipelineShape& shape_;
  std::int64_t stage_;
  const std::vector<PipelineTask>& tasks_;
  bool last_;
  std::int64_t half_;  ///< Forward calls, and as many backward.
  std::int64_t bias_;  ///< Forward calls more per stage that is farther from the end.
  std::vector<std::int64_t> cycles_;
  std::int64_t warm_up_ = 0;
  std::int64_t drain_ = 0;     ///< From here on there are backward calls only.
  bool small_ = false;         ///< Calls do not take turns: there are just too few.
  bool before_small_ = false;  ///< ... even fewer.
  Place from_front_ = {};      ///< See FindFirstFromFront.
  std::int64_t from_front_number_ = 0;
  std::int64_t first_back_ = 0;
  std::vector<std::int64_t> places_ = {};   ///< Of calls, by direction, micro batch and part.
  std::vector<std::int64_t> numbers_ = {};  ///< Of each call in its direction.
  std::set<std::int64_t> early_ = {};       ///< Calls whose message has been received before.
};

}  // namespace

bool SequenceCallsMeet(PipelineScheduler scheduler, const PipelineShape& shape) {
  if (scheduler == PipelineScheduler::kSeqPipe) {
    return shape.micros >= shape.stages || shape.chunks == 1;
  }
  return shape.stages % 2 == 0 && shape.micros % shape.stages == 0;
}

CallOrder OrderOfSequenceCalls(PipelineScheduler scheduler, const PipelineShape& shape,
                               std::int64_t stage, const std::vector<PipelineTask>& tasks) {
  CallOrder order;
  for (const PipelineTask& task : tasks) {
    std::vector<PipelineTask>& list = task.backward ? order.backward : order.forward;
    order.calls.push_back({.backward = task.backward, .index = list.size()});
    list.push_back(task);
  }
  order.apart = shape.chunks > 1 || order.calls[1].backward == order.calls[0].backward;
  order.copies = order.apart;
  SequenceEdges(order, scheduler, shape, stage, tasks).Run();
  return order;
}

}  // namespace drydock::strategies
