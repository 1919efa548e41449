#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Tensors of the script that the calls of a graph read.
class CallTensors {
 public:
  CallTensors(KernelGraph& graph, const Graph& local) : graph_(graph), local_(local) {}

  /// Gives the kernels of the next call, in order, the constants that they have there.
  void Split(std::span<const KernelId> kernels);

  /// Whether `operand` of a kernel is a tensor of the script: no argument, no number of a rule.
  [[nodiscard]] bool IsTensor(KernelId kernel, KernelId operand) const;
  /// Whether readers of `constant` share it, behind Split.
  [[nodiscard]] bool IsShared(KernelId constant) const;

 private:
  /// A node of the local program, which of its kernels, which operand, and the constant.
  using Reader = std::tuple<NodeId, std::size_t, std::size_t, KernelId>;

  [[nodiscard]] KernelId OwnOf(const Reader& reader);
  [[nodiscard]] bool IsFirstOfType(KernelId constant);

  KernelGraph& graph_;
  const Graph& local_;
  std::vector<KernelId> firsts_ = {};  ///< Per shape and type the first constant.
  std::set<KernelId> taken_ = {};      ///< Constants that have a reader.
  std::map<Reader, KernelId> own_ = {};
};

}  // namespace drydock::strategies
