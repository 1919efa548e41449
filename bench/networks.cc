#include "bench/networks.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/builder.h"

namespace drydock::bench {
namespace {

using strategies::AttrMap;
using strategies::Graph;
using strategies::GraphBuilder;
using strategies::Shape;
using strategies::Strategy;

constexpr std::int64_t kTensorParallel = 8;
constexpr std::int64_t kSequence = 128;
constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kHidden = 2048;
constexpr std::int64_t kVocabulary = 32768;

/// Builds the step; strategies of operators that are not to have one are dropped in Emit.
class GptMaker {
 public:
  GptMaker(std::int64_t world_size, Sharding sharding)
      : replicas_(world_size / kTensorParallel), sharding_(sharding) {}

  Graph Make(std::int64_t layers) {
    const ValueId ids =
        builder_
            .AddInput("ids", {.shape = {replicas_ * kSequence}, .dtype = strategies::DType::kInt32})
            .value();
    ValueId x = Emit("Gather", {Weight("table", {kVocabulary, kHidden}), ids}, {{"axis", 0}},
                     {{1, 1}, {replicas_}});
    for (layer_ = 0; layer_ < layers; ++layer_) {
      scope_ = "Default/network-Gpt/layers-CellList/" + std::to_string(layer_) + "-Layer";
      x = FeedForward(Attention(x));
    }
    const ValueId loss =
        Emit("ReduceMean", {Norm(x, "final")}, {{"keep_dims", false}}, {{replicas_, 1}});
    Update(loss);
    return std::move(builder_).Take();
  }

 private:
  ValueId Weight(const std::string& name, const Shape& shape) {
    const std::string full_name = std::to_string(layer_) + "." + name;
    weights_.push_back(builder_.AddParameter(full_name, {.shape = shape}, {}).value());
    return weights_.back();
  }

  ValueId Emit(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs,
               const Strategy& strategy) {
    const Result<NodeId> id = builder_.AddNode(
        {.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs), .scope = scope_});
    if (!id) {
      std::fprintf(stderr, "%s\n", FormatError(id.error()).c_str());
    }
    DRYDOCK_CHECK(id.has_value());
    strategies::Node& node = builder_.mutable_graph().nodes[ToIndex(*id)];
    const bool given =
        sharding_ == Sharding::kEverywhere || (layer_ == 0 && op.ends_with("MatMul"));
    if (given && !strategy.empty()) {
      node.in_strategy = strategy;
    }
    return node.outputs.front();
  }

  ValueId Norm(ValueId x, const std::string& name) {
    return Emit("LayerNorm",
                {x, Weight(name + ".gamma", {kHidden}), Weight(name + ".beta", {kHidden})},
                {{"begin_norm_axis", 1}, {"begin_params_axis", 1}}, {{replicas_, 1}, {1}, {1}});
  }

  /// Product whose columns are cut over the tensor parallel ranks, and its bias.
  ValueId ColumnCut(ValueId x, const std::string& name, std::int64_t columns) {
    const ValueId product = Emit("MatMul", {x, Weight(name + ".weight", {kHidden, columns})}, {},
                                 {{replicas_, 1}, {1, kTensorParallel}});
    return Emit("BiasAdd", {product, Weight(name + ".bias", {columns})}, {},
                {{replicas_, kTensorParallel}, {kTensorParallel}});
  }

  /// Product whose contracted dimension is cut (partial sums), its bias, and the residual.
  ValueId RowCut(ValueId x, const std::string& name, std::int64_t rows, ValueId residual) {
    const ValueId product = Emit("MatMul", {x, Weight(name + ".weight", {rows, kHidden})}, {},
                                 {{replicas_, kTensorParallel}, {kTensorParallel, 1}});
    const ValueId biased =
        Emit("BiasAdd", {product, Weight(name + ".bias", {kHidden})}, {}, {{replicas_, 1}, {1}});
    return Emit("Add", {residual, biased}, {}, {{replicas_, 1}, {replicas_, 1}});
  }

  ValueId Heads(ValueId x, const std::string& name) {
    const ValueId y = Emit("Reshape", {ColumnCut(x, name, kHidden)},
                           {{"shape", Shape{replicas_, kSequence, kHeads, kHidden / kHeads}}}, {});
    return Emit("Transpose", {y}, {{"input_perm", Shape{0, 2, 1, 3}}},
                {{replicas_, 1, kTensorParallel, 1}});
  }

