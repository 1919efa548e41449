#include "strategies/passes/choose/recursive_partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "strategies/passes/choose/recursive_adjacency.h"

/// Halves operators again and again, until there are as many parts as ranks.
///
/// One round cuts every operator once, from the data to the loss. Each takes the cut of least cost:
/// its own, and what redistribution costs towards neighbours that this round has cut already. The
/// own cost of a MatMul is the operand or result that the cut leaves whole; cutting rows costs a
/// tenth. Beyond 32 ranks operators come in another order (products last), because memory counts.
///
/// MindSpore wants a power of two of at most 1,024 ranks. Any number is a product of primes: here
/// further rounds cut into 3, 5, ... parts. Rounds for pipeline stages are taken back there; they
/// are not made here, which is the same.
///
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_partition.cc, rec_cost.cc
namespace drydock::strategies {
namespace {

constexpr double kRedistributionWeight = 16;
constexpr double kReplicateBelow = 25;
constexpr double kImpossible = std::numeric_limits<double>::max();

constexpr std::size_t kRows = 2;
constexpr std::size_t kColumns = 3;

/// What one cut does to the first two arguments and the result: parts per dimension.
struct CutForm {
  std::array<Four, 2> arguments = {kOnes, kOnes};
  Four result = kOnes;
};

/// A possible cut with its cost.
struct Option {
  double cost = kImpossible;
  CutForm form = {};
};

Four CutAt(std::size_t dimension, std::int64_t parts) {
  Four cuts = kOnes;
  cuts[dimension] = parts;
  return cuts;
}

double LocalElements(const Four& extents, const Four& cuts) {
  double elements = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    elements *= static_cast<double>(extents[d]) / static_cast<double>(cuts[d]);
  }
  return elements;
}

void Multiply(Four& cuts, const Four& by) {
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    cuts[d] *= by[d];
  }
}

/// The halvings that the user's cuts consist of, dimension by dimension.
std::vector<Four> Halvings(const Four& cuts) {
  std::vector<Four> result;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    for (std::int64_t parts = 1; parts < cuts[d]; parts *= 2) {
      result.push_back(CutAt(d, 2));
    }
  }
  return result;
}

