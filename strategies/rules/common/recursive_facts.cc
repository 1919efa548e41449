#include "strategies/operators/recursive_facts.h"

#include <array>
#include <cstddef>
#include <string_view>

/// Which operators the recursive search cuts, and how all others follow.
///
/// The search knows operators by name, in lists of its own: an operator that is in none is never
/// cut by it, even if it has a rule (SumExt, Dense, SwiGLU). The lists are facts about MindSpore's
/// search and not about the operators, therefore they stand here together.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_parse_graph.h (DictOpType,
/// EliminateOpType), rec_generate_strategy.cc (g_prepare_stra_map)
namespace drydock::strategies {
namespace {

struct Row {
  RecursiveFacts facts = {};
  std::string_view names = {};
};

constexpr RecursiveRole kFollower = RecursiveRole::kFollower;

constexpr std::array kRows = {
    Row{{RecursiveRole::kMatMul, FollowForm::kPlain}, "MatMul"},
    Row{{RecursiveRole::kConvolution, FollowForm::kPlain}, "Conv2D,Conv2DTranspose"},
    Row{{RecursiveRole::kPooling, FollowForm::kPlain},
        "MaxPool,MaxPoolV2,Pooling,MaxPoolWithArgmax,SimpleMean"},
    Row{{RecursiveRole::kBatch, FollowForm::kPlain}, "BatchNorm,PReLU"},
    Row{{RecursiveRole::kVirtual, FollowForm::kPlain}, "_VirtualOutput"},
    Row{{RecursiveRole::kBatch, FollowForm::kWholeBatch},
        "SparseSoftmaxCrossEntropyWithLogits,UnsortedSegmentSum,UnsortedSegmentMax,"
        "UnsortedSegmentMin"},
    Row{{RecursiveRole::kCrossEntropy, FollowForm::kPlain}, "SoftmaxCrossEntropyWithLogits"},
    Row{{kFollower, FollowForm::kBatchMatMul}, "BatchMatMul"},
    Row{{kFollower, FollowForm::kReshape}, "Reshape"},
    Row{{kFollower, FollowForm::kFlatten}, "Flatten"},
    Row{{kFollower, FollowForm::kBiasAdd}, "BiasAdd"},
    Row{{kFollower, FollowForm::kLayerNorm}, "LayerNorm"},
    Row{{kFollower, FollowForm::kRmsNorm}, "RmsNorm"},
    Row{{kFollower, FollowForm::kOneHot}, "OneHot"},
    Row{{kFollower, FollowForm::kSqueeze}, "Squeeze"},
    Row{{kFollower, FollowForm::kReduce}, "ReduceSum,ReduceMax,ReduceMin,ReduceMean"},
    Row{{kFollower, FollowForm::kGather}, "Gather"},
    Row{{kFollower, FollowForm::kExpandDims}, "ExpandDims"},
    Row{{kFollower, FollowForm::kStridedSlice}, "StridedSlice"},
    Row{{kFollower, FollowForm::kArgument}, "ArgMaxWithValue,ArgMinWithValue"},
    Row{{kFollower, FollowForm::kTranspose}, "Transpose"},
    Row{{kFollower, FollowForm::kL2Normalize}, "L2Normalize"},
    Row{{kFollower, FollowForm::kArithmetic}, "Add,Sub,Mul"},
    Row{{kFollower, FollowForm::kBroadcast}, "Div"},
    Row{{kFollower, FollowForm::kSoftmax}, "Softmax,LogSoftmax"},
    Row{{kFollower, FollowForm::kCumulative}, "CumSum"},
    Row{{kFollower, FollowForm::kFill}, "FillV2"},
    Row{{kFollower, FollowForm::kFirstOperand}, "DropoutDoMask"},
    Row{{kFollower, FollowForm::kWholeBatch}, "GatherD"},
    Row{{kFollower, FollowForm::kAttention}, "FlashAttentionScore"},
    Row{{kFollower, FollowForm::kAssign}, "Assign"},
    Row{{kFollower, FollowForm::kPlain},
        "Cast,Activation,ReLU,SiLU,ReLU6,Sigmoid,SigmoidCrossEntropyWithLogits,HSigmoid,GeLU,"
        "FastGeLU,Tanh,Softplus,Softsign,Split,TensorDot,RealDiv,Hypot,Igamma,Igammac,LeftShift,"
        "RightShift,NextAfter,Zeta,Gcd,ReverseV2,Cholesky,PadV3,Sqrt,Neg,Pow,Exp,Log,Cos,Lgamma,"
        "Trunc,ACos,Asin,Asinh,Atan,Atanh,Expm1,Log1p,LogicalNot,LogicalAnd,LogicalOr,Square,Abs,"
        "Acosh,AddN,AccumulateNV2,Atan2,Elu,Erf,Erfc,Mod,Floor,Ceil,FloorDiv,FloorMod,Greater,"
        "GreaterEqual,HSwish,Less,LessEqual,Maximum,Minimum,Equal,NotEqual,ApproximateEqual,Inv,"
        "BesselI0e,BesselI1e,BesselI0,BesselI1,BesselJ0,BesselJ1,ZerosLike,OnesLike,DivNoNan,"
        "Reciprocal,Round,Rsqrt,Sign,Sin,Sinh,Tan,AssignAdd,AssignSub,Dropout,Stack,Select,Concat,"
        "Tile,MaskedFill,ScatterUpdate,KVCacheMgr"},
};

/// True if the comma separated list has the name.
bool Names(std::string_view list, std::string_view name) {
  for (std::size_t at = list.find(name); at != std::string_view::npos;
       at = list.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || list[at - 1] == ',') && (end == list.size() || list[end] == ',')) {
      return true;
    }
  }
  return false;
}

}  // namespace

RecursiveFacts RecursiveFactsOf(const OpEntry& entry) {
  if (entry.kind == OpKind::kDataset) {
    return {.role = RecursiveRole::kVirtual, .form = FollowForm::kWholeBatch};
  }
  for (const Row& row : kRows) {
    if (Names(row.names, entry.name)) {
      return row.facts;
    }
  }
  return {};
}

bool ComesInFront(const OpEntry& entry) {
  return entry.is_cast || entry.name.find("ReLU") != std::string_view::npos;
}

}  // namespace drydock::strategies
