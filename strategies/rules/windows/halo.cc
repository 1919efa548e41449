#include "strategies/rules/windows/halo.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::strategies {
namespace {

std::int64_t PartExtent(const HaloDim& dim) {
  return dim.extent / dim.parts;
}

/// Elements of part `part` inside the window of part `window`.
std::int64_t Overlap(const HaloDim& dim, std::int64_t part, std::int64_t window) {
  if (part < 0 || part >= dim.parts || window < 0 || window >= dim.parts) {
    return 0;
  }
  const std::int64_t begin = std::max(part * PartExtent(dim), dim.first + window * dim.step);
  const std::int64_t end =
      std::min((part + 1) * PartExtent(dim), dim.first + window * dim.step + dim.length);
  return std::max<std::int64_t>(0, end - begin);
}

/// Parts of a member, one per dimension of the plan: the last varies fastest.
std::vector<std::int64_t> PartsOf(const HaloPlan& plan, std::int64_t member) {
  std::vector<std::int64_t> parts(plan.dims.size(), 0);
  for (std::size_t i = plan.dims.size(); i-- > 0;) {
    parts[i] = member % plan.dims[i].parts;
    member /= plan.dims[i].parts;
  }
  return parts;
}

std::int64_t MemberOf(const HaloPlan& plan, const std::vector<std::int64_t>& parts) {
  std::int64_t member = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    member = member * plan.dims[i].parts + parts[i];
  }
  return member;
}

/// Calls f(member that owns the element, index in its part, element of `window`) for every element
/// of the window of `member` that lies inside the whole tensor.
template <typename F>
void ForEachInside(const HaloPlan& plan, std::int64_t member, const Shape& window, F f) {
  const std::vector<std::int64_t> own = PartsOf(plan, member);
  std::size_t n = 0;
  ForEachElement(window, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> source(index.begin(), index.end());
    std::vector<std::int64_t> owner = own;
    bool inside = true;
    for (std::size_t i = 0; i < plan.dims.size(); ++i) {
      const HaloDim& dim = plan.dims[i];
      const std::int64_t at = dim.first + own[i] * dim.step + index[dim.dim];
      inside = inside && at >= 0 && at < dim.extent;
      owner[i] = inside ? at / PartExtent(dim) : 0;
      source[dim.dim] = inside ? at % PartExtent(dim) : 0;
    }
    if (inside) {
      f(static_cast<std::size_t>(MemberOf(plan, owner)), std::span<const std::int64_t>(source), n);
    }
    ++n;
  });
}

Shape Resized(Shape shape, const HaloPlan& plan, bool to_window) {
  for (const HaloDim& dim : plan.dims) {
    shape[dim.dim] = to_window ? dim.length : PartExtent(dim);
  }
  return shape;
}

// ---- The two operators --------------------------------------------------------------------------

