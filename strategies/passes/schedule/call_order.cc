#include "strategies/passes/schedule/call_order.h"

#include <algorithm>

/// Control edges between calls and messages of a stage that has several parts of the network.
///
/// Even and odd stages take turns, so that no two neighbours both send first: an even stage sends
/// what it made before it receives, an odd one receives first. F is a forward call, B a backward
/// one, R(x) what x receives, S(x) what it sends, i runs through the calls in order, b of them are
/// the warm-up:
///
///   warm-up, even   S(Fi) -> R(Fi+1)
///            odd    Fi -> R(Fi+1) -> S(Fi) -> Fi+1
///   then, even      Fi -> R(Bi-b),  Bi-b -> S(Fi) -> R(Fi+1),  Fi+1 -> S(Bi-b) -> R(Bi-b+1)
///         odd       Fi -> R(Bi-b),  Bi-b -> R(Fi+1) -> S(Fi) -> Fi+1,
///                   R(Bi-b+1) -> S(Bi-b) -> Bi-b+1
///   drain, even     S(Bi) -> R(Bi+1)
///          odd      Bi -> R(Bi+1) -> S(Bi) -> Bi+1
///
/// The last stage sends nothing from its last part, the first one nothing back from its first. If
/// stages do not divide the micro batches, the first round is longer by `more`; what the last stage
/// sends to the first one then waits as many calls.
///
/// Example, two stages of two parts, four micro batches, stage 0, calls by (micro batch, part):
/// F00 F10 F01 F11 F20 B01 F30 B11 F21 B00 F31 B10 B21 B31 B20 B30.
///
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_scheduler.cc
/// (InterleavedScheduler), gpipe_interleave_scheduler.cc; graph_util/pipeline_split_utils.cc
namespace drydock::strategies {
namespace {

using What = CallSpot::What;

class Edges {
 public:
  Edges(CallOrder& order, const PipelineShape& shape, std::int64_t stage)
      : order_(order),
        first_(stage == 0),
        last_(stage + 1 == shape.stages),
        odd_(stage % 2 == 1),
        top_(shape.chunks - 1),
        calls_(order.forward.size()),
        more_(static_cast<std::size_t>(shape.micros % shape.stages)),
        round_(shape.stages + shape.micros % shape.stages),
        stages_(shape.stages),
        micros_(shape.micros) {}

  void Interleaved(std::size_t warm_up) {
    for (std::size_t i = 0; i < warm_up && i + 1 < calls_; ++i) {
      last_ ? WarmLast(i, warm_up) : Forwards(i);
    }
    for (std::size_t i = warm_up; i + 1 < calls_; ++i) {
      Steady(i, i - warm_up);
    }
    if (calls_ > warm_up) {
      EndOfForward(calls_ - 1 - warm_up);
    } else {
      Add(S(calls_ - 1), Rb(0));
    }
    for (std::size_t i = calls_ > warm_up ? calls_ - 1 - warm_up : 0; i + 1 < calls_; ++i) {
      Drain(i);
    }
  }

  void GPipe() {
    const bool many = micros_ >= stages_;
    const auto ahead = static_cast<std::size_t>(std::max<std::int64_t>(0, micros_ - stages_));
    for (std::size_t i = 0; i + 1 < calls_; ++i) {
      if (last_ && many && Forward(i).chunk != top_) {
        FromLastToFirst(i, ahead);
      } else if (odd_ && !last_) {
        Forwards(i);
      } else {
        Add(S(i), R(i + 1));
      }
    }
    Add(S(calls_ - 1), Rb(0));
    for (std::size_t i = 0; i + 1 < calls_; ++i) {
      if (first_ && many && Backward(i).chunk != 0) {
        FromFirstToLast(i, ahead);
      } else if (!odd_ || (last_ && Backward(i + 1).chunk == top_) || !many) {
        Add(Sb(i), Rb(i + 1));
      } else {
        Backwards(i);
      }
    }
  }

 private:
  static CallSpot Spot(What what, bool backward, std::size_t index) {
    return {.what = what, .backward = backward, .index = index};
  }
  static CallSpot F(std::size_t i) { return Spot(What::kCall, false, i); }
  static CallSpot R(std::size_t i) { return Spot(What::kReceive, false, i); }
  static CallSpot S(std::size_t i) { return Spot(What::kSend, false, i); }
  static CallSpot B(std::size_t i) { return Spot(What::kCall, true, i); }
  static CallSpot Rb(std::size_t i) { return Spot(What::kReceive, true, i); }
  static CallSpot Sb(std::size_t i) { return Spot(What::kSend, true, i); }

  [[nodiscard]] const PipelineTask& Forward(std::size_t i) const { return order_.forward[i]; }
  [[nodiscard]] const PipelineTask& Backward(std::size_t i) const { return order_.backward[i]; }

  void Add(CallSpot prior, CallSpot post) {
    if (prior.index < calls_ && post.index < calls_) {
      order_.edges.emplace_back(prior, post);
    }
  }

  /// Forward call i, then i + 1.
  void Forwards(std::size_t i) {
    if (!odd_) {
      Add(S(i), R(i + 1));
      return;
    }
    Add(F(i), R(i + 1));
    Add(R(i + 1), S(i));
    Add(S(i), F(i + 1));
  }

  void Backwards(std::size_t i) {
    Add(B(i), Rb(i + 1));
    Add(Rb(i + 1), Sb(i));
    Add(Sb(i), B(i + 1));
  }

