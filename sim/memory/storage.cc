#include "sim/memory/storage.h"

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace drydock::sim {
namespace {

tl::unexpected<Error> BadPlan(const char* what, std::size_t index) {
  return Fail(ErrorCode::kInternal,
              "memory plan: " + std::string(what) + " " + std::to_string(index));
}

bool FilledBeforehand(BufferKind kind) {
  switch (kind) {
    case BufferKind::kParameter:
    case BufferKind::kOptimizerState:
    case BufferKind::kAccumulatedGradient:
    case BufferKind::kConstant:
    case BufferKind::kInput:
      return true;
    default:
      return false;
  }
}

class Resolver {
 public:
  explicit Resolver(const MemoryPlan& plan) : plan_(plan), count_(plan.buffers.size()) {
    table_.root.assign(count_, kUnknown);
    table_.producer.assign(count_, -1);
    table_.uses.assign(count_, 0);
    table_.kept.assign(count_, false);
    table_.group.assign(count_, -1);
  }

  Result<StorageTable> Run() {
    DRYDOCK_RETURN_IF_ERROR(CheckBuffers());
    DRYDOCK_RETURN_IF_ERROR(FindRoots());
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      DRYDOCK_RETURN_IF_ERROR(VisitKernel(k));
    }
    for (std::size_t b = 0; b < count_; ++b) {
      if (plan_.buffers[b].graph_output) {
        table_.kept[Root(b)] = true;
      }
    }
    for (const PlannedKernel& kernel : plan_.kernels) {
      if (kernel.continuous_inputs) {
        AddGroup(kernel.inputs);
      }
      if (kernel.continuous_outputs) {
        AddGroup(OwnOutputs(kernel));
      }
    }
    return std::move(table_);
  }

 private:
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kVisiting = -3;

  [[nodiscard]] std::size_t Root(std::size_t buffer) const {
    return static_cast<std::size_t>(table_.root[buffer]);
  }

  [[nodiscard]] bool InRange(std::int32_t buffer) const {
    return buffer >= 0 && static_cast<std::size_t>(buffer) < count_;
  }

  Status CheckBuffers() {
    for (std::size_t b = 0; b < count_; ++b) {
      const PlannedBuffer& buffer = plan_.buffers[b];
      if (buffer.bytes < 0) {
        return BadPlan("size out of range: buffer", b);
      }
      if (buffer.bytes > kMaxPlannedBytes) {
        return Fail(ErrorCode::kUnsupported,
                    "a tensor of " + std::to_string(buffer.bytes) +
                        " bytes on one rank: memory is accounted for tensors of up to " +
                        std::to_string(kMaxPlannedBytes) + " bytes");
      }
      if (buffer.alias_of != -1 && !InRange(buffer.alias_of)) {
        return BadPlan("alias out of range: buffer", b);
      }
    }
    return {};
  }

  /// Follows every chain once: buffers on the way are marked, then all get the end of the chain.
  Status FindRoots() {
    std::vector<std::size_t> chain;
    for (std::size_t b = 0; b < count_; ++b) {
      std::size_t at = b;
      chain.clear();
      while (table_.root[at] == kUnknown && plan_.buffers[at].alias_of != -1) {
        table_.root[at] = kVisiting;
        chain.push_back(at);
        at = static_cast<std::size_t>(plan_.buffers[at].alias_of);
      }
      if (table_.root[at] == kVisiting) {
        return BadPlan("aliases form a cycle: buffer", b);
      }
      if (table_.root[at] == kUnknown) {
        table_.root[at] = static_cast<std::int32_t>(at);
      }
      for (const std::size_t link : chain) {
        table_.root[link] = table_.root[at];
      }
    }
    return {};
  }

  /// Whether the buffer's content and storage exist when a kernel reads it.
  [[nodiscard]] bool Exists(std::size_t buffer) const {
    if (table_.producer[buffer] >= 0) {
      return true;
    }
    const std::size_t root = Root(buffer);
    return table_.producer[root] >= 0 || FilledBeforehand(plan_.buffers[root].kind);
  }

  Status VisitKernel(std::size_t k) {
    const PlannedKernel& kernel = plan_.kernels[k];
    if (kernel.workspace_bytes < 0 || kernel.workspace_bytes > kMaxPlannedBytes) {
      return BadPlan("workspace out of range: kernel", k);
    }
    for (const std::int32_t input : kernel.inputs) {
      if (!InRange(input)) {
        return BadPlan("input out of range: kernel", k);
      }
      if (!Exists(static_cast<std::size_t>(input))) {
        return BadPlan("input is read before it is produced: kernel", k);
      }
      ++table_.uses[Root(static_cast<std::size_t>(input))];
    }
    for (const std::int32_t output : kernel.outputs) {
      if (!InRange(output)) {
        return BadPlan("output out of range: kernel", k);
      }
      const auto b = static_cast<std::size_t>(output);
      if (table_.producer[b] >= 0) {
        return BadPlan("output is produced twice: kernel", k);
      }
      if (Root(b) != b && !Exists(Root(b))) {
        return BadPlan("output aliases what does not exist yet: kernel", k);
      }
      table_.producer[b] = static_cast<std::int32_t>(k);
      table_.uses[Root(b)] += Root(b) != b ? 1 : 0;
    }
    return {};
  }

  /// Outputs that are not written into a tensor which exists already.
  [[nodiscard]] std::vector<std::int32_t> OwnOutputs(const PlannedKernel& kernel) const {
    std::vector<std::int32_t> own;
    for (const std::int32_t output : kernel.outputs) {
      if (plan_.buffers[static_cast<std::size_t>(output)].alias_of == -1) {
        own.push_back(output);
      }
    }
    return own;
  }

  void AddGroup(std::span<const std::int32_t> buffers) {
    std::vector<std::int32_t> members;
    std::set<std::int32_t> seen;
    for (const std::int32_t buffer : buffers) {
      const std::size_t root = Root(static_cast<std::size_t>(buffer));
      if (table_.group[root] == -1 && table_.producer[root] >= 0 &&
          seen.insert(static_cast<std::int32_t>(root)).second) {
        members.push_back(static_cast<std::int32_t>(root));
      }
    }
    if (members.size() < 2) {
      return;
    }
    for (const std::int32_t root : members) {
      table_.group[static_cast<std::size_t>(root)] =
          static_cast<std::int32_t>(table_.groups.size());
    }
    table_.groups.push_back(std::move(members));
  }

  const MemoryPlan& plan_;
  std::size_t count_;
  StorageTable table_;
};

}  // namespace

Result<StorageTable> ResolveStorage(const MemoryPlan& plan) {
  return Resolver(plan).Run();
}

}  // namespace drydock::sim