Result<std::vector<TensorType>> InferExchange(const OpView& op, bool to_window) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const HaloPlan plan, HaloPlanOf(*op.attrs));
  const Shape from = Resized(op.inputs[0].shape, plan, !to_window);
  for (const HaloDim& dim : plan.dims) {
    if (dim.dim >= op.inputs[0].shape.size()) {
      return FailOp(op, "rank",
                    "'" + std::string(op.op) + "' exchanges dimension " + std::to_string(dim.dim) +
                        " of a tensor of shape " + TupleText(op.inputs[0].shape));
    }
  }
  if (from != op.inputs[0].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes a part of shape " + TupleText(from) +
                      ", but the tensor has shape " + TupleText(op.inputs[0].shape));
  }
  return std::vector<TensorType>{
      {.shape = Resized(op.inputs[0].shape, plan, to_window), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<TensorType>> InferForward(const OpView& op) {
  return InferExchange(op, true);
}

Result<std::vector<TensorType>> InferBackward(const OpView& op) {
  return InferExchange(op, false);
}

Result<std::vector<ValueId>> GradientOfExchange(const GradientContext& context) {
  DRYDOCK_TRY(const HaloPlan plan, HaloPlanOf(context.node.attrs));
  if (!context.node.group.has_value()) {
    return Fail(ErrorCode::kInternal, "an exchange of border rows has no group");
  }
  DRYDOCK_TRY(const ValueId gradient,
              context.EmitCollective(ops::kNeighborExchangeGrad, OutputGradient(context),
                                     *context.node.group, HaloAttrs(plan)));
  return std::vector<ValueId>{gradient};
}

/// Rows of one member; at an edge there are fewer neighbours. Where the script chose the neighbours
/// all that is known is the payload.
SentBytes SentRowsOf(const CollectiveCall& call, ValueId part, bool backward) {
  const Result<HaloPlan> plan = HaloPlanOf(call.node.attrs);
  if (!plan) {
    return EachSends(ScaledUp(call.payload_bytes, call.group_size - 1, call.group_size));
  }
  const TensorType& type = call.graph.at(part).type;
  SentBytes sent;
  for (std::int64_t member = 0; member < call.group_size; ++member) {
    const std::int64_t bytes =
        HaloSentBytes(*plan, type.shape, DTypeBytes(type.dtype), member, backward);
    sent.most = member == 0 ? bytes : std::max(sent.most, bytes);
    sent.least = member == 0 ? bytes : std::min(sent.least, bytes);
  }
  return sent;
}

SentBytes SentForward(const CollectiveCall& call) {
  return SentRowsOf(call, call.node.inputs.front(), false);
}

SentBytes SentBackward(const CollectiveCall& call) {
  return SentRowsOf(call, call.node.outputs.front(), true);
}

Result<std::vector<NdArray>> RunForward(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const HaloPlan plan, HaloPlanOf(node.attrs));
  return HaloWindows(plan, inputs);
}

Result<std::vector<NdArray>> RunBackward(const Node& node, const std::vector<NdArray>& inputs) {
  DRYDOCK_TRY(const HaloPlan plan, HaloPlanOf(node.attrs));
  return HaloGradients(plan, inputs);
}

/// Neighbours and row counts of one rank instead of the description for all ranks.
template <bool backward>
void NameNeighbours(Node& node, std::span<const std::int64_t> ranks, std::int64_t member) {
  const Result<HaloPlan> plan = HaloPlanOf(node.attrs);
  if (!plan) {
    return;
  }
  for (const auto& [name, attr] : HaloAttrs(*plan)) {
    node.attrs.erase(name);
  }
  node.attrs.merge(HaloNeighbours(*plan, ranks, member, backward));
}

constexpr CollectiveFacts kExchangeFacts = {
    .sent = SentForward, .run = RunForward, .specialise = NameNeighbours<false>};
constexpr CollectiveFacts kExchangeGradFacts = {
    .sent = SentBackward, .run = RunBackward, .specialise = NameNeighbours<true>};

DRYDOCK_OP(NeighborExchangeV2, .family = "communication",
           .signature =
               "NeighborExchangeV2(send_rank_ids, send_lens, recv_rank_ids, recv_lens, "
               "data_format='NCHW', group='hccl_world_group')(x)",
           .kind = OpKind::kCollective, .infer = InferForward, .gradient = GradientOfExchange,
           .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kExchangeFacts);
DRYDOCK_OP(NeighborExchangeV2Grad, .family = "communication",
           .signature =
               "NeighborExchangeV2Grad(send_rank_ids, send_lens, recv_rank_ids, recv_lens, "
               "data_format='NCHW', group='hccl_world_group')(dy)",
           .kind = OpKind::kCollective, .infer = InferBackward, .gradient = GradientNotNeeded,
           .values = "-", .flops = NoFlops, .cost = CostFamily::kFree,
           .collective = &kExchangeGradFacts);

constexpr std::string_view kLists[] = {"halo_dims",  "halo_parts", "halo_extents",
                                       "halo_first", "halo_step",  "halo_length"};
constexpr std::string_view kFillLowest = "halo_fill_lowest";
constexpr std::size_t kMaxHaloDims = 2;

tl::unexpected<Error> FailPlan(std::string message) {
  return FailInput("NeighborExchangeV2:attribute", std::move(message));
}

}  // namespace

