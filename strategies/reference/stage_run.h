#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strategies/program/micro_nodes.h"
#include "strategies/reference/executor.h"
#include "strategies/reference/stage_exchange.h"

namespace drydock::strategies {

/// All ranks of one pipeline stage, node by node in lock step, until something from another stage
/// is needed. See stage_run.cc.
class StageRun {
 public:
  /// @param programs    one per rank of the stage, alike node for node
  /// @param first_rank  of the stage, in the job
  StageRun(std::span<const LocalProgram* const> programs, std::int64_t first_rank,
           StageExchange& exchange);

  /// Gives every rank its slices of whole parameters.
  [[nodiscard]] Status FeedParameters(const std::vector<NdArray>& parameters);
  /// Gives every rank its part of the batch, and begins a step.
  [[nodiscard]] Status BeginStep(const std::vector<NdArray>& inputs);
  /// Runs until the end of the step, or until a message is missing. True if it did anything.
  [[nodiscard]] Result<bool> Advance();
  [[nodiscard]] bool Done() const { return next_ == tasks_.size(); }
  /// What it waits for.
  [[nodiscard]] std::string Waiting() const;
  [[nodiscard]] std::vector<RankOutcome> Outcomes() const;

 private:
  /// Values of one rank, by value id of the local program.
  using RankValues = std::vector<NdArray>;

  /// A node in a micro batch (-1: none), or the sums behind one.
  struct Task {
    std::size_t node = 0;
    std::int64_t micro = -1;
    bool adds_up = false;
  };

  void ListTasks();
  [[nodiscard]] Status CheckAlike() const;
  [[nodiscard]] const LocalProgram& ProgramOf(std::int64_t position) const {
    return *programs_[static_cast<std::size_t>(position)];
  }
  void FeedSlices(const std::vector<NdArray>& parameters, std::int64_t position);
  [[nodiscard]] std::vector<Range> InputRanges(std::size_t input, const Shape& whole,
                                               ValueId local_input, std::int64_t position) const;
  [[nodiscard]] Result<bool> Run(const Task& task);
  [[nodiscard]] Status RunApart(std::size_t n);
  [[nodiscard]] Result<std::vector<NdArray>> Evaluate(const Node& node, std::int64_t position);
  void Store(const Node& node, std::vector<NdArray> results, RankValues& values) const;
  void StoreWritten(ValueId id, const NdArray& contents, RankValues& values) const;
  [[nodiscard]] Status RunTogether(const Node& node);
  [[nodiscard]] Result<std::int64_t> NumberOf(const Task& task) const;
  [[nodiscard]] Status RunSend(const Node& node, std::int64_t number);
  [[nodiscard]] Result<bool> RunReceive(const Node& node, std::int64_t number);
  [[nodiscard]] Result<bool> RunAcrossStages(const Node& node, std::int64_t number);
  void AddUp();

  std::span<const LocalProgram* const> programs_;
  const LocalProgram& first_;
  std::int64_t first_rank_;
  StageExchange& exchange_;
  std::vector<MicroPart> parts_;
  std::map<CollectiveLaunch, std::int64_t> numbers_;
  std::vector<Task> tasks_ = {};
  std::size_t next_ = 0;
  std::vector<RankValues> ranks_;
  std::int64_t micro_batch_ = 0;
  std::map<ValueId, std::vector<NdArray>> sums_ = {};  ///< Per rank, of the micro batches so far.
};

}  // namespace drydock::strategies
