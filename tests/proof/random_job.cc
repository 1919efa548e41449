#include "tests/proof/random_job.h"

#include <functional>
#include <map>
#include <set>

#include "strategies/operators/op_entry.h"
#include "strategies/operators/sharding.h"
#include "tests/proof/random_job_shape.h"
#include "tests/strategies/random_strategy.h"

/// A network is a chain of layers, each on its own rows, with a sum of all rows for a loss: so the
/// gradients of the micro batches add up to that of the batch. It is built twice from the same
/// draws, cut and whole. Layers are dealt to stages in order; weights and results may be used in
/// later stages as well.
namespace drydock::strategies {
namespace {

constexpr std::int64_t kMicroRows = 48;  // Divisible by the ranks of every stage.
constexpr std::int64_t kNarrow = 12;
constexpr std::int64_t kWide = 24;

/// Builds one of the two graphs.
class JobMaker {
 public:
  JobMaker(std::uint64_t seed, const JobShape& shape, const JobConfig& config, bool cut)
      : drawn_(seed), strategies_(seed + 1), shape_(shape), config_(config), cut_(cut) {}

  Graph Make() {
    const std::int64_t parts = shape_.stages * shape_.parts;
    const std::int64_t layers = parts * drawn_.Uniform(1, 3);
    ValueId x = Piece(Input({Rows(), Width()}));
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::int64_t part = layer * parts / layers;
      const bool begins = layer == 0 || part != part_;
      x = begins ? As("float16", x) : x;  // In the part before, so that it is what passes.
      Enter(part, layer);
      x = begins ? MatMulLayer(As("float32", x)) : x;  // Each part has something to train.
      for (std::int64_t i = drawn_.Uniform(1, 3); i > 0; --i) {
        x = Layer(x);
        history_.emplace_back(x, part);
      }
    }
    Leave();
    ValueId loss = Loss(x);
    if (cut_ && shape_.micros > 1) {
      loss = Emit("_MicroSum", {loss});
    }
    Train(loss);
    builder_.SetOutputs({loss});
    return std::move(builder_).Take();
  }

  /// Numbers for another step.
  [[nodiscard]] StepData Data(std::uint64_t seed) const {
    Drawn drawn(seed);
    StepData data{.parameters = parameters_};
    for (const auto& [shape, bound] : inputs_) {
      NdArray array = FilledArray(shape, 0.0);
      for (double& number : array.data) {
        number = bound > 0 ? static_cast<double>(drawn.Uniform(0, bound - 1))
                           : static_cast<double>(drawn.Uniform(-1000, 1000)) / 1000.0;
      }
      data.inputs.push_back(std::move(array));
    }
    return data;
  }

 private:
  [[nodiscard]] std::int64_t Rows() const { return kMicroRows * shape_.micros; }
  std::int64_t Width() { return drawn_.AnyOf<std::int64_t>({kNarrow, kWide}); }

  void Enter(std::int64_t part, std::int64_t layer) {
    part_ = part;
    const bool back = shape_.scheduler == "zero_bubble_v" && part >= shape_.stages;
    const std::int64_t place = part % shape_.stages;
    stage_ = static_cast<std::int32_t>(back ? shape_.stages - 1 - place : place);
    scope_ = "Default/layer" + std::to_string(layer);
    if (shape_.recompute && drawn_.Chance(2)) {
      scope_ = "recompute_" + scope_;
    }
  }
  void Leave() {
    stage_ = -1;
    scope_ = "Default";
  }

  ValueId Input(const Shape& shape, std::int64_t bound = 0) {
    inputs_.emplace_back(shape, bound);
    return *builder_.AddInput(
        "x" + std::to_string(inputs_.size()),
        {.shape = shape, .dtype = bound > 0 ? DType::kInt32 : DType::kFloat32});
  }

  ValueId Piece(ValueId x) {
    return cut_ && shape_.micros > 1 ? Emit("_MicroBatch", {x}, {{"micro_size", shape_.micros}})
                                     : x;
  }

  ValueId AddParameter(const std::string& name, const Shape& shape, Parameter info = {}) {
    NdArray numbers = FilledArray(shape, 0.0);
    for (double& number : numbers.data) {
      number = static_cast<double>(drawn_.Uniform(-1000, 1000)) / (shape.size() > 1 ? 3000 : 1000);
    }
    parameters_.push_back(std::move(numbers));
    return *builder_.AddParameter(name, {.shape = shape}, info);
  }

