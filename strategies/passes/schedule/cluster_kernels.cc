#include "strategies/passes/schedule/cluster_kernels.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "strategies/graph/packed_lists.h"

/// Which kernels are grouped, to be one kernel.
///
/// From the last kernel to the first: a kernel that may be fused takes in what it reads, as far as
/// that may be fused too, groups that are there already included. What would make two groups wait
/// for each other is left out, with all it reads.
///
/// Example: a step updates each weight behind the one before, and all updates read 1 - beta. The
/// update that comes first takes the difference in; the others cannot, since they wait for the
/// first one.
///
/// What only members of the group read cannot be where a way from outside comes back, so it is not
/// looked for, however far in front it stands: products of weights and decay, in front of all micro
/// batches. In a step of more than 10,000 kernels, anything else that stands more than 128
/// kernels in front is left out without a look: forward results that backward reads, by way of
/// which the two would wait for each other.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel/core/graph_kernel_cluster.cc.
namespace drydock::strategies {
namespace {

/// Largest number among those of smaller or equal position; numbers only grow.
class PrefixMaximum {
 public:
  explicit PrefixMaximum(std::size_t count) : tree_(count + 1, 0) {}
  void Raise(std::size_t position, std::size_t number) {
    for (std::size_t i = position + 1; i < tree_.size(); i += i & (~i + 1)) {
      tree_[i] = std::max(tree_[i], number);
    }
  }
  [[nodiscard]] std::size_t UpTo(std::size_t position) const {
    std::size_t most = 0;
    for (std::size_t i = position + 1; i > 0; i -= i & (~i + 1)) {
      most = std::max(most, tree_[i]);
    }
    return most;
  }

 private:
  std::vector<std::size_t> tree_;
};

constexpr std::size_t kLongStep = 10'000;
constexpr std::size_t kFar = 128;

class Clusterer {
 public:
  explicit Clusterer(ClusterGraph graph)
      : graph_(std::move(graph)),
        inputs_(graph_.inputs),
        users_(UsersOf(inputs_)),
        begin_(inputs_.size()),
        group_(inputs_.size()),
        size_(inputs_.size(), 1),
        last_(inputs_.size()),
        seen_(inputs_.size(), 0),
        reaches_(inputs_.size()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      SortOnce(inputs_[i]);
      group_[i] = i;
      begin_[i] = i;
      last_[i] = i;
      reaches_.Raise(i, i);
    }
  }

  std::vector<std::vector<std::size_t>> Run() {
    for (std::size_t i = inputs_.size(); i-- > 0;) {
      if (size_[Find(i)] > 1 || !Joins(i)) {
        continue;
      }
      std::vector<std::size_t> candidates = Candidates(i);
      if (candidates.size() < 2) {
        continue;
      }
      RemoveFar(i, candidates);
      RemoveCircles(candidates);
      RemoveLooseItems(candidates);
      if (candidates.size() > 1) {
        Merge(candidates);
      }
    }
    return Groups();
  }

 private:
  enum class Step : std::uint8_t { kFollow, kStop };
  using Positions = std::vector<std::uint32_t>;

