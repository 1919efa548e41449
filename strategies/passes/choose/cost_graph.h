#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  /// @param candidates  per candidate the costs that it may have
  /// @param in_front    comes first among the successors of an operator
  std::size_t AddOperator(const std::vector<std::vector<StepCost>>& candidates, bool in_front);

  /// @param costs  per candidate of `from` and candidate of `to`; nothing: they do not go together
  void AddConnection(std::size_t from, std::size_t to,
                     const std::vector<std::vector<std::optional<StepCost>>>& costs);

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
  struct Operator {
    std::vector<CostList> lists = {};  ///< Per candidate.
    std::vector<std::size_t> in = {};
    std::vector<std::size_t> out = {};
    bool alive = true;
    bool in_front = false;
    std::size_t chosen = 0;
    CostId cost = -1;
  };
  struct Connection {
    std::size_t from = 0;
    std::size_t to = 0;
    std::vector<std::vector<CostList>> lists = {};
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

  [[nodiscard]] CostId Keep(const StepCost& cost, const Decision& decision);
  [[nodiscard]] CostList Simplify(std::vector<Raw> raws);
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
  [[nodiscard]] bool ChooseLast(double communication_weight);
  void Recover(const Step& step);
  void RecoverConnections(const Step& step);
  void RecoverStar(const Step& step);
  void Choose(std::size_t op, std::int32_t candidate, CostId cost);
  [[nodiscard]] const Decision& DecisionOf(CostId cost) const {
    return decisions_[static_cast<std::size_t>(cost)];
  }

  std::vector<Operator> operators_;
  std::vector<Connection> connections_;
  std::vector<StepCost> costs_;
  std::vector<Decision> decisions_;  ///< One per cost.
  std::vector<Step> steps_;
};

}  // namespace drydock::strategies
