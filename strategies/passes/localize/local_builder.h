#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/localize/wanted_layout.h"

namespace drydock::strategies {

/// Translates a traced program node by node into the local program; used by localize.cc only.
class LocalBuilder {
 public:
  LocalBuilder(const Graph& traced, const std::vector<Region>& regions,
               const std::vector<NodePlan>& plans, const JobConfig& config);

  [[nodiscard]] Result<LocalProgram> Build() &&;
  /// The forward nodes only, see BuildForwardProgram.
  [[nodiscard]] Result<Graph> BuildForward() &&;

 private:
  /// A traced value in the local program.
  struct Local {
    ValueId id = kNoValue;                  ///< kNoValue while only copies exist.
    SharedValue<TensorLayout> layout = {};  ///< Absent: every rank has its own, or nothing is cut.
    std::vector<ValueId> copies = {};       ///< One per copy if `layout` is interleaved.
  };

  [[nodiscard]] Status AddLeaves();
  [[nodiscard]] Status AddParameter(const Parameter& parameter);
  [[nodiscard]] Status AddConstants();
  [[nodiscard]] Status Translate(NodeId id);
  [[nodiscard]] Status TranslateForward(NodeId id);
  [[nodiscard]] Status TranslatePlanned(NodeId id, const SharedValue<OpSharding>& sharding);
  [[nodiscard]] Status TranslateReshape(NodeId id);
  [[nodiscard]] Result<ValueId> ReshapeOfSlices(NodeId id, ValueId local, const TensorLayout& to);
  [[nodiscard]] Status TranslatePassing(NodeId id);
  [[nodiscard]] Status TranslateGradient(NodeId id);
  [[nodiscard]] Status TranslatePost(NodeId id);
  [[nodiscard]] Status TranslateUncut(NodeId id, NodeSpec spec);

  // Behind the gradients (local_builder_post.cc).
  [[nodiscard]] Status TranslateSlices(NodeId id, NodeSpec spec);
  [[nodiscard]] Status TranslateUpdate(NodeId id, NodeSpec spec);
  /// Sharding of a node whose operands stay cut as they are, if its rule has one.
  [[nodiscard]] SharedValue<OpSharding> FollowCuts(const Node& node) const;
  [[nodiscard]] Result<ValueId> PostOperand(NodeId user, std::size_t operand,
                                            const TensorLayout& wanted);

  /// Notes in the diagnostics where gradients end.
  void NoteStopped(std::span<const NodeId> stopped);

  // Interleaved layouts (local_builder_copies.cc).
  [[nodiscard]] Status TranslateCopies(NodeId id, const OpSharding& sharding);
  /// Joins the copies of a value, so that `id` of its local counterpart can be used.
  [[nodiscard]] Status JoinCopies(ValueId value);
  [[nodiscard]] Result<std::vector<ValueId>> OperandCopies(NodeId user, std::size_t operand,
                                                           const TensorLayout& wanted);
  [[nodiscard]] Result<std::vector<ValueId>> ConstantCopies(NodeId user, ValueId value,
                                                            const TensorLayout& wanted);
  [[nodiscard]] Result<std::vector<ValueId>> CompleteCopies(NodeId id, const OpSharding& sharding,
                                                            std::size_t output,
                                                            std::vector<ValueId> values);
  [[nodiscard]] Result<std::vector<ValueId>> SumWithin(NodeId id, const ForwardCommunication& what,
                                                       const GroupPattern& within,
                                                       std::vector<ValueId> values);
  [[nodiscard]] Status SetCopies(NodeId id, std::size_t output, const TensorLayout& layout,
                                 std::vector<ValueId> values);
  [[nodiscard]] static TensorLayout PlainLayoutOf(const TensorLayout& layout);

  /// The value in the layout that an operand wants (redistributed if need be, mirrored if a
  /// weight).
  [[nodiscard]] Result<ValueId> Operand(NodeId user, std::size_t operand,
                                        const TensorLayout& wanted);
  [[nodiscard]] Result<ValueId> ConstantSlice(ValueId value, const TensorLayout& wanted,
                                              const NodeSpec& base);
  [[nodiscard]] Result<ValueId> Mirrored(ValueId weight);
  [[nodiscard]] Result<std::vector<ValueId>> WithLossDivision(NodeId id, const OpSharding& sharding,
                                                              std::vector<ValueId> operands);
  [[nodiscard]] Result<ValueId> WithForwardCommunication(NodeId id, const OpSharding& sharding,
                                                         std::int32_t output, ValueId value);
  /// Completes one partial result over the group of `communication`, if that has members.
  [[nodiscard]] Result<ValueId> CompletePartial(NodeId id,
                                                const OpSharding::Communication& communication,
                                                std::int64_t index, double divisor, ValueId value);
  [[nodiscard]] Result<std::vector<ValueId>> EmitLocal(NodeId id, const OpSharding& sharding,
                                                       NodeSpec spec);
  /// For operators whose result types only the traced graph knows.
  [[nodiscard]] std::vector<ValueId> EmitWithTypes(NodeId id, const OpSharding& sharding,
                                                   NodeSpec spec);
  [[nodiscard]] Status CheckLocalResult(NodeId id, std::size_t output, ValueId local,
                                        const TensorLayout& layout) const;
  [[nodiscard]] Status CheckNotRead(NodeId id, std::size_t output) const;
  [[nodiscard]] Status SetResults(NodeId id, const SharedValue<OpSharding>& sharding,
                                  std::vector<ValueId> outputs);
  [[nodiscard]] NodeSpec SpecOf(NodeId id) const;
  [[nodiscard]] std::string NameOf(ValueId value) const;
  [[nodiscard]] std::string ShortNameOf(NodeId id) const;
  [[nodiscard]] bool NamesEndInUnderscore() const;
  [[nodiscard]] SharedValue<TensorLayout> LayoutOf(ValueId value) const;
  [[nodiscard]] bool IsCut(ValueId value) const;
  /// Local counterparts of a node's results, laid out as `sharding` says if there is one.
  void SetOutputs(NodeId id, const std::vector<ValueId>& ids,
                  const SharedValue<OpSharding>& sharding);
  void StampOrigins(NodeId origin, std::size_t first_new_node);

  const Graph& traced_;
  const std::vector<Region>& regions_;
  const std::vector<NodePlan>& plans_;
  const JobConfig& config_;
  WantedLayouts wanted_;
  std::vector<std::string> full_names_;
  GraphBuilder builder_;
  std::vector<Local> locals_;         ///< Per traced value.
  std::vector<bool> differentiated_;  ///< Per traced value: a gradient is asked for.
  std::vector<ValueId> mirrored_;     ///< Per traced value: local value behind the mirror.
  std::map<std::pair<ValueId, std::string>, ValueId> redistributed_;
  std::vector<NodeId> loss_nodes_;
  std::int64_t redistribution_count_ = 0;
  std::vector<Diagnostic> diagnostics_ = {};
};

}  // namespace drydock::strategies
