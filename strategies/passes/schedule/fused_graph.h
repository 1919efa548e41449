#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/graph/packed_lists.h"
#include "strategies/operators/basic_program.h"

namespace drydock::strategies {

/// Position of a node.
[[nodiscard]] inline std::size_t IndexOf(KernelId id) {
  return static_cast<std::size_t>(id);
}

/// A kernel graph some of whose kernels are programs of their own, while it is being changed: new
/// nodes come behind, what they stand for is looked up.
class FusedGraph {
 public:
  explicit FusedGraph(KernelGraph graph);

  [[nodiscard]] KernelNode& at(KernelId id) { return graph_.at(id); }
  [[nodiscard]] const KernelNode& at(KernelId id) const { return graph_.at(id); }
  [[nodiscard]] std::size_t size() const { return graph_.nodes.size(); }
  [[nodiscard]] const KernelGraph& graph() const { return graph_; }

  [[nodiscard]] KernelId Add(KernelNode node);
  [[nodiscard]] KernelId AddVirtual(KernelKind kind, std::vector<KernelId> inputs,
                                    std::int32_t item = 0);
  /// From now on `id` is `other`.
  void Replace(KernelId id, KernelId other) { instead_[static_cast<std::size_t>(id)] = other; }
  /// A constant stays in memory, though nobody reads it.
  void Keep(KernelId constant) { KeepUnread(graph_, constant); }
  /// Lets all nodes read what stands for what they read.
  void Resolve();

  /// What a fused kernel does; null for all others.
  [[nodiscard]] BasicProgram* ProgramOf(KernelId id) { return programs_[IndexOf(id)].get(); }
  /// The kernels that are fused, ascending.
  [[nodiscard]] std::vector<KernelId> FusedKernels() const;
  /// The program of a fused kernel, which is none any more.
  [[nodiscard]] BasicProgram TakeProgram(KernelId id) {
    return std::move(*std::exchange(programs_[IndexOf(id)], nullptr));
  }
  void DropProgram(KernelId id) { programs_[IndexOf(id)] = nullptr; }

  /// The text, which kernels of one name share.
  [[nodiscard]] SharedText Named(const std::string& name) {
    return names_.try_emplace(name, name).first->second;
  }

  /// All but leaves that the step's result needs, operands first, as a walk from the result finds
  /// them.
  [[nodiscard]] std::vector<KernelId> Order() const;
  /// Per node: the nodes of `order` that read it.
  [[nodiscard]] PackedLists<KernelId> UsersIn(std::span<const KernelId> order) const;

  /// From now on a kernel does what `program` says with `operands`; what it does not need is left
  /// out.
  void SetProgram(KernelId id, BasicProgram program, const std::vector<KernelId>& operands,
                  SharedText name);
  /// Results of `kernel` as others read them.
  [[nodiscard]] std::vector<KernelId> Items(KernelId kernel);

  /// A fused kernel loses results that nobody reads. `items` are the nodes that take results out of
  /// it, all that read it.
  void DropUnread(KernelId kernel, std::span<const KernelId> items);

  /// The graph, operands in front of what reads them: leaves, then `order`, which is Order().
  [[nodiscard]] KernelGraph Take(std::span<const KernelId> order) &&;

 private:
  [[nodiscard]] KernelId Now(KernelId id) const;
  void Describe(KernelId id, SharedText name);
  void SetResults(KernelNode& node, std::vector<KernelResult> results);

  KernelGraph graph_;
  std::vector<KernelId> instead_;                        ///< Per node, kNoKernel: itself.
  std::vector<bool> leaf_ = {};                          ///< Per node: nothing computes it.
  std::vector<std::unique_ptr<BasicProgram>> programs_;  ///< Per node.
  std::map<std::string, SharedText> names_ = {};
  /// Results of fused kernels, which micro batches share, by origin.
  std::map<NodeId, std::vector<SharedList<KernelResult>>> results_ = {};
};

}  // namespace drydock::strategies
