#include "sim/memory/static_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/memory/alignment.h"
#include "sim/memory/storage.h"

/// Memory that is planned before the first step (SOMAS, memory_optimize_level O1).
///
/// MindSpore places all results of kernels in one block when a network is compiled. Two of them may
/// lie on the same addresses if one is done with before the other is made, whatever the streams do:
/// every last reader of the first, one per stream, must come before the kernel that makes the
/// second, along the orders of the streams, the data, and the events that computation waits for.
/// somas.cc then finds the places. When a step begins it asks the pool for each piece of the block
/// that no tensor's end or beginning cuts, and gives them back behind the last kernel.
///
/// Example: a, b and c are made in a row, each read by the next kernel. c may lie where a was.
///
/// Source: mindspore/ccsrc/backend/common/somas/somas.cc (ComputeBasicMatrix,
/// ProcessSemiLifeLongTensor), mindspore/ccsrc/plugin/device/ascend/hal/hardware/acl_somas.cc
namespace drydock::sim {
namespace {

using Bits = std::vector<bool>;

void Unite(Bits& bits, const Bits& others) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = bits[i] || others[i];
  }
}

/// A tensor of the plan and the kernels that use it.
struct Tensor {
  std::int32_t source = 0;
  std::map<std::int32_t, std::int32_t> readers = {};  ///< Per stream: the last one.
  bool kept = false;
};

class StaticPlanner {
 public:
  StaticPlanner(const MemoryPlan& plan, StorageTable table)
      : plan_(plan), table_(std::move(table)) {}

  /// The tensor that a buffer owns, -1 = none.
  [[nodiscard]] std::int32_t TensorOf(std::size_t buffer) const { return of_buffer_[buffer]; }

  Result<SomasProblem> Run(bool count_workspace) {
    ListTensors(count_workspace);
    if (tensors_.size() > kMaxStaticTensors) {
      return Fail(ErrorCode::kUnsupported,
                  "a plan of memory made beforehand of " + std::to_string(tensors_.size()) +
                      " tensors is too large (at most " + std::to_string(kMaxStaticTensors) + ")",
                  "use memory_optimize_level='O0'");
    }
    FindOrder();
    FindShares();
    CountPeak();
    for (const auto& group : table_.groups) {
      std::vector<std::int32_t> chain;
      for (const std::int32_t root : group) {
        chain.push_back(of_buffer_[static_cast<std::size_t>(root)]);
      }
      problem_.contiguous.push_back(std::move(chain));
    }
    return std::move(problem_);
  }

