#include "tests/strategies/random_network.h"

#include <algorithm>
#include <functional>

#include "base/checked.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/sharding.h"
#include "tests/strategies/random_strategy.h"

namespace drydock::strategies {
namespace {

// Divisible by every world size tried (24) or by most (12).
constexpr std::int64_t kRows = 24;
constexpr std::int64_t kNarrow = 12;
constexpr std::int64_t kWide = 24;

/// Operators of a network, without gradient and updates.
constexpr std::int64_t kLeastOperators = 5;
constexpr std::int64_t kMostOperators = 30;
constexpr std::int64_t kLossOperators = 4;

class StepMaker {
 public:
  StepMaker(std::uint32_t seed, std::int64_t world_size) : random_(seed) {
    step_.job = {.world_size = world_size,
                 .mode = ParallelMode::kSemiAutoParallel,
                 .enable_alltoall = Chance(3),
                 .any_device_count = true};
    if (Chance(2)) {
      step_.job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
    }
  }

  RandomStep Make() {
    const ValueId x = Input({kRows, Pick({kNarrow, kWide})});
    history_ = {x};
    const std::int64_t operators = Uniform(kLeastOperators, kMostOperators - kLossOperators);
    while (std::ssize(builder_.graph().nodes) < operators) {
      history_.push_back(Layer(history_.back()));
    }
    const ValueId loss = Loss(history_.back());
    std::vector<ValueId> outputs = {loss};
    for (std::int64_t i = Uniform(1, 3); i > 0; --i) {
      outputs.push_back(AnyOf(std::vector<ValueId>(history_.begin() + 1, history_.end())));
    }
    if (!weights_.empty()) {
      std::vector<ValueId> operands = {loss};
      operands.insert(operands.end(), weights_.begin(), weights_.end());
      const NodeId gradient = *builder_.AddNode({.op = "_Gradient", .inputs = operands});
      const std::vector<ValueId> gradients = builder_.graph().at(gradient).outputs;
      outputs.insert(outputs.end(), gradients.begin(), gradients.end());
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        Update(weights_[i], gradients[i]);
      }
    }
    builder_.SetOutputs(outputs);
    ChooseStrategies();
    step_.graph = std::move(builder_).Take();
    return std::move(step_);
  }

 private:
  std::int64_t Uniform(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(std::int64_t one_in) { return Uniform(1, one_in) == 1; }
  std::int64_t Pick(const std::vector<std::int64_t>& values) { return AnyOf(values); }
  template <typename T>
  T AnyOf(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Uniform(0, std::ssize(values) - 1))];
  }

  /// Numbers in [-scale, scale].
  NdArray Numbers(const Shape& shape, double scale = 1.0) {
    NdArray array = FilledArray(shape, 0.0);
    for (double& number : array.data) {
      number = scale * static_cast<double>(Uniform(-1000, 1000)) / 1000.0;
    }
    return array;
  }

  NdArray Indices(const Shape& shape, std::int64_t bound) {
    NdArray array = FilledArray(shape, 0.0);
    for (double& number : array.data) {
      number = static_cast<double>(Uniform(0, bound - 1));
    }
    return array;
  }

  ValueId Input(const Shape& shape) {
    step_.data.inputs.push_back(Numbers(shape));
    return *builder_.AddInput("x" + std::to_string(step_.data.inputs.size()), {.shape = shape});
  }

  ValueId IndexInput(const Shape& shape, std::int64_t bound) {
    step_.data.inputs.push_back(Indices(shape, bound));
    return *builder_.AddInput("i" + std::to_string(step_.data.inputs.size()),
                              {.shape = shape, .dtype = DType::kInt32});
  }

  ValueId Parameter_(const Shape& shape, ParameterRole role = ParameterRole::kWeight,
                     ValueId state_of = kNoValue) {
    // Matrices of small numbers keep the values of long chains near 1.
    step_.data.parameters.push_back(Numbers(shape, shape.size() > 1 ? 0.3 : 1.0));
    return *builder_.AddParameter("p" + std::to_string(step_.data.parameters.size()),
                                  {.shape = shape}, {.role = role, .state_of = state_of});
  }

  /// A new weight, or one that other operators use as well.
  ValueId Weight(const Shape& shape) {
    std::vector<ValueId> alike;
    for (const ValueId weight : weights_) {
      if (ShapeOf(weight) == shape) {
        alike.push_back(weight);
      }
    }
    if (!alike.empty() && Chance(3)) {
      return AnyOf(alike);
    }
    const ValueId id = Parameter_(shape);
    weights_.push_back(id);
    return id;
  }

  const Shape& ShapeOf(ValueId id) { return builder_.TypeOf(id).shape; }

  ValueId Emit(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {}) {
    const Result<ValueId> id =
        builder_.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
    DRYDOCK_CHECK(id.has_value());
    return *id;
  }

