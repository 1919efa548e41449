#include "strategies/operators/kernel_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "strategies/graph/kept_constant.h"
#include "strategies/operators/op_entry.h"

/// Lowering of one operator: what MindSpore's back end launches for it.
///
/// An operator of the local program is most often one kernel of the same name. What the script gave
/// as attributes (transpose_b=True) are operands of the kernel there, each a constant with a block
/// of device memory of its own, which is why they are kept here.
/// Source: mindspore/ccsrc/backend/common/graph_kernel, mindspore/ops/op_def/yaml.
namespace drydock::strategies {
namespace {

/// Larger numbers are floats also if they are whole.
constexpr double kLargestWhole = 1e9;

}  // namespace

KernelId KernelBuilder::Add(KernelNode node) {
  node.origin = origin_;
  graph_.nodes.push_back(std::move(node));
  return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
}

KernelId KernelBuilder::AddLeaf(KernelKind kind, std::string name, TensorType type, ValueId value) {
  return Add({.kind = kind,
              .name = std::move(name),
              .results = {{.type = std::move(type), .value = value}}});
}

KernelId KernelBuilder::Constant(TensorType type, std::string text) {
  if (text.empty()) {
    const KernelId own = AddLeaf(KernelKind::kConstant, std::move(text), std::move(type));
    graph_.at(own).micro_use = MicroUse::kEach;
    return own;
  }
  std::string key = TypeText(type) + " " + text;
  const auto known = constants_.find(key);
  if (known != constants_.end()) {
    return known->second;
  }
  const KernelId id = AddLeaf(KernelKind::kConstant, std::move(text), std::move(type));
  constants_.emplace(std::move(key), id);
  return id;
}

KernelId KernelBuilder::Argument(const Attr& value) {
  DType dtype = DType::kInt64;
  std::int64_t count = -1;
  if (std::holds_alternative<bool>(value.value)) {
    dtype = DType::kBool;
  } else if (const auto* number = std::get_if<double>(&value.value)) {
    // Exponents and factors that are whole are integers there, and share the constant of other
    // ones.
    if (*number == std::trunc(*number) && std::abs(*number) < kLargestWhole) {
      return Argument(Attr(static_cast<std::int64_t>(*number)));
    }
    dtype = DType::kFloat32;
  } else if (const auto* list = std::get_if<Attr::List>(&value.value)) {
    count = std::ssize(*list);
  } else if (const auto* text = std::get_if<std::string>(&value.value)) {
    dtype = DType::kUInt8;
    count = std::ssize(*text);
  }
  // What depends on the rank is that of the first one, which may equal other constants.
  return Constant({.shape = count < 0 ? Shape{} : Shape{count}, .dtype = dtype},
                  AttrText(ResolveAttr(value, 0)));
}

KernelId KernelBuilder::Kernel(KernelSpec spec) {
  KernelNode node{.kind = KernelKind::kKernel,
                  .view = spec.view,
                  .micro_use = spec.micro_use,
                  .name = std::string(spec.name),
                  .inputs = std::move(spec.inputs)};
  if (const OpEntry* entry = FindOp(spec.name)) {
    node.runs_late = entry->runs_late;
    node.view = node.view || entry->kind == OpKind::kView || entry->kind == OpKind::kReshape;
  }
  std::vector<KernelResult> results;
  for (std::size_t i = 0; i < spec.results.size(); ++i) {
    results.push_back({.type = std::move(spec.results[i]),
                       .shares = i < spec.shares.size() ? spec.shares[i] : -1});
  }
  node.results = std::move(results);
  return Add(std::move(node));
}

KernelId KernelBuilder::Once(std::string_view what, std::vector<KernelId> operands,
                             const std::function<KernelId()>& make) {
  std::pair<std::string, std::vector<KernelId>> key(what, std::move(operands));
  const auto known = made_.find(key);
  if (known != made_.end()) {
    return known->second;
  }
  const KernelId id = make();
  made_.emplace(std::move(key), id);
  return id;
}

void KernelBuilder::SetCopies(std::vector<KernelId> kernels) {
  const KernelId first = kernels.front();
  copies_[first] = std::move(kernels);
}

std::vector<KernelId> KernelBuilder::Results(KernelId kernel) {
  const std::size_t count = graph_.at(kernel).results.size();
  if (count == 1) {
    return {kernel};
  }
  std::vector<KernelId> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(Virtual(KernelKind::kTupleGetItem, {kernel}, static_cast<std::int32_t>(i)));
  }
  return items;
}

void KernelBuilder::NoteResults(std::span<const KernelId> items) {
  of_operators_.insert(items.begin(), items.end());
}

KernelId KernelBuilder::Virtual(KernelKind kind, std::vector<KernelId> inputs, std::int32_t item) {
  return Add({.kind = kind, .item = item, .inputs = std::move(inputs)});
}