 private:
  void ListTensors(bool count_workspace) {
    of_buffer_.assign(plan_.buffers.size(), -1);
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      const PlannedKernel& kernel = plan_.kernels[k];
      const auto index = static_cast<std::int32_t>(k);
      for (const std::int32_t output : kernel.outputs) {
        const auto b = static_cast<std::size_t>(output);
        if (table_.root[b] == output) {
          of_buffer_[b] = static_cast<std::int32_t>(tensors_.size());
          Add({.source = index, .kept = table_.kept[b]}, plan_.buffers[b].bytes);
        }
      }
      if (count_workspace && kernel.workspace_bytes > 0) {
        Add({.source = index}, kernel.workspace_bytes);
      }
      for (const auto* buffers : {&kernel.inputs, &kernel.outputs}) {
        for (const std::int32_t buffer : *buffers) {
          const std::int32_t root = table_.root[static_cast<std::size_t>(buffer)];
          const std::int32_t tensor = of_buffer_[static_cast<std::size_t>(root)];
          if (tensor >= 0) {
            tensors_[static_cast<std::size_t>(tensor)].readers[kernel.stream] = index;
          }
        }
      }
    }
  }

  void Add(Tensor tensor, std::int64_t bytes) {
    tensor.readers[plan_.kernels[static_cast<std::size_t>(tensor.source)].stream] = tensor.source;
    problem_.tensors.push_back(
        {.bytes = bytes == 0 ? 0 : ManagerAlignedBytes(bytes), .graph_output = tensor.kept});
    tensors_.push_back(std::move(tensor));
  }

  /// Kernels that are done before each kernel begins.
  void FindOrder() {
    const std::size_t count = plan_.kernels.size();
    before_.assign(count, Bits(count, false));
    std::map<std::int32_t, std::size_t> last;
    for (std::size_t k = 0; k < count; ++k) {
      const PlannedKernel& kernel = plan_.kernels[k];
      const auto follow = [&](std::size_t other) {
        before_[k][other] = true;
        Unite(before_[k], before_[other]);
      };
      if (const auto known = last.find(kernel.stream); known != last.end()) {
        follow(known->second);
      }
      for (const PlannedEvent& event : kernel.events) {
        if (event.release_up_to >= 0 && kernel.stream == 0) {
          follow(static_cast<std::size_t>(event.release_up_to));
        }
      }
      for (const std::int32_t input : kernel.inputs) {
        const std::int32_t producer = table_.producer[static_cast<std::size_t>(input)];
        if (producer >= 0 && !before_[k][static_cast<std::size_t>(producer)]) {
          follow(static_cast<std::size_t>(producer));
        }
      }
      last[kernel.stream] = k;
    }
  }

  [[nodiscard]] bool DoneBefore(const Tensor& tensor, const Tensor& other) const {
    const Bits& before = before_[static_cast<std::size_t>(other.source)];
    return std::ranges::all_of(tensor.readers, [&before](const auto& reader) {
      return before[static_cast<std::size_t>(reader.second)];
    });
  }

  /// What the step returns shares with nothing that comes later.
  void FindShares() {
    const std::size_t count = tensors_.size();
    problem_.may_share.assign(count, Bits(count, false));
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        const bool share =
            tensors_[a].source != tensors_[b].source && !tensors_[a].kept &&
            (DoneBefore(tensors_[a], tensors_[b]) || DoneBefore(tensors_[b], tensors_[a]));
        problem_.may_share[a][b] = share;
        problem_.may_share[b][a] = share;
      }
    }
  }

  [[nodiscard]] std::int32_t LastUse(const Tensor& tensor) const {
    std::int32_t last = tensor.source;
    for (const auto& [stream, reader] : tensor.readers) {
      last = std::max(last, reader);
    }
    return tensor.kept ? static_cast<std::int32_t>(plan_.kernels.size()) - 1 : last;
  }

  /// Per tensor the bytes of those alive at the peak that may lie where it does.
  void CountPeak() {
    std::vector<std::int64_t> change(plan_.kernels.size() + 1, 0);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      change[static_cast<std::size_t>(tensors_[t].source)] += problem_.tensors[t].bytes;
      change[static_cast<std::size_t>(LastUse(tensors_[t])) + 1] -= problem_.tensors[t].bytes;
    }
    std::int64_t alive = 0;
    std::int64_t most = 0;
    std::int32_t peak = 0;
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      alive += change[k];
      if (alive > most) {
        most = alive;
        peak = static_cast<std::int32_t>(k);
      }
    }
    for (std::size_t b = 0; b < tensors_.size(); ++b) {
      if (tensors_[b].source > peak || LastUse(tensors_[b]) < peak) {
        continue;
      }
      for (std::size_t a = 0; a < tensors_.size(); ++a) {
        if (problem_.may_share[a][b]) {
          problem_.tensors[a].reusable_peak_bytes += problem_.tensors[b].bytes;
        }
      }
    }
  }

  const MemoryPlan& plan_;
  StorageTable table_;
  std::vector<Tensor> tensors_ = {};
  std::vector<std::int32_t> of_buffer_ = {};  ///< Per buffer: its tensor, -1 = none.
  std::vector<Bits> before_ = {};
  SomasProblem problem_ = {};
};

/// A part of the plan's addresses that the pool is asked for as one.
struct Piece {
  std::int64_t offset = 0;
  std::int64_t end = 0;
};