  ValueId Attention(ValueId x) {
    const std::vector<std::int64_t> heads = {replicas_, kTensorParallel, 1, 1};
    const ValueId normed = Norm(x, "norm1");
    const ValueId query = Heads(normed, "query");
    const ValueId key = Heads(normed, "key");
    const ValueId value = Heads(normed, "value");
    const ValueId scores =
        Emit("BatchMatMul", {query, key}, {{"transpose_b", true}}, {heads, heads});
    const ValueId activated = Emit("ReLU", {scores}, {}, {heads});
    const ValueId weights = Emit("Softmax", {activated}, {{"axis", Shape{-1}}}, {heads});
    const ValueId mixed = Emit("BatchMatMul", {weights, value}, {}, {heads, heads});
    const ValueId turned = Emit("Transpose", {mixed}, {{"input_perm", Shape{0, 2, 1, 3}}}, {heads});
    const ValueId rows =
        Emit("Reshape", {turned}, {{"shape", Shape{replicas_ * kSequence, kHidden}}}, {});
    return RowCut(rows, "projection", kHidden, x);
  }

  ValueId FeedForward(ValueId x) {
    const ValueId wide = ColumnCut(Norm(x, "norm2"), "mapping", 4 * kHidden);
    const ValueId active = Emit("GeLU", {wide}, {}, {{replicas_, kTensorParallel}});
    return RowCut(active, "contraction", 4 * kHidden, x);
  }

  void Update(ValueId loss) {
    std::vector<ValueId> operands = {loss};
    operands.insert(operands.end(), weights_.begin(), weights_.end());
    const NodeId gradient =
        builder_.AddNode({.op = "_Gradient", .inputs = operands, .scope = "Default"}).value();
    const std::vector<ValueId> gradients = builder_.graph().at(gradient).outputs;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      DRYDOCK_CHECK(builder_
                        .AddNode({.op = "AssignSub",
                                  .inputs = {weights_[i], gradients[i]},
                                  .scope = "Default/optimizer-Plain",
                                  .phase = strategies::Phase::kOptimizer})
                        .has_value());
    }
    builder_.SetOutputs({loss});
  }

  GraphBuilder builder_{"Gpt"};
  std::int64_t replicas_ = 1;
  Sharding sharding_ = Sharding::kEverywhere;
  std::int64_t layer_ = 0;
  std::string scope_ = "Default/network-Gpt";
  std::vector<ValueId> weights_;
};

}  // namespace

strategies::Graph GptStep(std::int64_t layers, std::int64_t world_size, Sharding sharding) {
  return GptMaker(world_size, sharding).Make(layers);
}

strategies::JobConfig GptJob(std::int64_t world_size, Sharding sharding) {
  strategies::JobConfig job = {.world_size = world_size,
                               .mode = strategies::ParallelMode::kSemiAutoParallel};
  if (sharding == Sharding::kMatMulsOnly) {
    job.mode = strategies::ParallelMode::kAutoParallel;
    job.search_mode = strategies::SearchMode::kShardingPropagation;
    job.fully_use_devices = true;
  }
  return job;
}

strategies::Graph QuickStartStep() {
  GraphBuilder builder("Net");
  const ValueId x = builder.AddInput("input", {.shape = {16, 32}}).value();
  const ValueId label = builder.AddInput("label", {.shape = {16, 16}}).value();
  const ValueId w = builder.AddParameter("w", {.shape = {32, 16}}, {}).value();
  const ValueId w2 = builder.AddParameter("w2", {.shape = {16, 16}}, {}).value();
  const ValueId product = builder.Emit({.op = "MatMul", .inputs = {x, w}}).value();
  builder.mutable_graph().nodes.front().in_strategy = Strategy{{2, 4}, {4, 1}};
  const ValueId hidden = builder.Emit({.op = "ReLU", .inputs = {product}}).value();
  const ValueId out = builder.Emit({.op = "MatMul", .inputs = {hidden, w2}}).value();
  const ValueId difference = builder.Emit({.op = "Sub", .inputs = {out, label}}).value();
  const ValueId square = builder.Emit({.op = "Square", .inputs = {difference}}).value();
  const ValueId loss = builder.Emit({.op = "ReduceMean", .inputs = {square}}).value();
  const NodeId gradient = builder.AddNode({.op = "_Gradient", .inputs = {loss, w, w2}}).value();
  const std::vector<ValueId> gradients = builder.graph().at(gradient).outputs;
  builder.SetOutputs({loss, gradients[0], gradients[1]});
  return std::move(builder).Take();
}

strategies::JobConfig QuickStartJob() {
  return {.world_size = 8,
          .mode = strategies::ParallelMode::kAutoParallel,
          .search_mode = strategies::SearchMode::kShardingPropagation,
          .fully_use_devices = true};
}

}  // namespace drydock::bench
