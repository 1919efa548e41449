#include "strategies/passes/schedule/effects.h"

#include <utility>

/// Effects on parameters, in order.
///
/// MindSpore threads a state ("monad") through everything that reads or writes parameters. What is
/// left of it when its front end is done: a parameter has one Load until it is written; a node that
/// writes takes a state; states form a chain, UpdateState(state before, the last update or the
/// Loads of that state, all that read what is written next). So an update of a weight waits for the
/// update before it and for every kernel that reads the weight, and for nothing else.
///
/// Example: two weights, a read by MatMul %1 and b by MatMul %2, updated in this order:
///     %5 = UpdateState(U, MakeTuple(Load a, Load b), %1)      %6 = Momentum(a, ..., %5)
///     %7 = UpdateState(%5, %6, %2)                            %8 = Momentum(b, ..., %7)
///     %9 = UpdateState(%7, %8), on which what the step returns depends.
/// A parameter that is first read behind an update (the powers of Adam) gets a Load of that state.
/// Of several Loads of one later state all but the last read the first state, as nothing wrote
/// their parameters (behind a BatchNorm, whose statistics are an effect, weight and bias of Dense).
/// What is gathered from the shards of a weight is read by a Load in place of the weight. A weight
/// that another stage sends is read without a Load: a state behind it is not one with later Loads.
///
/// Source: mindspore/ccsrc/pipeline/jit/ps/static_analysis/auto_monad.cc (ReAutoMonad),
/// mindspore/ccsrc/frontend/optimizer/auto_monad_eliminate.cc and
/// irpass/updatestate_eliminate.cc, as seen in graphs of 2.10.
namespace drydock::strategies {

EffectChain::EffectChain(KernelBuilder& builder, std::vector<KernelId> parameters)
    : builder_(builder),
      parameters_(std::move(parameters)),
      reads_(parameters_.size()),
      written_(parameters_.size(), false) {
  state_ = builder_.AddLeaf(KernelKind::kState, "U", {});
  first_state_ = state_;
}

/// Several are joined under one name.
void EffectChain::JoinTemporaries() {
  if (temporaries_.empty()) {
    return;
  }
  const KernelId all = temporaries_.size() == 1
                           ? temporaries_.front()
                           : builder_.Virtual(KernelKind::kMakeTuple, temporaries_);
  state_ = builder_.Virtual(KernelKind::kUpdateState, {state_, all});
  temporaries_.clear();
  loads_of_state_.clear();
}

KernelId EffectChain::StateOfTemporary() {
  return temporaries_.empty() ? StateBefore({}) : state_;
}

void EffectChain::BeginWith(KernelId read) {
  if (!HasEffects() && temporaries_.empty() && state_ == first_state_) {
    loads_of_state_ = {read};
  }
}

KernelId EffectChain::StateOfGathered() {
  return gathered_.empty()
             ? first_state_
             : builder_.Virtual(
                   KernelKind::kUpdateState,
                   {first_state_, builder_.Virtual(KernelKind::kMakeTuple, gathered_)});
}

void EffectChain::NoteReceived(KernelId received) {
  loads_of_state_.push_back(received);
  gathered_.push_back(received);
  received_ = true;
}

void EffectChain::JoinReceived() {
  if (!received_) {
    return;
  }
  state_ = builder_.Virtual(KernelKind::kUpdateState,
                            {state_, builder_.Virtual(KernelKind::kMakeTuple, loads_of_state_)});
  loads_of_state_.clear();
  received_ = false;
}

void EffectChain::NoteTemporary(KernelId update) {
  constexpr std::size_t kMostTogether = 3;
  temporaries_.push_back(update);
  if (temporaries_.size() == kMostTogether) {
    JoinTemporaries();
  }
}

KernelId EffectChain::LoadBehind(KernelId reference) {
  JoinReceived();
  const KernelId state = Current();
  const KernelId load = builder_.Virtual(KernelKind::kLoad, {reference, state});
  // Whoever overwrites it reads its shape through a Load of its own, which becomes this one.
  loads_of_state_.insert(loads_of_state_.end(), state == first_state_ ? 1 : 2, load);
  return load;
}

KernelId EffectChain::Current() {
  JoinTemporaries();
  if (effect_pending_) {
    state_ = builder_.Virtual(KernelKind::kUpdateState, {state_, effects_.back()});
    effect_pending_ = false;
    loads_of_state_.clear();
  }
  return state_;
}

KernelId EffectChain::Load(std::size_t index) {
  Read& read = reads_[index];
  if (read.load == kNoKernel) {
    read.load = builder_.Virtual(KernelKind::kLoad, {parameters_[index], Current()});
    loads_of_state_.push_back(read.load);
    parameter_of_.resize(static_cast<std::size_t>(read.load) + 1, parameters_.size());
    parameter_of_.back() = index;
  }
  return read.load;
}

KernelId EffectChain::LoadGathered(KernelId gathered, bool counts, bool once) {
  const KernelId load = builder_.Virtual(KernelKind::kLoad, {gathered, first_state_});
  if (counts) {
    loads_of_state_.push_back(load);
    if (once) {
      gathered_.push_back(load);
    }
  }
  return load;
}

void EffectChain::NoteUse(KernelId load, KernelId user) {
  const auto position = static_cast<std::size_t>(load);
  if (position >= parameter_of_.size() || parameter_of_[position] == parameters_.size()) {
    return;
  }
  std::vector<KernelId>& users = reads_[parameter_of_[position]].users;
  if (users.empty() || users.back() != user) {
    users.push_back(user);
  }
}

void EffectChain::LoadFromTheBeginning() {
  if (effects_.empty() || state_ == first_state_ || loads_of_state_.size() < 2) {
    return;
  }
  for (std::size_t i = 0; i + 1 < loads_of_state_.size(); ++i) {
    const auto position = static_cast<std::size_t>(loads_of_state_[i]);
    if (position < parameter_of_.size() && parameter_of_[position] != parameters_.size() &&
        !written_[parameter_of_[position]]) {
      builder_.graph().at(loads_of_state_[i]).inputs.back() = first_state_;
    }
  }
}

KernelId EffectChain::StateBefore(const std::vector<std::size_t>& written) {
  JoinTemporaries();
  LoadFromTheBeginning();
  std::vector<KernelId> inputs = {state_};
  if (effect_pending_) {
    inputs.push_back(effects_.back());
  } else if (loads_of_state_.size() == 1) {
    inputs.push_back(loads_of_state_.front());
  } else if (loads_of_state_.size() > 1) {
    inputs.push_back(builder_.Virtual(KernelKind::kMakeTuple, loads_of_state_));
  }
  for (const std::size_t index : written) {
    inputs.insert(inputs.end(), reads_[index].users.begin(), reads_[index].users.end());
  }
  if (inputs.size() > 1) {
    state_ = builder_.Virtual(KernelKind::kUpdateState, std::move(inputs));
    effect_pending_ = false;
    loads_of_state_.clear();
  }
  return state_;
}

void EffectChain::NoteEffect(KernelId update, const std::vector<std::size_t>& written) {
  effects_.push_back(update);
  effect_pending_ = true;
  for (const std::size_t index : written) {
    reads_[index] = {};
    written_[index] = true;
  }
}

KernelId EffectChain::FinalState() {
  return Current();
}

}  // namespace drydock::strategies