  ValueId Weight(const Shape& shape) {
    std::vector<ValueId> alike;
    for (const ValueId weight : shared_) {
      if (ShapeOf(weight) == shape && MayShare(weight)) {
        alike.push_back(weight);
      }
    }
    if (!alike.empty() && drawn_.Chance(2)) {
      return drawn_.AnyOf(alike);
    }
    weights_.push_back(AddParameter("w" + std::to_string(weights_.size()), shape));
    if (drawn_.Chance(4)) {
      shared_.insert(weights_.back());
      stages_of_[weights_.back()] = stage_;
    }
    return weights_.back();
  }

  /// A norm counts what each stage has of a gradient, also of a weight that several stages use.
  /// With several parts per stage such weights are not tried.
  bool MayShare(ValueId weight) {
    return stages_of_[weight] == stage_ || (!shape_.clip && shape_.parts == 1);
  }

  const Shape& ShapeOf(ValueId id) { return builder_.TypeOf(id).shape; }

  ValueId Emit(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {},
               Phase phase = Phase::kForward) {
    return Results(op, std::move(inputs), std::move(attrs), phase).front();
  }

  std::vector<ValueId> Results(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {},
                               Phase phase = Phase::kForward) {
    const Result<NodeId> id = builder_.AddNode({.op = op,
                                                .inputs = std::move(inputs),
                                                .attrs = std::move(attrs),
                                                .scope = scope_,
                                                .phase = phase});
    DRYDOCK_CHECK(id.has_value());
    Node& node = builder_.mutable_graph().nodes[ToIndex(*id)];
    node.stage = cut_ ? stage_ : -1;
    if (cut_ && stage_ >= 0 && shape_.parts > 1) {
      node.segment = static_cast<std::int32_t>(part_ / shape_.stages);
    }
    if (cut_ && phase == Phase::kForward) {
      Cut(node);
    }
    return node.outputs;
  }

  /// Strategies have draws of their own: the whole network has none.
  void Cut(Node& node) {
    if (node.entry->shard == nullptr || node.entry->kind != OpKind::kCompute ||
        node.entry->per_micro_batch || node.entry->joins_micro_batches) {
      return;
    }
    const std::int64_t devices = config_.world_size / config_.pipeline_stages;
    const DeviceContext context{.stage_devices = devices, .job_devices = config_.world_size};
    OpViewStorage storage;
    const OpView view = ViewOf(builder_.graph(), node, storage);
    if (devices > 1 && !strategies_.Chance(6)) {
      node.in_strategy = RandomStrategy(*node.entry, view, context, strategies_.random());
    }
    for (int attempt = 0; node.in_strategy && !KeepsWhole(node, view, context); ++attempt) {
      node.in_strategy.reset();
      if (attempt < 20) {
        node.in_strategy = RandomStrategy(*node.entry, view, context, strategies_.random());
      }
    }
    if (!node.in_strategy) {
      node.in_strategy = ReplicatedStrategy(*node.entry, view);
    }
  }

  /// A parameter has one layout: what several operators may use is whole.
  bool KeepsWhole(const Node& node, const OpView& view, const DeviceContext& context) {
    const auto sharding = TrySharding(*node.entry, view, *node.in_strategy, context);
    bool whole = sharding.has_value();
    for (std::size_t i = 0; whole && i < node.inputs.size(); ++i) {
      whole = !shared_.contains(node.inputs[i]) ||
              SliceShape(sharding->inputs[i]) == view.inputs[i].shape;
    }
    return whole;
  }

  ValueId Layer(ValueId x) {
    const std::vector<std::function<ValueId(ValueId)>> layers = {
        [this](ValueId v) { return MatMulLayer(v); },
        [this](ValueId v) { return MatMulLayer(v); },
        [this](ValueId v) {
          return Emit(drawn_.AnyOf<std::string_view>({"ReLU", "GeLU", "Tanh", "Sigmoid", "Neg"}),
                      {v});
        },
        [this](ValueId v) {
          const ValueId w = Weight(drawn_.AnyOf<Shape>({{ShapeOf(v)[1]}, Shape{1, ShapeOf(v)[1]}}));
          return Emit(drawn_.AnyOf<std::string_view>({"Add", "Sub", "Mul"}), {v, w});
        },
        [this](ValueId v) { return Residual(v); },
        [this](ValueId v) {
          const std::int64_t columns = ShapeOf(v)[1];
          const ValueId gamma = Weight({columns});
          const ValueId beta = Weight({columns});
          return Emit("LayerNorm", {v, gamma, beta},
                      {{"begin_norm_axis", 1}, {"begin_params_axis", 1}, {"epsilon", 0.01}});
        },
        [this](ValueId v) {
          return Emit("Softmax", {v}, {{"axis", std::vector<std::int64_t>{-1}}});
        },
        [this](ValueId v) {
          return Emit("BiasAdd", {v, Weight({ShapeOf(v)[1]})});
        },
        [this](ValueId v) { return SplitAndJoin(v); },
        [this](ValueId v) { return ReshapeAround(v); },
        [this](ValueId v) { return Embed(v); },
    };
    return drawn_.AnyOf(layers)(x);
  }