  static PackedLists<std::uint32_t> UsersOf(const std::vector<Positions>& inputs) {
    std::vector<std::uint32_t> count(inputs.size(), 0);
    for (const Positions& read : inputs) {
      for (const std::uint32_t input : read) {
        ++count[input];
      }
    }
    PackedLists<std::uint32_t> users(count);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const std::uint32_t input : inputs[i]) {
        users.Append(input, static_cast<std::uint32_t>(i));
      }
    }
    return users;
  }

  /// Ascending, each once.
  static void SortOnce(Positions& positions) {
    std::ranges::sort(positions);
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }

  std::vector<std::vector<std::size_t>> Groups() {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::size_t> number(inputs_.size(), 0);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::size_t first = Find(i);  // The least member.
      if (size_[first] == 1 && !Joins(i)) {
        continue;
      }
      if (first == i) {
        number[i] = groups.size();
        groups.emplace_back();
      }
      groups[number[first]].push_back(i);
    }
    return groups;
  }

  [[nodiscard]] bool Joins(std::size_t i) const { return graph_.joins[i] || graph_.is_item[i]; }

  [[nodiscard]] std::int32_t PartOf(std::size_t i) const {
    return graph_.part.empty() ? 0 : graph_.part[i];
  }

  std::size_t Find(std::size_t i) {
    while (group_[i] != i) {
      group_[i] = group_[group_[i]];
      i = group_[i];
    }
    return i;
  }

  /// Groups that a group reads, ascending.
  const Positions& Inputs(std::size_t group) {
    Positions& inputs = inputs_[group];
    bool changed = false;
    for (std::uint32_t& input : inputs) {
      const auto now = static_cast<std::uint32_t>(Find(input));
      changed = changed || now != input || now == group;
      input = now;
    }
    if (changed) {
      SortOnce(inputs);
      std::erase(inputs, static_cast<std::uint32_t>(group));
    }
    return inputs;
  }

  /// Groups in depth, later inputs first, each once.
  template <typename Visitor>
  void Walk(std::size_t from, const Visitor& visit) {
    ++walk_;
    open_.assign(1, Find(from));
    while (!open_.empty()) {
      const std::size_t group = open_.back();
      open_.pop_back();
      if (seen_[group] == walk_) {
        continue;
      }
      seen_[group] = walk_;
      if (visit(group) == Step::kFollow) {
        const Positions& inputs = Inputs(group);
        open_.insert(open_.end(), inputs.begin(), inputs.end());
      }
    }
  }

  std::vector<std::size_t> Candidates(std::size_t base) {
    std::vector<std::size_t> candidates;
    Walk(base, [&](std::size_t group) {
      if (!Joins(group) || PartOf(group) != PartOf(base)) {
        return Step::kStop;
      }
      candidates.push_back(group);
      return size_[group] > 1 ? Step::kStop : Step::kFollow;
    });
    std::ranges::reverse(candidates);
    return candidates;
  }

  /// Read by members only.
  bool IsClosed(std::size_t group, const std::set<std::size_t>& members) {
    return size_[group] == 1 && !users_[group].empty() &&
           std::ranges::all_of(users_[group],
                               [&](std::size_t user) { return members.contains(Find(user)); });
  }

  /// Takes out what stands far in front and is read by others, with all it reads.
  void RemoveFar(std::size_t base, std::vector<std::size_t>& candidates) {
    if (inputs_.size() <= kLongStep) {
      return;
    }
    std::set<std::size_t> left(candidates.begin(), candidates.end());
    for (const std::size_t candidate : candidates) {
      if (left.contains(candidate) && begin_[candidate] + kFar < base &&
          !IsClosed(candidate, left)) {
        TakeOut(candidate, left);
      }
    }
    std::erase_if(candidates, [&left](std::size_t group) { return !left.contains(group); });
  }

  void TakeOut(std::size_t candidate, std::set<std::size_t>& left) {
    Walk(candidate, [&left](std::size_t group) {
      return left.erase(group) > 0 ? Step::kFollow : Step::kStop;
    });
  }

  /// Takes out candidates that another one reaches by a way through others.
  void RemoveCircles(std::vector<std::size_t>& candidates) {
    std::set<std::size_t> left(candidates.begin(), candidates.end());
    first_ = inputs_.size();
    std::size_t open = 0;
    for (const std::size_t candidate : candidates) {
      if (!IsClosed(candidate, left)) {
        first_ = std::min(first_, begin_[candidate]);
        ++open;
      }
    }
    if (open < 2) {  // The base itself, which nothing else reaches.
      return;
    }
    std::unordered_set<std::size_t> free;  // From here no candidate is reached.
    for (const std::size_t candidate : candidates) {
      if (left.contains(candidate)) {
        for (const std::size_t circle : Reached(candidate, left, free)) {
          TakeOut(circle, left);
        }
      }
    }
    std::erase_if(candidates, [&left](std::size_t group) { return !left.contains(group); });
  }

  /// Candidates that `base` reaches by way of what is none.
  std::vector<std::size_t> Reached(std::size_t base, const std::set<std::size_t>& left,
                                   std::unordered_set<std::size_t>& free) {
    std::vector<std::size_t> reached;
    std::unordered_set<std::size_t> visited;
    const Positions inputs = Inputs(base);
    for (const std::size_t input : inputs) {
      if (left.contains(input)) {
        continue;
      }
      std::vector<std::size_t> done;
      bool circle = false;
      Walk(input, [&](std::size_t group) {
        if (reaches_.UpTo(begin_[group]) < first_ || free.contains(group) ||
            visited.contains(group)) {
          return Step::kStop;
        }
        done.push_back(group);
        if (left.contains(group)) {
          circle = true;
          reached.push_back(group);
          return Step::kStop;
        }
        return Step::kFollow;
      });
      (circle ? visited : free).insert(done.begin(), done.end());
    }
    return reached;
  }

  /// What is taken out of several results goes with the kernel that makes them, or not at all.
  void RemoveLooseItems(std::vector<std::size_t>& candidates) {
    const std::set<std::size_t> all(candidates.begin(), candidates.end());
    std::erase_if(candidates, [&](std::size_t group) {
      return graph_.is_item[group] && !all.contains(Inputs(group).front());
    });
  }

  void Merge(const std::vector<std::size_t>& candidates) {
    const std::size_t first = std::ranges::min(candidates);
    const std::set<std::size_t> members(candidates.begin(), candidates.end());
    std::size_t begin = inputs_.size();  // The base is read by others, if by any.
    for (const std::size_t member : candidates) {
      begin = IsClosed(member, members) ? begin : std::min(begin, begin_[member]);
    }
    for (const std::size_t other : candidates) {
      if (other == first) {
        continue;
      }
      group_[other] = first;
      last_[first] = std::max(last_[first], last_[other]);
      size_[first] += size_[other];
      inputs_[first].insert(inputs_[first].end(), inputs_[other].begin(), inputs_[other].end());
      inputs_[other] = {};
      size_[other] = 0;
    }
    SortOnce(inputs_[first]);
    begin_[first] = begin;
    reaches_.Raise(begin, last_[first]);
  }

  ClusterGraph graph_;
  std::vector<Positions>& inputs_;    ///< Per group, ascending.
  PackedLists<std::uint32_t> users_;  ///< Per position.
  std::vector<std::size_t> begin_;    ///< Per group: its first member that others may read.
  std::vector<std::size_t> group_;
  std::vector<std::size_t> size_;
  std::vector<std::size_t> last_;  ///< Per group: its last member.
  std::vector<std::size_t> seen_;
  std::vector<std::size_t> open_ = {};  ///< Of a walk.
  std::size_t walk_ = 0;
  std::size_t first_ = 0;  ///< Least begin of the candidates that are looked for.
  PrefixMaximum reaches_;  ///< Last member of groups up to a position.
};

}  // namespace

std::vector<std::vector<std::size_t>> ClusterKernels(ClusterGraph graph) {
  return Clusterer(std::move(graph)).Run();
}

}  // namespace drydock::strategies