  ValueId Layer(ValueId x) {
    const std::vector<std::function<ValueId(ValueId)>> layers = {
        [this](ValueId v) { return MatMulLayer(v); },
        [this](ValueId v) { return MatMulLayer(v); },
        [this](ValueId v) { return Unary(v); },
        [this](ValueId v) { return Unary(v); },
        [this](ValueId v) { return Binary(v); },
        [this](ValueId v) { return Residual(v); },
        [this](ValueId v) { return Normalise(v); },
        [this](ValueId v) { return Softmax(v); },
        [this](ValueId v) { return ReshapeAround(v); },
        [this](ValueId v) { return ReshapeAround(v); },
        [this](ValueId v) { return SplitAndJoin(v); },
        [this](ValueId v) { return LargestFirst(v); },
        [this](ValueId v) { return Attention(v); },
        [this](ValueId v) { return Bias(v); },
        [this](ValueId v) { return CentreRows(v); },
        [this](ValueId v) { return Embed(v); },
    };
    return AnyOf(layers)(x);
  }

  ValueId MatMulLayer(ValueId x) {
    const std::int64_t out = Pick({kNarrow, kWide});
    const bool transpose_b = Chance(2);
    const std::int64_t in = ShapeOf(x)[1];
    const ValueId w = Weight(transpose_b ? Shape{out, in} : Shape{in, out});
    return Emit("MatMul", {x, w}, {{"transpose_b", transpose_b}});
  }

  ValueId Unary(ValueId x) {
    return Emit(AnyOf<std::string_view>({"ReLU", "GeLU", "Sigmoid", "Tanh", "Sin", "Neg", "SiLU",
                                         "Erf", "Softplus", "Abs"}),
                {x});
  }

  ValueId Binary(ValueId x) {
    const std::int64_t columns = ShapeOf(x)[1];
    const ValueId w = Weight(AnyOf<Shape>({{columns}, {1, columns}, {kRows, 1}, {kRows, columns}}));
    return Emit(AnyOf<std::string_view>({"Add", "Sub", "Mul", "Maximum"}),
                Chance(2) ? std::vector<ValueId>{x, w} : std::vector<ValueId>{w, x});
  }

  ValueId Residual(ValueId x) {
    for (std::size_t i = history_.size(); i-- > 0;) {
      if (history_[i] != x && ShapeOf(history_[i]) == ShapeOf(x) && Chance(2)) {
        return Emit("Add", {x, history_[i]});
      }
    }
    return Emit("Add", {x, x});
  }

  ValueId Normalise(ValueId x) {
    const std::int64_t columns = ShapeOf(x)[1];
    return Emit("LayerNorm", {x, Weight({columns}), Weight({columns})},
                {{"begin_norm_axis", 1}, {"begin_params_axis", 1}, {"epsilon", 0.01}});
  }

  ValueId Softmax(ValueId x) {
    return Chance(2) ? Emit("Softmax", {x}, {{"axis", std::vector<std::int64_t>{-1}}})
                     : Emit("LogSoftmax", {x}, {{"axis", -1}});
  }

  ValueId Bias(ValueId x) { return Emit("BiasAdd", {x, Weight({ShapeOf(x)[1]})}); }

  /// Through other dimensions and back, with work in between.
  ValueId ReshapeAround(ValueId x) {
    const std::int64_t columns = ShapeOf(x)[1];
    ValueId y = Emit("Reshape", {x},
                     {{"shape", AnyOf<Shape>({{kRows, 4, columns / 4},
                                              {4, kRows / 4, columns},
                                              {kRows / 2, columns, 2},
                                              {kRows * columns},
                                              {2, kRows / 2, 3, columns / 3}})}});
    y = Unary(y);
    if (ShapeOf(y).size() == 3 && Chance(2)) {
      y = Emit("Transpose", {y}, {{"input_perm", std::vector<std::int64_t>{0, 2, 1}}});
      y = Unary(y);
    }
    return Emit("Reshape", {y}, {{"shape", std::vector<std::int64_t>{kRows, columns}}});
  }

  /// Two halves of the columns or rows go different ways.
  ValueId SplitAndJoin(ValueId x) {
    const std::int64_t axis = Uniform(0, 1);
    const NodeId split = *builder_.AddNode(
        {.op = "Split", .inputs = {x}, .attrs = {{"axis", axis}, {"output_num", 2}}});
    const std::vector<ValueId> halves = builder_.graph().at(split).outputs;
    const ValueId left = Unary(halves[0]);
    const ValueId right = Chance(2) ? Unary(halves[1]) : halves[1];
    return Emit("Concat", {right, left}, {{"axis", axis}});
  }

  /// All columns in descending order: an operator with an output that nobody uses.
  ValueId LargestFirst(ValueId x) { return Emit("TopK", {x}, {{"k", ShapeOf(x)[1]}}); }