const TensorType& KernelBuilder::TypeOf(KernelId id) const {
  const KernelNode* node = &graph_.at(id);
  std::size_t item = 0;
  while (node->results.empty()) {
    const bool member = node->kind == KernelKind::kMakeTuple;
    const KernelId from = node->inputs[member ? item : 0];
    if (member || node->kind == KernelKind::kTupleGetItem) {
      item = member ? 0 : static_cast<std::size_t>(node->item);
    }
    node = &graph_.at(from);
  }
  return node->results[item].type;
}

std::int32_t SharedOperand(const Node& node, std::size_t index) {
  const OpKind kind = node.entry->kind;
  const bool view =
      kind == OpKind::kView || kind == OpKind::kReshape || kind == OpKind::kNoGradient;
  std::size_t operand = node.inputs.size();
  if (view && index < node.inputs.size()) {
    operand = index;
  } else if (kind == OpKind::kUpdate || !node.entry->writes.empty()) {
    const std::vector<std::size_t> written = WrittenOperands(*node.entry);
    operand = index < written.size() ? written[index] : 0;
  }
  return operand < node.inputs.size() && node.inputs[operand] != kNoValue
             ? static_cast<std::int32_t>(operand)
             : -1;
}

std::vector<KernelId> LowerTo(const LowerContext& context, std::string_view name,
                              std::vector<KernelId> arguments) {
  KernelSpec spec{.name = name};
  std::vector<std::int32_t> position(context.inputs.size(), -1);
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    if (context.inputs[i] != kNoKernel) {
      position[i] = static_cast<std::int32_t>(spec.inputs.size());
      spec.inputs.push_back(context.inputs[i]);
    }
  }
  spec.inputs.insert(spec.inputs.end(), arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    spec.results.push_back(context.OutputType(i));
    const std::int32_t operand = SharedOperand(context.node, i);
    spec.shares.push_back(operand < 0 ? -1 : position[static_cast<std::size_t>(operand)]);
  }
  std::vector<KernelId> results = context.builder.Results(context.builder.Kernel(std::move(spec)));
  const bool taken_apart_late = !context.node.entry->writes.empty() || context.node.group;
  if (results.size() > 1 && !taken_apart_late) {
    context.builder.NoteResults(results);
  }
  return results;
}

Result<std::vector<KernelId>> LowerToOperand(const LowerContext& context) {
  return std::vector<KernelId>(context.node.outputs.size(), context.inputs.front());
}

namespace {

/// "a,b" -> {"a", "b"}; "-" and "" -> {}.
std::vector<std::string> NamesIn(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty() && list != "-") {
    const std::size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return names;
}

bool IsEmptyList(const Attr& value) {
  const auto* const list = std::get_if<Attr::List>(&value.value);
  return list != nullptr && list->empty();
}

/// The attribute of the node, else the default of the signature; none where neither is known.
void AddArgument(const LowerContext& context, const SignatureArgument& argument,
                 std::vector<KernelId>& arguments) {
  const auto given = context.node.attrs.find(argument.name);
  const Attr* const value = given != context.node.attrs.end() ? &given->second
                            : argument.default_value          ? &*argument.default_value
                                                              : nullptr;
  if (value != nullptr && !IsNone(*value) && !IsEmptyList(*value)) {  // Which take no memory.
    const KernelId shared = context.builder.Argument(*value);
    const bool own = context.node.attrs.contains(kOwnConstants);
    arguments.push_back(own ? context.builder.Constant(context.builder.TypeOf(shared), "")
                            : shared);
  }
}

}  // namespace

const std::vector<SignatureArgument>& KernelBuilder::ArgumentsOf(const OpEntry& entry) {
  const auto [place, is_new] = arguments_.try_emplace(&entry);
  std::vector<SignatureArgument>& list = place->second;
  if (!is_new) {
    return list;
  }
  const OpSignature signature = ParseSignature(entry.signature);
  std::vector<SignatureArgument> known = signature.constructor;
  known.insert(known.end(), signature.call.begin(), signature.call.end());
  std::erase_if(known, [](const SignatureArgument& argument) {
    return argument.kind != ArgumentKind::kAttribute;
  });
  if (entry.values.empty()) {
    list = std::move(known);
    return list;
  }
  for (const std::string& name : NamesIn(entry.values)) {
    const auto found = std::ranges::find(known, name, &SignatureArgument::name);
    list.push_back(found == known.end() ? SignatureArgument{.name = name} : *found);
  }
  return list;
}

Result<std::vector<KernelId>> LowerByDefault(const LowerContext& context) {
  std::vector<KernelId> arguments;
  for (const SignatureArgument& argument : context.builder.ArgumentsOf(*context.node.entry)) {
    AddArgument(context, argument, arguments);
  }
  return LowerTo(context, context.node.op, std::move(arguments));
}

}  // namespace drydock::strategies
