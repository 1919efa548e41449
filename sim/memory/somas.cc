// Static planner: blocks (single tensors or chains) are placed one by one, best candidates first.
//
// For a block the forbidden start offsets are collected as intervals: for a tensor that comes
// `prefix` bytes into the block and has `bytes`, a placed tensor at [o, o + s) it may not share
// with forbids starts in (o - prefix - bytes, o - prefix + s). The gaps between merged intervals
// are the candidates. "Many objects" stacks shelves: a shelf spans from its own offset to that of
// the next one, and the last shelf is empty and unbounded, so that any block fits there at its very
// start.

#include "sim/memory/somas.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace drydock::sim {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kSingleObjectMarginBytes = std::int64_t{100} << 20;

struct Block {
  std::vector<std::size_t> tensors = {};
  std::int64_t bytes = 0;
};

struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct Gap {
  std::int64_t offset = 0;
  std::int64_t slack = 0;
};

/// Part of the address space; blocks of a shelf may not reach beyond the start of the next one.
struct Shelf {
  std::int64_t offset = 0;
  std::int64_t next_offset = kUnbounded;
  std::vector<const Block*> blocks = {};
};

bool Better(SomasFit fit, const Gap& a, const Gap& b) {
  if (fit == SomasFit::kBest) {
    return a.slack != b.slack ? a.slack < b.slack : a.offset < b.offset;
  }
  return a.offset != b.offset ? a.offset < b.offset : a.slack < b.slack;
}

/// Sorts the intervals and joins those that overlap or touch.
std::vector<Interval> Merge(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.low != b.low ? a.low < b.low : a.high < b.high;
  });
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (!merged.empty() && interval.low <= merged.back().high) {
      merged.back().high = std::max(merged.back().high, interval.high);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

class Solver {
 public:
  explicit Solver(const SomasProblem& problem) : problem_(problem) { MakeBlocks(); }

  SomasSolution Run(SomasAlgorithm algorithm, SomasOrder order, SomasFit fit) {
    SomasSolution solution{.algorithm = algorithm, .order = order, .fit = fit};
    offsets_.assign(problem_.tensors.size(), 0);
    std::vector<Shelf> shelves(1);
    for (const Block* block : Ordered(order)) {
      Insert(*block, solution, shelves);
    }
    std::int64_t end = shelves.back().offset;
    if (algorithm == SomasAlgorithm::kSingleObject) {
      for (const Block& block : blocks_) {
        end = std::max(end, offsets_[block.tensors.front()] + block.bytes);
      }
    }
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      if (problem_.tensors[t].lifelong) {
        offsets_[t] = end;
        end += problem_.tensors[t].bytes;
      }
    }
    solution.total_bytes = end;
    solution.offsets = offsets_;
    return solution;
  }

 private:
  void MakeBlocks() {
    std::vector<bool> chained(problem_.tensors.size(), false);
    for (const auto& chain : problem_.contiguous) {
      Block block;
      for (const std::int32_t tensor : chain) {
        const auto t = static_cast<std::size_t>(tensor);
        chained[t] = true;
        block.tensors.push_back(t);
        block.bytes += problem_.tensors[t].bytes;
      }
      if (!block.tensors.empty()) {
        blocks_.push_back(std::move(block));
      }
    }
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const SomasTensor& tensor = problem_.tensors[t];
      if (!chained[t] && !tensor.lifelong && tensor.bytes > 0) {
        blocks_.push_back(Block{.tensors = {t}, .bytes = tensor.bytes});
      }
    }
  }

  [[nodiscard]] std::vector<const Block*> Ordered(SomasOrder order) const {
    std::vector<const Block*> ordered;
    ordered.reserve(blocks_.size());
    for (const Block& block : blocks_) {
      ordered.push_back(&block);
    }
    std::sort(ordered.begin(), ordered.end(), [&](const Block* a, const Block* b) {
      const SomasTensor& first_a = problem_.tensors[a->tensors.front()];
      const SomasTensor& first_b = problem_.tensors[b->tensors.front()];
      if (first_a.graph_output != first_b.graph_output) {
        return first_a.graph_output;
      }
      if (order == SomasOrder::kPeakReuse &&
          first_a.reusable_peak_bytes != first_b.reusable_peak_bytes) {
        return first_a.reusable_peak_bytes < first_b.reusable_peak_bytes;
      }
      return a->bytes != b->bytes ? a->bytes > b->bytes : a->tensors.front() < b->tensors.front();
    });
    return ordered;
  }

  void Insert(const Block& block, const SomasSolution& run, std::vector<Shelf>& shelves) {
    for (std::size_t s = 0; s < shelves.size(); ++s) {
      // Only the first shelf knows the fit of the run; those opened later use the default.
      const SomasFit fit = s == 0 ? run.fit : SomasFit::kBest;
      const auto offset = FindOffset(shelves[s], block, run.algorithm, fit);
      if (!offset) {
        continue;
      }
      Place(block, *offset);
      shelves[s].blocks.push_back(&block);
      const std::int64_t end = *offset + block.bytes;
      if (run.algorithm == SomasAlgorithm::kManyObjects) {
        if (s + 1 == shelves.size()) {
          shelves[s].next_offset = end;
          shelves.push_back(Shelf{.offset = end});
        } else if (end > shelves[s].next_offset) {
          shelves[s].next_offset = end;
          shelves[s + 1].offset = end;
        }
      }
      return;
    }
  }

  void Place(const Block& block, std::int64_t offset) {
    for (const std::size_t tensor : block.tensors) {
      offsets_[tensor] = offset;
      offset += problem_.tensors[tensor].bytes;
    }
  }

  [[nodiscard]] std::optional<std::int64_t> FindOffset(const Shelf& shelf, const Block& block,
                                                       SomasAlgorithm algorithm,
                                                       SomasFit fit) const {
    if (shelf.blocks.empty()) {
      return shelf.offset;
    }
    const Block& lowest = *shelf.blocks.front();
    if (algorithm == SomasAlgorithm::kManyObjects && block.tensors.size() == 1 &&
        lowest.tensors.size() == 1 &&
        !problem_.may_share[block.tensors.front()][lowest.tensors.front()]) {
      return std::nullopt;
    }
    const std::vector<Interval> taken = Merge(Forbidden(shelf, block));
    const std::int64_t needed =
        block.tensors.size() == 1 ? block.bytes : problem_.tensors[block.tensors.front()].bytes;
    std::optional<Gap> best;
    std::int64_t from = shelf.offset;
    for (std::size_t i = 0; i <= taken.size(); ++i) {
      const std::int64_t to = i < taken.size() ? taken[i].low : shelf.next_offset;
      const Gap gap{.offset = from, .slack = to - from - needed};
      if (gap.slack >= 0 && from + block.bytes <= shelf.next_offset &&
          (!best || Better(fit, gap, *best))) {
        best = gap;
      }
      from = i < taken.size() ? taken[i].high : from;
    }
    return best ? std::optional(best->offset) : std::nullopt;
  }

  [[nodiscard]] std::vector<Interval> Forbidden(const Shelf& shelf, const Block& block) const {
    std::vector<Interval> forbidden;
    for (const Block* placed_block : shelf.blocks) {
      for (const std::size_t placed : placed_block->tensors) {
        const std::int64_t low = offsets_[placed];
        const std::int64_t high = low + problem_.tensors[placed].bytes;
        if (block.tensors.size() == 1) {
          if (!problem_.may_share[block.tensors.front()][placed]) {
            forbidden.push_back(Interval{low, high});
          }
          continue;
        }
        std::int64_t prefix = 0;
        for (const std::size_t tensor : block.tensors) {
          const std::int64_t bytes = problem_.tensors[tensor].bytes;
          if (!problem_.may_share[tensor][placed] && high - prefix > shelf.offset) {
            forbidden.push_back(
                Interval{std::max(low - prefix - bytes, shelf.offset), high - prefix});
          }
          prefix += bytes;
        }
      }
    }
    return forbidden;
  }

  const SomasProblem& problem_;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> offsets_;  // Of the run in progress, one per tensor.
};