  /// Scores of heads against themselves: BatchMatMul, softmax, BatchMatMul.
  ValueId Attention(ValueId x) {
    const std::int64_t columns = ShapeOf(x)[1];
    const ValueId heads =
        Emit("Reshape", {x}, {{"shape", std::vector<std::int64_t>{4, kRows / 4, columns}}});
    const ValueId scores = Emit("BatchMatMul", {heads, heads}, {{"transpose_b", true}});
    const ValueId weights = Emit("Softmax", {scores}, {{"axis", std::vector<std::int64_t>{-1}}});
    const ValueId mixed = Emit("BatchMatMul", {weights, heads});
    return Emit("Reshape", {mixed}, {{"shape", std::vector<std::int64_t>{kRows, columns}}});
  }

  ValueId CentreRows(ValueId x) {
    const bool mean = Chance(2);
    const std::int64_t axis = Uniform(0, 1);
    const ValueId reduced = Emit(mean ? "ReduceMean" : "ReduceSum", {x},
                                 {{"axis", std::vector<std::int64_t>{axis}}, {"keep_dims", true}});
    return Emit("Sub", {x, reduced});
  }

  /// Adds rows of a table looked up by a second data-set input.
  ValueId Embed(ValueId x) {
    const ValueId table = Weight({kWide, ShapeOf(x)[1]});
    const ValueId rows = Emit("Gather", {table, IndexInput({kRows}, kWide)}, {{"axis", 0}});
    return Emit("Add", {x, rows});
  }

  ValueId Loss(ValueId x) {
    if (Chance(4)) {
      const ValueId labels = IndexInput({kRows}, ShapeOf(x)[1]);
      const ValueId on = builder_.AddScalar(1.0, DType::kFloat32);
      const ValueId off = builder_.AddScalar(0.0, DType::kFloat32);
      const ValueId one_hot =
          Emit("OneHot", {labels, on, off}, {{"depth", ShapeOf(x)[1]}, {"axis", -1}});
      const NodeId entropy =
          *builder_.AddNode({.op = "SoftmaxCrossEntropyWithLogits", .inputs = {x, one_hot}});
      return Emit("ReduceMean", {builder_.graph().at(entropy).outputs[0]});
    }
    return Emit(Chance(2) ? "ReduceMean" : "ReduceSum", {Emit("Square", {x})});
  }

  void Update(ValueId weight, ValueId gradient) {
    const Shape shape = ShapeOf(weight);
    const ValueId rate = Parameter_({}, ParameterRole::kHyper);
    const ValueId momentum = Parameter_({}, ParameterRole::kHyper);
    const ValueId moment = Parameter_(shape, ParameterRole::kOptimizerState, weight);
    Emit("ApplyMomentum", {weight, moment, rate, gradient, momentum});
  }

  void ChooseStrategies() {
    const DeviceContext devices{.stage_devices = step_.job.world_size,
                                .job_devices = step_.job.world_size};
    Graph& graph = builder_.mutable_graph();
    const auto users = UsersOf(graph);
    for (Node& node : graph.nodes) {
      if (node.entry->shard == nullptr || node.entry->kind != OpKind::kCompute) {
        continue;
      }
      const bool shares = std::ranges::any_of(
          node.inputs, [&](ValueId id) { return IsShared(graph, users[ToIndex(id)], id); });
      OpViewStorage storage;
      const OpView view = ViewOf(graph, node, storage);
      if (shares) {
        // A parameter has one layout: operators that share one leave it whole.
        node.in_strategy = WithWholeWeights(graph, node, view, devices);
      } else if (!Chance(6)) {
        node.in_strategy = RandomStrategy(*node.entry, view, devices, random_)
                               .value_or(ReplicatedStrategy(*node.entry, view));
      }
    }
  }

  /// True for parameters that several operators of the forward part use.
  static bool IsShared(const Graph& graph, const std::vector<NodeId>& users, ValueId id) {
    const auto forward = std::ranges::count_if(
        users, [&](NodeId user) { return graph.at(user).entry->kind == OpKind::kCompute; });
    return graph.at(id).kind == ValueKind::kParameter && forward > 1;
  }

  Strategy WithWholeWeights(const Graph& graph, const Node& node, const OpView& view,
                            const DeviceContext& devices) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto strategy = RandomStrategy(*node.entry, view, devices, random_);
      const auto sharding =
          strategy ? TrySharding(*node.entry, view, *strategy, devices) : Result<OpSharding>();
      bool whole = strategy && sharding;
      for (std::size_t i = 0; whole && i < node.inputs.size(); ++i) {
        whole = graph.at(node.inputs[i]).kind != ValueKind::kParameter ||
                SliceShape(sharding->inputs[i]) == view.inputs[i].shape;
      }
      if (whole) {
        return *strategy;
      }
    }
    return ReplicatedStrategy(*node.entry, view);
  }

  std::mt19937_64 random_;
  RandomStep step_;
  GraphBuilder builder_;
  std::vector<ValueId> history_;
  std::vector<ValueId> weights_;
};

}  // namespace

RandomStep MakeRandomStep(std::uint32_t seed, std::int64_t world_size) {
  return StepMaker(seed, world_size).Make();
}

}  // namespace drydock::strategies