HaloLengths SentRows(const HaloDim& dim, std::int64_t part) {
  return {.before = Overlap(dim, part, part - 1), .after = Overlap(dim, part, part + 1)};
}

HaloLengths ReceivedRows(const HaloDim& dim, std::int64_t part) {
  return {.before = Overlap(dim, part - 1, part), .after = Overlap(dim, part + 1, part)};
}

bool IsNeighbourly(const HaloDim& dim) {
  for (std::int64_t part = 0; part < dim.parts; ++part) {
    const std::int64_t begin = dim.first + part * dim.step;
    const std::int64_t end = begin + dim.length;
    const std::int64_t own_begin = part * PartExtent(dim);
    const std::int64_t own_end = own_begin + PartExtent(dim);
    const std::int64_t before = own_begin - begin;
    const std::int64_t after = end - own_end;
    const bool fits_before = part == 0 || (before >= 0 && before <= PartExtent(dim));
    const bool fits_after = part + 1 == dim.parts || (after >= 0 && after <= PartExtent(dim));
    if (!fits_before || !fits_after || Overlap(dim, part, part) == 0) {
      return false;
    }
  }
  return true;
}

Result<HaloPlan> HaloPlanOf(const AttrMap& attrs) {
  if (!attrs.contains(kLists[0])) {
    return Fail(ErrorCode::kUnsupported,
                "an exchange between neighbours that the script chooses is not handled");
  }
  std::array<std::vector<std::int64_t>, std::size(kLists)> lists = {};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    DRYDOCK_TRY(auto list, IntListAttr(attrs, kLists[i]));
    lists[i] = list.value_or(std::vector<std::int64_t>());
    if (lists[i].size() != lists[0].size() || lists[i].empty() || lists[i].size() > kMaxHaloDims) {
      return FailPlan("the lists that describe an exchange of border rows have unequal lengths");
    }
  }
  HaloPlan plan = {};
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const HaloDim dim{.dim = static_cast<std::size_t>(lists[0][i]),
                      .parts = lists[1][i],
                      .extent = lists[2][i],
                      .first = lists[3][i],
                      .step = lists[4][i],
                      .length = lists[5][i]};
    if (lists[0][i] < 0 || dim.parts < 1 || dim.extent < 1 || dim.extent % dim.parts != 0 ||
        dim.length < 1 || !IsNeighbourly(dim)) {
      return FailPlan("an exchange of border rows reaches beyond the neighbours");
    }
    plan.dims.push_back(dim);
  }
  DRYDOCK_TRY(plan.fill_lowest, BoolAttr(attrs, kFillLowest, false));
  return plan;
}

AttrMap HaloAttrs(const HaloPlan& plan) {
  std::array<std::vector<std::int64_t>, std::size(kLists)> lists = {};
  for (const HaloDim& dim : plan.dims) {
    const std::int64_t values[] = {
        static_cast<std::int64_t>(dim.dim), dim.parts, dim.extent, dim.first, dim.step, dim.length};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      lists[i].push_back(values[i]);
    }
  }
  AttrMap attrs = {{std::string(kFillLowest), plan.fill_lowest}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    attrs[std::string(kLists[i])] = lists[i];
  }
  return attrs;
}

std::int64_t HaloSentBytes(const HaloPlan& plan, const Shape& part_shape,
                           std::int64_t element_bytes, std::int64_t member, bool backward) {
  const std::vector<std::int64_t> parts = PartsOf(plan, member);
  std::int64_t others = element_bytes;
  for (std::size_t d = 0; d < part_shape.size(); ++d) {
    const auto exchanged = std::ranges::find(plan.dims, d, &HaloDim::dim);
    others *= exchanged == plan.dims.end() ? part_shape[d] : 1;
  }
  std::int64_t all = 1;
  std::int64_t kept = 1;
  for (std::size_t i = 0; i < plan.dims.size(); ++i) {
    const HaloLengths lengths =
        backward ? ReceivedRows(plan.dims[i], parts[i]) : SentRows(plan.dims[i], parts[i]);
    const std::int64_t own = Overlap(plan.dims[i], parts[i], parts[i]);
    all *= lengths.before + own + lengths.after;
    kept *= own;
  }
  return (all - kept) * others;
}

