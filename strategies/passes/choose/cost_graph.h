#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace drydock::strategies {

/// What a choice costs, in bytes per device.
struct StepCost {
  double computation = 0;
  double communication = 0;  ///< With the sums of gradients of weights.
  double forward = 0;        ///< Without them.

  /// What counts: a sum of gradients can run beside other work, so little of it is charged.
  [[nodiscard]] double Partial() const {
    constexpr double kShare = 0.001;
    return forward + kShare * (communication - forward);
  }
  [[nodiscard]] StepCost operator+(const StepCost& other) const {
    return {.computation = computation + other.computation,
            .communication = communication + other.communication,
            .forward = forward + other.forward};
  }
};

/// Number of a cost in its graph.
using CostId = std::int32_t;
/// Costs of which none is worse than another in computation and in communication.
using CostList = std::vector<CostId>;

/// Operators with candidates, and connections whose costs depend on both ends' candidates.
///
/// Finds the candidates of least cost by taking the graph apart, MindSpore's dynamic programming.
/// See the source.
class CostGraph {
 public:
  /// Costs per candidate of an operator, and per pair of candidates of a connection. Equal ones are
  /// shared, so that what layers have in common is worked out once.
  using Column = std::shared_ptr<const std::vector<CostList>>;
  using Table = std::shared_ptr<const std::vector<std::vector<CostList>>>;

  /// @param candidates  per candidate the costs that it may have
  /// @param in_front    comes first among the successors of an operator
  std::size_t AddOperator(const std::vector<std::vector<StepCost>>& candidates, bool in_front);

  /// @param costs  per candidate of one end and of the other; nothing: they do not go together
  [[nodiscard]] Table KeepTable(const std::vector<std::vector<std::optional<StepCost>>>& costs);
  void AddConnection(std::size_t from, std::size_t to, Table costs);

  /// Candidate of every operator; nullopt if there is no combination that goes together.
  /// @param communication_weight  how much more a byte sent costs than a byte computed
  [[nodiscard]] std::optional<std::vector<std::size_t>> Solve(double communication_weight);

 private:
  /// How a cost of what is left came about from what was taken away.
  struct Decision {
    std::array<std::int32_t, 3> candidates = {-1, -1, -1};
    std::array<CostId, 5> costs = {-1, -1, -1, -1, -1};
    std::int32_t before = -1;  ///< Decisions may be a chain.
  };
  struct Raw {
    StepCost cost = {};
    Decision decision = {};
  };
  /// From a candidate in front to one of the middle.
  struct Half {
    StepCost cost = {};
    double weighed = 0;
    std::size_t candidate = 0;
    CostId left = -1;
    CostId middle = -1;
  };
  struct Operator {
    Column lists = {};
    std::vector<std::size_t> in = {};
    std::vector<std::size_t> out = {};
    bool alive = true;
    bool in_front = false;
    std::size_t in_count = 0;  ///< Of connections with operators that are left.
    std::size_t out_count = 0;
    std::size_t chosen = 0;
    CostId cost = -1;
  };
  struct Connection {
    std::size_t from = 0;
    std::size_t to = 0;
    Table lists = {};
    CostId cost = -1;
  };
  enum class Kind : std::uint8_t { kOperator, kConnections, kMerge, kContract, kTriangle, kStar };
  struct Step {
    Kind kind = Kind::kOperator;
    std::size_t op = 0;  ///< What was taken away.
    std::size_t target =
        0;  ///< Operator, or for kOperator and kConnections connection, that is left.
    std::vector<std::size_t> connections = {};
  };

  [[nodiscard]] double Weighed(const StepCost& cost) const {
    return cost.computation + communication_weight_ * cost.Partial();
  }
  void CountConnections(std::size_t op);
  void CountAround(std::size_t op);
  void KeepBestOnly();
  [[nodiscard]] CostId Keep(const StepCost& cost, const Decision& decision);
  [[nodiscard]] CostList Simplify(std::vector<Raw> raws);
  [[nodiscard]] std::vector<Half> HalvesOf(const std::vector<CostList>& left,
                                           const std::vector<CostList>& middle) const;
  [[nodiscard]] CostList Join(const std::vector<Half>& halves, const std::vector<CostList>& right);
  [[nodiscard]] CostList JoinBest(const std::vector<Half>& halves,
                                  const std::vector<CostList>& right);
  [[nodiscard]] Table JoinedTable(const Table& left, const Column& middle, const Table& right);
  [[nodiscard]] std::vector<std::size_t> AliveOut(std::size_t op) const;
  [[nodiscard]] std::vector<std::size_t> AliveIn(std::size_t op) const;
  [[nodiscard]] bool TakeApart();
  [[nodiscard]] std::optional<Step> FindOperator() const;
  [[nodiscard]] std::optional<Step> FindConnections() const;
  [[nodiscard]] std::optional<Step> FindMerge() const;
  [[nodiscard]] std::optional<Step> FindContract() const;
  [[nodiscard]] std::optional<Step> FindTriangle() const;
  [[nodiscard]] std::optional<Step> FindStar() const;
  void Apply(Step& step);
  void TakeOperator(Step& step);
  void TakeConnections(Step& step);
  void Fold(const Step& step, bool into_producer);
  void TakeTriangle(const Step& step);
  void TakeStar(const Step& step);
  void Replace(std::vector<std::size_t>& list, std::size_t old_one, std::size_t new_one) const;
  [[nodiscard]] bool ChooseLast();
  void Recover(const Step& step);
  void RecoverConnections(const Step& step);
  void RecoverStar(const Step& step);
  void Choose(std::size_t op, std::int32_t candidate, CostId cost);
  [[nodiscard]] const Decision& DecisionOf(CostId cost) const {
    return decisions_[static_cast<std::size_t>(cost)];
  }

  double communication_weight_ = 1;
  bool best_only_ = false;  ///< One cost per candidate or pair: the least one.
  std::vector<Operator> operators_;
  std::vector<Connection> connections_;
  std::vector<StepCost> costs_;
  std::vector<Decision> decisions_;  ///< One per cost.
  std::vector<Step> steps_;
  using Numbers = std::vector<std::vector<std::array<double, 3>>>;
  std::map<Numbers, Column> columns_;  ///< By their costs.
  /// Look-up only: the order of addresses does not matter.
  std::map<std::array<const void*, 3>, Table> joined_;
  std::vector<Table> tables_;         ///< Their addresses are in use.
  std::vector<Column> kept_columns_;  ///< The same.
};

}  // namespace drydock::strategies
