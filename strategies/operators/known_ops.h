#pragma once

#include <string_view>

/// Names of the operators that the compiler itself inserts. No other file
/// outside strategies/rules writes an operator's name; everything else asks the entry.
namespace drydock::strategies::ops {

inline constexpr std::string_view kAllReduce = "AllReduce";
inline constexpr std::string_view kAllGather = "AllGather";
inline constexpr std::string_view kReduceScatter = "ReduceScatter";
inline constexpr std::string_view kAlltoAll = "AlltoAll";
inline constexpr std::string_view kNeighborExchange = "NeighborExchangeV2";
inline constexpr std::string_view kNeighborExchangeGrad = "NeighborExchangeV2Grad";
inline constexpr std::string_view kRingShift = "NeighborExchange";
inline constexpr std::string_view kStageTransfer = "_StageTransfer";
inline constexpr std::string_view kSend = "Send";
inline constexpr std::string_view kReceive = "Receive";
inline constexpr std::string_view kJoinSends = "_JoinSends";
inline constexpr std::string_view kDepend = "Depend";
inline constexpr std::string_view kStridedSlice = "StridedSlice";
inline constexpr std::string_view kSplit = "Split";
inline constexpr std::string_view kConcat = "Concat";
inline constexpr std::string_view kReshape = "Reshape";
inline constexpr std::string_view kCast = "Cast";
inline constexpr std::string_view kAdd = "Add";
inline constexpr std::string_view kAddN = "AddN";
inline constexpr std::string_view kMul = "Mul";
inline constexpr std::string_view kRealDiv = "RealDiv";
inline constexpr std::string_view kReduceSum = "ReduceSum";
inline constexpr std::string_view kSumExt = "SumExt";
inline constexpr std::string_view kMirror = "_MirrorOperator";
/// In front of a weight and of each of its users where gradients are accumulated.
inline constexpr std::string_view kMirrorMicroStep = "_MirrorMicroStepOperator";
inline constexpr std::string_view kVirtualAssignAdd = "_VirtualAssignAdd";
/// In front of the users of a weight whose gradient is the sum over all micro batches.
inline constexpr std::string_view kVirtualMicroJoin = "_VirtualMicroJoin";
inline constexpr std::string_view kVirtualDiv = "_VirtualDiv";
inline constexpr std::string_view kVirtualDataset = "_VirtualDataset";
inline constexpr std::string_view kVirtualOutput = "_VirtualOutput";
inline constexpr std::string_view kOnesLike = "OnesLike";
inline constexpr std::string_view kZerosLike = "ZerosLike";
inline constexpr std::string_view kGetNext = "GetNext";
inline constexpr std::string_view kBatchParallel = "BatchParallel";
inline constexpr std::string_view kStandAlone = "StandAlone";
inline constexpr std::string_view kSelfDefineShard = "SelfDefineShard";

}  // namespace drydock::strategies::ops

namespace drydock::strategies {

/// Attribute of transfers between stages that pass a weight, or its gradient: once a step.
inline constexpr std::string_view kPassesWeight = "parameter";
/// Attributes of transfers: how many ranks further the other end is, and which of its transfers.
inline constexpr std::string_view kRankDistance = "rank_distance";
inline constexpr std::string_view kTransferTag = "sr_tag";
/// Attributes of transfers: which part of their stages gives and which wants the tensor.
inline constexpr std::string_view kFromPart = "from_part";
inline constexpr std::string_view kToPart = "to_part";
/// Attribute of mirrors whose gradient goes back to another stage as it is.
inline constexpr std::string_view kSentBack = "sent_back";
/// Attribute of the node that joins a gradient and what a pipeline stage sends back.
inline constexpr std::string_view kJoinsSends = "joins_sends";

/// Attribute of local nodes that run when the step is done, in their order; nothing waits for them.
inline constexpr std::string_view kAfterStep = "after_step";
/// Attribute of uses of a weight whose gradients are added up before the derivative of its cast.
inline constexpr std::string_view kAddsBeforeCast = "before_cast";
/// Attribute of mirrors whose sum over micro batches goes to a sharded optimizer as it is.
inline constexpr std::string_view kHandsOver = "hands_over";
/// Attribute of nodes behind the optimizer that clear what is accumulated for the next step.
inline constexpr std::string_view kClears = "clear_grad";
/// Attribute of the first node that has a parameter, and of those that are its gradient: with them
/// a micro batch ends.
inline constexpr std::string_view kFirstParameterUser = "first_parameter_cnode";
inline constexpr std::string_view kEndsMicroBatch = "grad_accu_backward_end";

/// Attribute of collectives that run for each micro batch though their operands are those of all,
/// and of what writes a parameter in each.
inline constexpr std::string_view kEachMicroBatch = "each_micro_batch";

/// Attribute of local nodes that are second runs of forward nodes.
inline constexpr std::string_view kDuplicated = "duplicated";
/// Attribute of local nodes that run though nobody reads their results.
inline constexpr std::string_view kRunsUnread = "runs_unread";
/// Attribute of nodes that a cell gives as its own backward pass: which of them this is.
inline constexpr std::string_view kOwnBackward = "own_backward";
inline constexpr std::string_view kOwnBegins = "begins";
inline constexpr std::string_view kOwnEnds = "ends";

/// Attribute of nodes of an optimizer that only one side of a branch on a tensor's value runs.
inline constexpr std::string_view kConditional = "conditional";
/// Attribute of nodes whose result decides such a branch.
inline constexpr std::string_view kDecides = "decides_branch";
/// Attribute of nodes that select between the sides of another such branch.
inline constexpr std::string_view kSelectsSide = "selects_side";

/// Attribute of local nodes that hold a second run back until gradients are there.
inline constexpr std::string_view kRecomputeDepend = "recompute_depend";

/// Attribute of nodes, true or false: they run a second time in backward, or never. Without it the
/// scope decides (passes/backward/recompute_blocks.h).
inline constexpr std::string_view kRecompute = "recompute";
/// The same of the communication that completes a node's result or brings it to its users.
inline constexpr std::string_view kRecomputeCommunication = "recompute_comm_op";

}  // namespace drydock::strategies