  ValueId MatMulLayer(ValueId x) {
    const std::int64_t out = Width();
    const bool transpose_b = drawn_.Chance(2);
    const std::int64_t in = ShapeOf(x)[1];
    const ValueId w = Weight(transpose_b ? Shape{out, in} : Shape{in, out});
    const ValueId product =
        Emit("MatMul", {As("float16", x), As("float16", w)}, {{"transpose_b", transpose_b}});
    return As("float32", product);
  }

  /// The same numbers in another type, in jobs with half precision; the executor does not round.
  ValueId As(const char* type, ValueId x) {
    return shape_.half ? Emit("Cast", {x}, {{"dtype", type}}) : x;
  }

  /// What skips a stage is not drawn: stages then wait for each other (docs/differences.md).
  ValueId Residual(ValueId x) {
    const std::int64_t reach = shape_.parts > 1 ? 0 : 1;
    for (std::size_t i = history_.size(); i-- > 0;) {
      const auto& [before, part] = history_[i];
      if (before != x && ShapeOf(before) == ShapeOf(x) && part_ - part <= reach &&
          drawn_.Chance(2)) {
        return Emit("Add", {x, before});
      }
    }
    return Emit("Add", {x, x});
  }

  ValueId SplitAndJoin(ValueId x) {
    const std::vector<ValueId> halves = Results("Split", {x}, {{"axis", 1}, {"output_num", 2}});
    const ValueId left = Emit("ReLU", {halves[0]});
    return Emit("Concat", {halves[1], left}, {{"axis", 1}});
  }

  /// Columns of each row in two dimensions, with something between there and back.
  ValueId ReshapeAround(ValueId x) {
    const std::int64_t columns = ShapeOf(x)[1];
    const std::int64_t rows = ShapeOf(x)[0];
    const ValueId three =
        Emit("Reshape", {x}, {{"shape", std::vector<std::int64_t>{rows, 4, columns / 4}}});
    const ValueId between = Emit("Tanh", {three});
    return Emit("Reshape", {between}, {{"shape", std::vector<std::int64_t>{rows, columns}}});
  }

  ValueId Embed(ValueId x) {
    if (shape_.parts > 1 && part_ > 0) {
      return Emit("Tanh", {x});  // In an interleaved pipeline data go to both ends of the network.
    }
    const ValueId table = Weight({kWide, ShapeOf(x)[1]});
    const ValueId rows = Piece(Input({Rows()}, kWide));
    return Emit("Add", {x, Emit("Gather", {table, rows}, {{"axis", 0}})});
  }

  ValueId Loss(ValueId x) { return Emit("ReduceSum", {Emit("Square", {x})}); }