  /// What the last stage sends to the first one in the longer round waits `more` calls.
  void WarmLast(std::size_t i, std::size_t warm_up) {
    const CallSpot behind = i + more_ >= warm_up ? B(i + more_ - warm_up) : F(i + more_);
    if (more_ > 0) {
      Add(F(i), R(i + 1));
    }
    if (!odd_) {
      if (more_ > 0) {
        Add(behind, S(i));
      }
      Add(S(i), R(i + more_ + 1));
      return;
    }
    Add(behind, R(i + more_ + 1));
    Add(R(i + more_ + 1), S(i));
    Add(S(i), F(i + more_ + 1));
  }

  /// Forward call i, backward call j, forward call i + 1.
  void Steady(std::size_t i, std::size_t j) {
    const bool ends = last_ && Forward(i).chunk == top_;
    if (ends) {
      Add(S(i), Rb(j));
      Add(B(j), R(i + 1));
    } else {
      Add(F(i), Rb(j));
    }
    odd_ ? SteadyOdd(i, j, ends) : SteadyEven(i, j, ends);
  }

  void SteadyEven(std::size_t i, std::size_t j, bool ends) {
    if (!ends) {
      Add(B(j), S(i));
      Add(S(i), R(i + 1));
    }
    if (first_ && Backward(j).chunk == 0) {
      return;
    }
    const std::size_t more = first_ && InFirstRound(Backward(j)) ? more_ : 0;
    Add(i + more + 1 < calls_ ? F(i + more + 1) : B(j + more), Sb(j));
    Add(Sb(j), Rb(j + more + 1));
  }

  void SteadyOdd(std::size_t i, std::size_t j, bool ends) {
    if (!ends) {
      Add(B(j), R(i + 1));
      Add(R(i + 1), S(i));
      Add(S(i), F(i + 1));
    }
    const bool arrives = !last_ || Backward(j + 1).chunk != top_;
    Add(arrives ? Rb(j + 1) : F(i + 1), Sb(j));
    Add(Sb(j), B(j + 1));
  }

  [[nodiscard]] bool InFirstRound(const PipelineTask& task) const {
    return task.micro / round_ == 0;
  }

  /// The last forward call and backward call j.
  void EndOfForward(std::size_t j) {
    const std::size_t end = calls_ - 1;
    if (last_) {
      Add(S(end), Rb(j));
      return;
    }
    Add(B(j), S(end));
    Add(F(end), Rb(j));
    const bool receives_first =
        first_ ? Backward(j).chunk != 0 && !InFirstRound(Backward(j)) : !odd_;
    Add(S(end), receives_first ? Sb(j) : Rb(j + 1));
  }

  void Drain(std::size_t i) {
    if (first_) {
      const std::size_t more = InFirstRound(Backward(i)) && Backward(i).chunk != 0 ? more_ : 0;
      if (more > 0) {
        Add(B(i), Rb(i + 1));
        Add(B(i + more), Sb(i));
      }
      Add(Sb(i), Rb(i + more + 1));
    } else if (!odd_ || (last_ && Backward(i + 1).chunk == top_)) {
      Add(Sb(i), Rb(i + 1));
    } else {
      Backwards(i);
    }
  }

  void FromLastToFirst(std::size_t i, std::size_t ahead) {
    if (ahead > 0) {
      Add(F(i), R(i + 1));
    }
    if (odd_) {
      Add(F(i + ahead), R(i + ahead + 1));
      Add(R(i + ahead + 1), S(i));
      Add(S(i), F(i + ahead + 1));
    } else {
      Add(F(i + ahead), S(i));
      Add(S(i), R(i + ahead + 1));
    }
  }

  void FromFirstToLast(std::size_t i, std::size_t ahead) {
    if (ahead > 0) {
      Add(B(i), Rb(i + 1));
    }
    Add(B(i + ahead), Sb(i));
    Add(Sb(i), Rb(i + ahead + 1));
  }

  CallOrder& order_;
  bool first_;
  bool last_;
  bool odd_;
  std::int64_t top_;    ///< Number of the last part.
  std::size_t calls_;   ///< Forward, and as many backward.
  std::size_t more_;    ///< By how many micro batches the first round is longer.
  std::int64_t round_;  ///< Micro batches of the first round.
  std::int64_t stages_;
  std::int64_t micros_;
};

/// `warm_up` forward calls, then one backward call behind each, then the others.
void Alternate(CallOrder& order, std::size_t warm_up) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < order.forward.size(); ++i) {
    order.calls.push_back({.index = i});
    if (i >= warm_up) {
      order.calls.push_back({.backward = true, .index = done++});
    }
  }
  for (; done < order.backward.size(); ++done) {
    order.calls.push_back({.backward = true, .index = done});
  }
}

}  // namespace

CallOrder OrderOfCalls(PipelineScheduler scheduler, const PipelineShape& shape,
                       std::int64_t stage) {
  CallOrder order;
  for (const PipelineTask& task : PassesInOrder(scheduler, shape)) {
    (task.backward ? order.backward : order.forward).push_back(task);
  }
  std::size_t warm_up = order.forward.size();
  Edges edges(order, shape, stage);
  if (scheduler == PipelineScheduler::kGPipe) {
    edges.GPipe();
  } else {
    const std::int64_t rounds = (shape.stages + shape.micros % shape.stages) * (shape.chunks - 1);
    warm_up = static_cast<std::size_t>(rounds + 2 * (shape.stages - stage - 1));
    edges.Interleaved(warm_up);
  }
  Alternate(order, warm_up);
  return order;
}

}  // namespace drydock::strategies