/// One round.
class Round {
 public:
  Round(std::vector<RecursiveNode>& nodes, const RecursiveJob& job, std::size_t number,
        std::int64_t parts)
      : nodes_(nodes), job_(job), parts_(parts), done_(nodes.size()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].pinned) {
        done_[n] = PinnedForm(nodes[n], number);
      }
    }
  }

  void Run() {
    for (const std::size_t n : Order()) {
      if (!nodes_[n].pinned) {
        Cut(n);
      }
    }
  }

 private:
  /// Operators that follow were left out and are connected with nothing.
  [[nodiscard]] static bool IsLeftOut(const RecursiveNode& node) {
    return node.role == RecursiveRole::kFollower && !node.pinned;
  }
  [[nodiscard]] static CutForm PinnedForm(const RecursiveNode& node, std::size_t number) {
    CutForm form;
    const std::vector<Four> result = Halvings(node.result_cuts);
    form.result = number < result.size() ? result[number] : kOnes;
    const std::vector<Four> first = Halvings(node.argument_cuts[0]);
    form.arguments[0] = !node.producers.empty() && number < first.size() ? first[number] : kOnes;
    return form;
  }

  [[nodiscard]] bool MemoryFirst() const {
    constexpr std::int64_t kManyDevices = 32;
    constexpr std::int64_t kLargeBatch = 8;
    return job_.devices > kManyDevices && job_.micro_batch_size < kLargeBatch;
  }

  /// The reference weighs all products as the first node that it ever weighed, whatever that is.
  [[nodiscard]] double Weight(std::size_t n) const {
    switch (nodes_[n].role) {
      case RecursiveRole::kMatMul: {
        const MatMulCosts costs = CostsOf(*std::ranges::find_if_not(nodes_, IsLeftOut));
        return std::max({costs.rows, costs.columns, costs.inner, costs.none});
      }
      case RecursiveRole::kConvolution: {
        const RecursiveNode& first = *std::ranges::find_if_not(nodes_, IsLeftOut);
        return LocalElements(Argument(first, 1), first.argument_cuts[1]) / 2;
      }
      case RecursiveRole::kBatch:
      case RecursiveRole::kCrossEntropy:
        return std::numeric_limits<double>::max();
      default:
        return 0;
    }
  }

  [[nodiscard]] std::vector<std::size_t> Order() const {
    std::vector<std::pair<double, std::size_t>> weights;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (IsLeftOut(nodes_[n])) {
        continue;
      }
      const bool unknown = nodes_[n].role == RecursiveRole::kUnknown;
      const double place = unknown ? std::numeric_limits<double>::lowest() : static_cast<double>(n);
      weights.emplace_back(MemoryFirst() ? Weight(n) : place, n);
    }
    std::ranges::sort(weights, std::greater<>());
    std::vector<std::size_t> order;
    order.reserve(weights.size());
    for (const auto& [weight, n] : weights) {
      order.push_back(n);
    }
    return order;
  }

  [[nodiscard]] static Four Argument(const RecursiveNode& node, std::size_t i) {
    return i < node.arguments.size() ? node.arguments[i] : kOnes;
  }

  void Cut(std::size_t n) {
    RecursiveNode& node = nodes_[n];
    const std::vector<Option> options = OptionsOf(node);
    const auto best = std::ranges::min_element(options, {}, &Option::cost);
    CutForm form;
    if (best != options.end() && best->cost != kImpossible) {
      form = best->form;
    }
    Multiply(node.argument_cuts[0], form.arguments[0]);
    Multiply(node.argument_cuts[1], form.arguments[1]);
    Multiply(node.result_cuts, form.result);
    // Without a producer the reference compares with all cuts so far, not with those of the round.
    if (node.producers.empty()) {
      form.arguments[0] = node.argument_cuts[0];
    }
    done_[n] = form;
  }

  [[nodiscard]] std::vector<Option> OptionsOf(const RecursiveNode& node) const {
    switch (node.role) {
      case RecursiveRole::kMatMul:
        return MatMulOptions(node);
      case RecursiveRole::kConvolution:
        return ConvolutionOptions(node);
      case RecursiveRole::kPooling:
        return PoolingOptions(node);
      case RecursiveRole::kBatch:
      case RecursiveRole::kVirtual:
        return BatchOptions(node, false);
      case RecursiveRole::kCrossEntropy:
        return BatchOptions(node, true);
      default:
        return {};
    }
  }

  struct MatMulCosts {
    double rows = 0;
    double columns = 0;
    double inner = 0;
    double none = 0;
  };

  [[nodiscard]] MatMulCosts CostsOf(const RecursiveNode& node) const {
    const auto edge = [&](std::size_t argument, std::size_t dimension) {
      return std::floor(static_cast<double>(Argument(node, argument)[dimension]) /
                        static_cast<double>(node.argument_cuts[argument][dimension]));
    };
    const double rows = edge(0, kRows);
    const double columns = edge(1, kColumns);
    const double inner = edge(0, kColumns);
    const double share = static_cast<double>(parts_ - 1) / static_cast<double>(parts_);
    MatMulCosts costs = {.rows = columns * inner * share * job_.batch_cut_weight,
                         .columns = rows * inner * share,
                         .inner = rows * columns * share};
    const double least = std::min({costs.rows, costs.columns, costs.inner});
    costs.none = least * least / kReplicateBelow;
    return costs;
  }

  [[nodiscard]] std::vector<Option> MatMulOptions(const RecursiveNode& node) const {
    const MatMulCosts costs = CostsOf(node);
    const Four& a = node.argument_cuts[0];
    const Four& b = node.argument_cuts[1];
    const bool rows = Divides(Argument(node, 0)[kRows], a[kRows]) && HasRows(node);
    const bool columns = Divides(Argument(node, 1)[kColumns], b[kColumns]) && a[kColumns] == 1;
    const bool inner = Divides(Argument(node, 0)[kColumns], a[kColumns]) && b[kColumns] == 1;
    const Four at_rows = CutAt(kRows, parts_);
    const Four at_columns = CutAt(kColumns, parts_);
    return {With(node, rows, costs.rows, {.arguments = {at_rows, kOnes}, .result = at_rows}),
            With(node, columns, costs.columns,
                 {.arguments = {kOnes, at_columns}, .result = at_columns}),
            With(node, inner, costs.inner, {.arguments = {at_columns, at_rows}}),
            With(node, true, costs.none, {})};
  }

  /// With pipeline stages a micro batch has to be large enough to be cut further.
  [[nodiscard]] bool HasRows(const RecursiveNode& node) const {
    return job_.stages <= 1 || job_.micro_batch_size > node.argument_cuts[0][kRows];
  }

  [[nodiscard]] std::vector<Option> ConvolutionOptions(const RecursiveNode& node) const {
    const double filter = LocalElements(Argument(node, 1), node.argument_cuts[1]);
    const bool batch = Divides(Argument(node, 0)[0], node.argument_cuts[0][0]);
    const Four at_batch = CutAt(0, parts_);
    return {With(node, batch, filter / 2, {.arguments = {at_batch, kOnes}, .result = at_batch})};
  }

  [[nodiscard]] std::vector<Option> PoolingOptions(const RecursiveNode& node) const {
    std::vector<Option> options;
    for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
      const Four cut = CutAt(d, parts_);
      Option option = With(node, Divides(node.result[d], node.result_cuts[d]), 0,
                           {.arguments = {cut, cut}, .result = cut});
      option.form.arguments[1] = kOnes;
      options.push_back(option);
    }
    return options;
  }

  /// The first dimension that can be cut, at no cost.
  /// @param both  the second argument is cut alike, and the result along its last dimension only
  [[nodiscard]] std::vector<Option> BatchOptions(const RecursiveNode& node, bool both) const {
    std::vector<Option> options;
    for (std::size_t d = 0; d < kOnes.size(); ++d) {
      const Four cut = CutAt(d, parts_);
      CutForm form = {.arguments = {cut, both ? cut : kOnes}, .result = cut};
      if (both) {
        form.result = d == kRows ? CutAt(kColumns, parts_) : kOnes;
      }
      const bool possible = Divides(Argument(node, 0)[d], node.argument_cuts[0][d]);
      options.push_back({.cost = possible ? 0 : kImpossible, .form = form});
    }
    return options;
  }

  /// True if a dimension that is cut into `cuts` can be cut once more.
  [[nodiscard]] bool Divides(std::int64_t extent, std::int64_t cuts) const {
    const std::int64_t local = extent / cuts;
    return local >= parts_ && local % parts_ == 0;
  }

  [[nodiscard]] Option With(const RecursiveNode& node, bool possible, double own_cost,
                            const CutForm& form) const {
    return {.cost = possible ? own_cost + Redistribution(node, form) : kImpossible, .form = form};
  }

  /// What a cut costs towards neighbours that this round has cut already.
  [[nodiscard]] double Redistribution(const RecursiveNode& node, const CutForm& form) const {
    const double in = LocalElements(Argument(node, 0), node.argument_cuts[0]);
    const double out = LocalElements(node.result, node.result_cuts);
    double elements = 0;
    for (std::size_t i = 0; i < node.producers.size(); ++i) {
      elements += in * Differences(node, node.producers[i], i, form);
    }
    for (const RecursiveNode::Auxiliary& auxiliary : node.auxiliaries) {
      elements += in * Differences(node, auxiliary.node, auxiliary.argument, form);
    }
    for (const RecursiveNode::Consumer& consumer : node.consumers) {
      const std::optional<CutForm>& other = done_[consumer.node];
      if (other && other->arguments[0] != form.result &&
          ReachesAnArgument(node, consumer, nodes_[consumer.node])) {
        elements += out;
      }
    }
    return elements * kRedistributionWeight;
  }

  /// On how many connections from a producer, seen at one argument, the cuts differ.
  [[nodiscard]] double Differences(const RecursiveNode& node, std::size_t producer,
                                   std::size_t argument, const CutForm& form) const {
    const std::optional<CutForm>& other = done_[producer];
    if (!other) {
      return 0;
    }
    const Four wanted = argument < form.arguments.size() ? form.arguments[argument] : form.result;
    if (other->result == wanted) {
      return 0;
    }
    const RecursiveNode& from = nodes_[producer];
    return static_cast<double>(
        std::ranges::count_if(from.consumers, [&](const RecursiveNode::Consumer& consumer) {
          return &nodes_[consumer.node] == &node &&
                 AreAdjacent(from.result, Argument(node, argument),
                             CombineSources(from.reshape, consumer.reshape));
        }));
  }

  [[nodiscard]] static bool ReachesAnArgument(const RecursiveNode& node,
                                              const RecursiveNode::Consumer& consumer,
                                              const RecursiveNode& other) {
    const DimensionSources sources = CombineSources(node.reshape, consumer.reshape);
    return AreAdjacent(node.result, kOnes, sources) ||
           std::ranges::any_of(other.arguments, [&](const Four& argument) {
             return AreAdjacent(node.result, argument, sources);
           });
  }

  std::vector<RecursiveNode>& nodes_;
  const RecursiveJob& job_;
  std::int64_t parts_ = 2;
  std::vector<std::optional<CutForm>> done_;  ///< What this round did to a node.
};

/// 24 -> {2, 2, 2, 3}.
std::vector<std::int64_t> PrimeFactors(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) {
      factors.push_back(p);
    }
  }
  if (n > 1) {
    factors.push_back(n);
  }
  return factors;
}

}  // namespace

void PartitionRecursively(std::vector<RecursiveNode>& nodes, const RecursiveJob& job) {
  std::size_t number = 0;
  for (const std::int64_t parts :
       PrimeFactors(job.devices / std::max<std::int64_t>(1, job.stages))) {
    Round(nodes, job, number++, parts).Run();
  }
}

}  // namespace drydock::strategies