  void Train(ValueId loss) {
    std::vector<ValueId> operands = {loss};
    operands.insert(operands.end(), weights_.begin(), weights_.end());
    if (shape_.loss_scale != 1.0) {
      operands.push_back(Number("scale_sense", shape_.loss_scale));
    }
    std::vector<ValueId> gradients =
        Results("_Gradient", operands, {{"has_sens", shape_.loss_scale != 1.0}}, Phase::kBackward);
    const bool accumulates = cut_ && shape_.accumulators;
    std::vector<ValueId> sums;
    if (accumulates) {
      const ValueId all = Emit("_All", gradients, {}, Phase::kBackward);
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const ValueId accumulator = Accumulator(i);
        sums.push_back(Emit("Depend", {accumulator, all}, {}, Phase::kBackward));
      }
      gradients = config_.enable_parallel_optimizer ? gradients : sums;
    }
    if (shape_.loss_scale != 1.0) {
      for (ValueId& gradient : gradients) {
        gradient = Emit("Muls", {gradient}, {{"other", 1 / shape_.loss_scale}}, Phase::kBackward);
      }
    }
    if (shape_.clip) {
      Clip(gradients);
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      Update(weights_[i], gradients[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const ValueId used = Emit("Depend", {sums[i], gradients[i]}, {}, Phase::kOptimizer);
      const ValueId zeros = Emit("ZerosLike", {used}, {}, Phase::kOptimizer);
      (void)Emit("Assign", {used, zeros}, {{"clear_grad", true}}, Phase::kOptimizer);
    }
  }

  ValueId Accumulator(std::size_t i) {
    const Shape shape = ShapeOf(weights_[i]);
    const std::string name = "accu_grads." + builder_.graph().at(weights_[i]).name;
    parameters_.push_back(FilledArray(shape, 0.0));
    return *builder_.AddParameter(name, {.shape = shape},
                                  {.role = ParameterRole::kAccumulatedGradient,
                                   .state_of = weights_[i],
                                   .requires_grad = false});
  }

  /// As clip_by_global_norm does; always divided, so that the norm counts.
  void Clip(std::vector<ValueId>& gradients) {
    std::vector<ValueId> parts;
    for (const ValueId gradient : gradients) {
      const ValueId sum = Emit("ReduceSum", {Emit("Square", {gradient}, {}, Phase::kBackward)}, {},
                               Phase::kBackward);
      parts.push_back(Emit("ExpandDims", {sum}, {{"axis", std::int64_t{0}}, {"grad_scale", true}},
                           Phase::kBackward));
    }
    const ValueId norm =
        Emit("Sqrt", {Emit("AddN", parts, {}, Phase::kBackward)}, {}, Phase::kBackward);
    for (ValueId& gradient : gradients) {
      gradient = Emit("RealDiv", {gradient, norm}, {}, Phase::kBackward);
    }
  }

  /// Matrices decay, as in a group of parameters of their own; vectors do not.
  ValueId Decayed(ValueId weight, ValueId gradient) {
    if (!shape_.decay || ShapeOf(weight).size() < 2) {
      return gradient;
    }
    const ValueId decay = Emit("Muls", {weight}, {{"other", 0.1}}, Phase::kOptimizer);
    return Emit("Add", {gradient, decay}, {}, Phase::kOptimizer);
  }

  ValueId Number(const std::string& name, double value) {
    parameters_.push_back(FilledArray({}, value));
    return *builder_.AddParameter(name, {.shape = {}},
                                  {.role = ParameterRole::kHyper, .requires_grad = false});
  }

  void Update(ValueId weight, ValueId whole_gradient) {
    const std::string name = builder_.graph().at(weight).name;
    const ValueId gradient = Decayed(weight, whole_gradient);
    if (!shape_.momentum) {
      const ValueId step = Emit("Muls", {gradient}, {{"other", 0.01}}, Phase::kOptimizer);
      (void)Emit("AssignSub", {weight, step}, {}, Phase::kOptimizer);
      return;
    }
    const ValueId moment = AddParameter(
        "moments." + name, ShapeOf(weight),
        {.role = ParameterRole::kOptimizerState, .state_of = weight, .requires_grad = false});
    const ValueId rate = Number("rate." + name, 0.01);
    const ValueId momentum = Number("momentum." + name, 0.9);
    (void)Emit("ApplyMomentum", {weight, moment, rate, gradient, momentum}, {}, Phase::kOptimizer);
  }

  Drawn drawn_;
  Drawn strategies_;
  const JobShape& shape_;
  const JobConfig& config_;
  bool cut_;
  GraphBuilder builder_{"net"};
  std::int32_t stage_ = -1;
  std::string scope_ = "Default";
  std::int64_t part_ = 0;
  std::vector<std::pair<ValueId, std::int64_t>> history_ = {};  ///< And the part that makes it.
  std::vector<ValueId> weights_ = {};
  std::map<ValueId, std::int32_t> stages_of_ = {};  ///< The first that uses a shared weight.
  std::set<ValueId> shared_ = {};                   ///< Weights that several operators may use.
  std::vector<NdArray> parameters_ = {};
  std::vector<std::pair<Shape, std::int64_t>> inputs_ = {};  ///< Bound of indices, 0 = floats.
};

}  // namespace

RandomJob MakeRandomJob(std::uint32_t seed) {
  Drawn drawn(seed);
  const JobShape shape = DrawShape(drawn);
  RandomJob job{.config = DrawConfig(drawn, shape)};
  const std::uint64_t network = drawn.random()();
  JobMaker cut(network, shape, job.config, true);
  JobMaker whole(network, shape, job.config, false);
  job.cut = cut.Make();
  job.whole = whole.Make();
  for (const std::uint64_t step : {1, 2}) {
    job.steps.push_back(cut.Data(network + step));
    job.whole_steps.push_back(whole.Data(network + step));
  }
  job.how = HowText(shape, job.config);
  return job;
}

}  // namespace drydock::strategies
