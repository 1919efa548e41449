#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/operators/op_signature.h"

namespace drydock::strategies {

/// A kernel to be added.
struct KernelSpec {
  std::string_view name = {};
  std::vector<KernelId> inputs = {};
  std::vector<TensorType> results = {};
  /// Per result the operand whose storage it shares, -1 = none; shorter lists mean -1.
  std::vector<std::int32_t> shares = {};
  bool view = false;  ///< As in KernelNode; operators that are views need not say so.
  MicroUse micro_use = MicroUse::kFollow;
};

/// Texts of the numbers that MindSpore's front end adds as constants of its own: equal texts of one
/// type are one constant.
inline constexpr std::string_view kZeroText = "0.000000";
inline constexpr std::string_view kOneText = "1.000000";

/// Builds a kernel graph node by node.
class KernelBuilder {
 public:
  [[nodiscard]] KernelId AddLeaf(KernelKind kind, std::string name, TensorType type,
                                 ValueId value = kNoValue);
  /// A value node. Constants of equal type and text are one, unless `text` is empty (the back end's
  /// own passes make a constant for each use).
  [[nodiscard]] KernelId Constant(TensorType type, std::string text);
  /// Value argument: True, 2, 0.5, (1, 2), "text" or None.
  [[nodiscard]] KernelId Argument(const Attr& value);
  [[nodiscard]] KernelId Kernel(KernelSpec spec);
  /// What `make` gave when it was asked for the same of the same operands: several nodes of the
  /// local program may share kernels.
  [[nodiscard]] KernelId Once(std::string_view what, std::vector<KernelId> operands,
                              const std::function<KernelId()>& make);
  /// What users of the kernel's results read: itself if it has one, else one TupleGetItem each.
  [[nodiscard]] std::vector<KernelId> Results(KernelId kernel);
  /// TupleGetItems of an operator that the network has, and not the back end.
  void NoteResults(std::span<const KernelId> items);
  /// All of them.
  [[nodiscard]] const std::set<KernelId>& results_of_operators() const { return of_operators_; }
  [[nodiscard]] KernelId Virtual(KernelKind kind, std::vector<KernelId> inputs,
                                 std::int32_t item = 0);

  /// `kernels` do for each micro batch, in order, what the first of them does for one.
  void SetCopies(std::vector<KernelId> kernels);
  /// Per first kernel its copies.
  [[nodiscard]] const std::map<KernelId, std::vector<KernelId>>& copies() const { return copies_; }

  /// Attributes that kernels of an operator take as value arguments, in order.
  [[nodiscard]] const std::vector<SignatureArgument>& ArgumentsOf(const OpEntry& entry);

  /// The local node that what is added from now on comes from.
  void SetOrigin(NodeId origin) { origin_ = origin; }
  [[nodiscard]] const TensorType& TypeOf(KernelId id) const;
  [[nodiscard]] KernelGraph& graph() { return graph_; }
  [[nodiscard]] const KernelGraph& graph() const { return graph_; }

 private:
  KernelId Add(KernelNode node);
  KernelGraph graph_;
  NodeId origin_ = kNoNode;
  std::map<std::string, KernelId, std::less<>> constants_;
  std::map<const OpEntry*, std::vector<SignatureArgument>> arguments_;
  std::map<std::pair<std::string, std::vector<KernelId>>, KernelId> made_ = {};
  std::map<KernelId, std::vector<KernelId>> copies_ = {};
  std::set<KernelId> of_operators_ = {};
};

/// What OpEntry::lower may use: one node of the local program and where its operands are.
struct LowerContext {
  KernelBuilder& builder;
  const Graph& graph;                ///< The local program.
  const Node& node;                  ///< The node to lower.
  std::span<const KernelId> inputs;  ///< Per operand of the node; kNoKernel for an absent one.
  /// What a node that writes parameters waits for; becomes the last operand of its last kernel
  /// unless one of its nodes takes it. What comes later waits for that kernel, or for the tuple
  /// that was added last if there is one.
  KernelId state = kNoKernel;
  KernelId first_state = kNoKernel;  ///< The state at the beginning of the step.
  [[nodiscard]] const TensorType& InputType(std::size_t index) const {
    return graph.at(node.inputs[index]).type;
  }
  [[nodiscard]] const TensorType& OutputType(std::size_t index = 0) const {
    return graph.at(node.outputs[index]).type;
  }
};

/// One kernel of the node's results: `name`, its tensor operands, then `arguments`.
[[nodiscard]] std::vector<KernelId> LowerTo(const LowerContext& context, std::string_view name,
                                            std::vector<KernelId> arguments = {});

/// LowerFn of operators without one: a kernel of the operator's own name, operands in order, then
/// the attributes of its signature as value arguments.
[[nodiscard]] Result<std::vector<KernelId>> LowerByDefault(const LowerContext& context);

/// LowerFn of operators that are nothing at run time: the first operand.
[[nodiscard]] Result<std::vector<KernelId>> LowerToOperand(const LowerContext& context);

/// Operand whose storage result `index` of a node shares, -1 if it has its own.
[[nodiscard]] std::int32_t SharedOperand(const Node& node, std::size_t index);

}  // namespace drydock::strategies