Status Check(const SomasProblem& problem) {
  const std::size_t count = problem.tensors.size();
  const auto bad = [](const char* what) {
    return Fail(ErrorCode::kInternal, "static memory plan: " + std::string(what));
  };
  if (problem.may_share.size() != count) {
    return bad("conflict rows and tensors differ in number");
  }
  for (std::size_t t = 0; t < count; ++t) {
    if (problem.may_share[t].size() != count) {
      return bad("conflict columns and tensors differ in number");
    }
    if (problem.tensors[t].bytes < 0 || problem.tensors[t].bytes > std::int64_t{1} << 50) {
      return bad("size out of range");
    }
  }
  std::vector<bool> chained(count, false);
  for (const auto& chain : problem.contiguous) {
    for (const std::int32_t tensor : chain) {
      if (tensor < 0 || static_cast<std::size_t>(tensor) >= count) {
        return bad("contiguous tensor out of range");
      }
      if (chained[static_cast<std::size_t>(tensor)]) {
        return bad("a tensor is contiguous twice");
      }
      chained[static_cast<std::size_t>(tensor)] = true;
    }
  }
  return {};
}

std::size_t Choose(const std::vector<SomasSolution>& solutions) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < solutions.size(); ++i) {
    const bool changes_algorithm = solutions[i].algorithm != solutions[chosen].algorithm;
    const std::int64_t margin = changes_algorithm ? kSingleObjectMarginBytes : 0;
    if (solutions[chosen].total_bytes - solutions[i].total_bytes > margin) {
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace

Result<SomasPlan> SolveSomas(const SomasProblem& problem) {
  DRYDOCK_RETURN_IF_ERROR(Check(problem));
  Solver solver(problem);
  SomasPlan plan;
  for (const auto algorithm : {SomasAlgorithm::kManyObjects, SomasAlgorithm::kSingleObject}) {
    for (const auto order : {SomasOrder::kSize, SomasOrder::kPeakReuse}) {
      for (const auto fit : {SomasFit::kBest, SomasFit::kSmallest}) {
        plan.solutions.push_back(solver.Run(algorithm, order, fit));
      }
    }
  }
  plan.chosen = Choose(plan.solutions);
  return plan;
}

}  // namespace drydock::sim