AttrMap HaloNeighbours(const HaloPlan& plan, std::span<const std::int64_t> members,
                       std::int64_t member, bool backward) {
  // A plan of one dimension describes rows; the columns are then a single part.
  HaloPlan grid = plan;
  if (grid.dims.size() == 1) {
    grid.dims.push_back({});
  }
  const std::vector<std::int64_t> parts = PartsOf(grid, member);
  constexpr std::array<std::array<std::int64_t, 2>, 8> kClockwise = {
      {{-1, 0}, {-1, 1}, {0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}}};
  std::vector<std::int64_t> sends;
  std::vector<std::int64_t> receives;
  for (const auto& [row, column] : kClockwise) {
    const std::vector<std::int64_t> at = {parts[0] + row, parts[1] + column};
    bool sent = true;
    bool received = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      sent = sent && Overlap(grid.dims[i], parts[i], at[i]) > 0;
      received = received && Overlap(grid.dims[i], at[i], parts[i]) > 0;
    }
    const auto rank = [&](bool any) {
      return any ? members[static_cast<std::size_t>(MemberOf(grid, at))] : -1;
    };
    sends.push_back(rank(sent));
    receives.push_back(rank(received));
  }
  const auto lengths = [&](auto rows_of) {
    const HaloLengths rows = rows_of(grid.dims[0], parts[0]);
    const HaloLengths columns = rows_of(grid.dims[1], parts[1]);
    return std::vector<std::int64_t>{rows.before, rows.after, columns.before, columns.after};
  };
  std::vector<std::int64_t> send_lengths = lengths(SentRows);
  std::vector<std::int64_t> receive_lengths = lengths(ReceivedRows);
  if (backward) {
    std::swap(sends, receives);
    std::swap(send_lengths, receive_lengths);
  }
  return {{"send_rank_ids", sends},
          {"recv_rank_ids", receives},
          {"send_lens", send_lengths},
          {"recv_lens", receive_lengths}};
}

std::vector<NdArray> HaloWindows(const HaloPlan& plan, const std::vector<NdArray>& parts) {
  const double fill = plan.fill_lowest ? -std::numeric_limits<double>::infinity() : 0.0;
  std::vector<NdArray> windows;
  for (std::size_t member = 0; member < parts.size(); ++member) {
    NdArray window = FilledArray(Resized(parts[member].shape, plan, true), fill);
    ForEachInside(plan, static_cast<std::int64_t>(member), window.shape,
                  [&](std::size_t owner, std::span<const std::int64_t> index, std::size_t n) {
                    window.data[n] = parts[owner].data[OffsetOf(parts[owner].shape, index)];
                  });
    windows.push_back(std::move(window));
  }
  return windows;
}

std::vector<NdArray> HaloGradients(const HaloPlan& plan, const std::vector<NdArray>& windows) {
  std::vector<NdArray> parts;
  parts.reserve(windows.size());
  for (const NdArray& window : windows) {
    parts.push_back(FilledArray(Resized(window.shape, plan, false), 0.0));
  }
  for (std::size_t member = 0; member < windows.size(); ++member) {
    ForEachInside(plan, static_cast<std::int64_t>(member), windows[member].shape,
                  [&](std::size_t owner, std::span<const std::int64_t> index, std::size_t n) {
                    parts[owner].data[OffsetOf(parts[owner].shape, index)] +=
                        windows[member].data[n];
                  });
  }
  return parts;
}

Result<ValueId> EmitHaloExchange(const LocalizeContext& context, ValueId value,
                                 const HaloPlan& plan, std::span<const AxisIndex> axes) {
  return EmitGroupCollective(
      context, ops::kNeighborExchange, value, HaloAttrs(plan), HelperGroup(context, axes),
      CommReason::kRedistribution,
      "border rows that the neighbours of '" + std::string(context.global.op) + "' need");
}

}  // namespace drydock::strategies