/// Tensors that overlap are in one piece, those that only touch are not.
std::vector<Piece> PiecesOf(const SomasProblem& problem, const SomasSolution& solution) {
  std::vector<Piece> all;
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    if (problem.tensors[t].bytes > 0) {
      all.push_back({solution.offsets[t], solution.offsets[t] + problem.tensors[t].bytes});
    }
  }
  for (const auto& chain : problem.contiguous) {
    Piece piece = {std::numeric_limits<std::int64_t>::max(), 0};
    for (const std::int32_t tensor : chain) {
      const auto t = static_cast<std::size_t>(tensor);
      piece.offset = std::min(piece.offset, solution.offsets[t]);
      piece.end = std::max(piece.end, solution.offsets[t] + problem.tensors[t].bytes);
    }
    all.push_back(piece);
  }
  std::ranges::sort(all, {}, &Piece::offset);
  std::vector<Piece> pieces;
  for (const Piece& piece : all) {
    if (pieces.empty() || piece.offset >= pieces.back().end) {
      pieces.push_back(piece);
    } else {
      pieces.back().end = std::max(pieces.back().end, piece.end);
    }
  }
  return pieces;
}

/// Pieces are no tensors: reports do not name them.
void Forget(MemoryProfile& profile, std::size_t count) {
  std::erase_if(profile.largest, [count](const PeakBuffer& item) {
    return item.buffer >= 0 && static_cast<std::size_t>(item.buffer) >= count;
  });
  profile.placements.resize(count);
  profile.left_over.resize(std::min(count, profile.left_over.size()));
  profile.kinds.resize(std::min(count, profile.kinds.size()));
}

/// Made by the first kernel, used by the last.
void UsePieces(std::vector<PlannedKernel>& kernels, const std::vector<std::int32_t>& buffers) {
  if (!kernels.empty()) {
    kernels.front().outputs.insert(kernels.front().outputs.begin(), buffers.begin(), buffers.end());
    kernels.back().inputs.insert(kernels.back().inputs.end(), buffers.begin(), buffers.end());
  }
}

}  // namespace

bool PlansMemoryBeforehand(std::string_view alloc_conf) {
  return alloc_conf.find("memory_optimize_level:O1") != std::string_view::npos;
}

Result<SomasProblem> StaticProblem(const MemoryPlan& plan, bool count_workspace) {
  DRYDOCK_TRY(StorageTable table, ResolveStorage(plan));
  return StaticPlanner(plan, std::move(table)).Run(count_workspace);
}

Result<MemoryProfile> ProfileStaticMemory(const MemoryPlan& plan, const LifetimeOptions& options) {
  DRYDOCK_TRY(StorageTable table, ResolveStorage(plan));
  StaticPlanner planner(plan, table);
  DRYDOCK_TRY(const SomasProblem problem, planner.Run(options.count_workspace));
  LifetimeOptions dynamic = options;
  dynamic.count_workspace = false;  // Workspaces are part of the plan.
  if (problem.tensors.empty()) {
    return ProfileMemory(plan, dynamic);
  }
  DRYDOCK_TRY(const SomasPlan solved, SolveSomas(problem));
  const SomasSolution& solution = solved.solutions[solved.chosen];
  MemoryPlan merged = plan;
  const std::vector<Piece> pieces = PiecesOf(problem, solution);
  std::vector<std::int32_t> buffers;
  for (const Piece& piece : pieces) {
    buffers.push_back(static_cast<std::int32_t>(merged.buffers.size()));
    merged.buffers.push_back({.bytes = piece.end - piece.offset});
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const std::int32_t tensor = planner.TensorOf(b);
    if (tensor < 0) {
      continue;
    }
    const std::int64_t offset = solution.offsets[static_cast<std::size_t>(tensor)];
    const auto piece = std::ranges::upper_bound(pieces, offset, {}, &Piece::offset);
    const auto index = std::max<std::ptrdiff_t>(piece - pieces.begin() - 1, 0);
    merged.buffers[b].alias_of = buffers[static_cast<std::size_t>(index)];
    merged.buffers[b].graph_output = false;  // What is returned stays, the pieces go.
  }
  UsePieces(merged.kernels, buffers);
  UsePieces(merged.later_kernels, buffers);
  DRYDOCK_TRY(MemoryProfile profile, ProfileMemory(merged, dynamic));
  Forget(profile, plan.buffers.size());
  return profile;
}

}  // namespace drydock::sim
