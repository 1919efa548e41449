#include "sim/tracer/compile_answer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "sim/tracer/graph_listing.h"
#include "strategies/document/json_fields.h"
#include "strategies/layout/group_name.h"
#include "strategies/layout/rank_pattern.h"
#include "strategies/operators/collective_facts.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/prepare/rewrite.h"

namespace drydock::sim {
namespace {

using strategies::AppendJsonInts;
using strategies::AppendJsonItem;
using strategies::AppendJsonText;
using strategies::LocalProgram;
using strategies::TensorLayout;

/// Fields of an object in the order of their names, each with its JSON text.
using Fields = std::map<std::string, std::string>;

std::string ObjectText(const Fields& fields) {
  std::string text = "{";
  for (const auto& [name, value] : fields) {
    strategies::AppendJsonField(text, name);
    text += value;
  }
  return text + "}";
}

template <typename Texts>
std::string ListText(const Texts& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    AppendJsonItem(list);
    AppendJsonText(list, text);
  }
  return list + "]";
}

/// One number per dimension, -1 where it is not cut; a list where several axes cut it.
void AppendTensorMap(std::string& out, const TensorLayout& layout) {
  out += '[';
  for (const std::vector<std::int64_t>& axes : layout.tensor_map) {
    AppendJsonItem(out);
    if (axes.size() > 1) {
      AppendJsonInts(out, axes);
    } else {
      out += std::to_string(axes.empty() ? -1 : axes.front());
    }
  }
  out += ']';
}

std::string LayoutText(const TensorLayout& layout, const strategies::Shape& stored,
                       bool uniform = true, const std::string& group = "") {
  const TensorLayout standard = strategies::Standardize(layout);
  std::string text = "[";
  AppendJsonInts(text, standard.device_matrix);
  text += ',';
  AppendTensorMap(text, standard);
  text += ',';
  AppendJsonInts(text, stored);
  text += uniform ? ",0,true," : ",0,false,";
  AppendJsonText(text, group);
  text += ',';
  AppendJsonInts(text, layout.shape);
  return text + "]";
}

/// The parameters that a collective is for: several if it is fused.
std::vector<std::string> ParametersOf(const strategies::Node& node) {
  const auto found = node.attrs.find("parameter");
  std::vector<std::string> names = {};
  if (found == node.attrs.end()) {
    return names;
  }
  if (const auto* text = std::get_if<std::string>(&found->second.value)) {
    names.push_back(*text);
  } else if (const auto* list = std::get_if<strategies::Attr::List>(&found->second.value)) {
    for (const strategies::Attr& one : *list) {
      if (const auto* name = std::get_if<std::string>(&one.value)) {
        names.push_back(*name);
      }
    }
  }
  return names;
}

/// The AllGather that makes a weight whole from the shards of the optimizer, by the weight's name.
std::map<std::string, const strategies::Node*> GathersOfShards(const LocalProgram& program) {
  std::map<std::string, const strategies::Node*> gathers;
  for (const strategies::Node& node : program.local.nodes) {
    if (node.reason == strategies::CommReason::kOptimizerShard && node.group &&
        node.phase == strategies::Phase::kForward) {
      for (const std::string& name : ParametersOf(node)) {
        gathers.emplace(name, &node);
      }
    }
  }
  return gathers;
}

/// The layout without the innermost cuts of its rows: those over the shards of the optimizer.
TensorLayout WithoutShards(TensorLayout layout, std::int64_t shards) {
  std::vector<std::int64_t>& rows = layout.tensor_map.front();
  while (shards > 1 && !rows.empty()) {
    shards /=
        layout
            .device_matrix[layout.device_matrix.size() - 1 - static_cast<std::size_t>(rows.back())];
    rows.pop_back();
  }
  return layout;
}

/// As MindSpore tells it: how the weight is cut, and in which group the optimizer shards it.
std::string ShardedLayoutText(const LocalProgram& program, const TensorLayout& stored,
                              const strategies::Node& gather, RankId rank) {
  const strategies::JobConfig& config = program.from->config;
  const strategies::GroupPlace place =
      strategies::PlaceIn(*gather.group, ToInt(rank), strategies::StageDevices(config));
  const std::vector<std::int64_t> ranks =
      strategies::GroupRanks(*gather.group, place.position, place.begin);
  const TensorLayout cut = WithoutShards(stored, static_cast<std::int64_t>(ranks.size()));
  return LayoutText(
      cut, strategies::SliceShape(cut), true,
      strategies::GroupName(ranks, config.world_size, strategies::BackendName(config)));
}

/// True for parameters of which every rank has a part of its own length.
bool IsCutByHand(const LocalProgram& program, const std::string& parameter) {
  return std::ranges::any_of(program.from->hand_cuts, [&parameter](const strategies::HandCut& cut) {
    return std::ranges::find(cut.parameters, parameter) != cut.parameters.end();
  });
}

std::string Layouts(const LocalProgram& program, RankId rank) {
  Fields layouts;
  const std::map<std::string, const strategies::Node*> gathers = GathersOfShards(program);
  const strategies::Graph& local = program.local;
  for (std::size_t p = 0; p < local.parameters.size(); ++p) {
    const strategies::Value& value = local.at(local.parameters[p].value);
    if (const auto gather = gathers.find(value.name); gather != gathers.end()) {
      layouts[value.name] =
          ShardedLayoutText(program, program.parameter_layouts[p], *gather->second, rank);
      continue;
    }
    layouts[value.name] = LayoutText(program.parameter_layouts[p], value.type.shape,
                                     !IsCutByHand(program, value.name));
  }
  const bool cuts = strategies::CutsOperators(program.from->config.mode);
  for (std::size_t n = 0; cuts && n < program.from->traced.nodes.size(); ++n) {
    const strategies::Node& node = program.from->traced.nodes[n];
    if (node.entry == nullptr || node.entry->kind != strategies::OpKind::kDataset ||
        !program.from->plans[n].sharding) {
      continue;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorLayout& layout = program.from->plans[n].sharding->inputs[i];
      layouts[program.from->traced.at(node.inputs[i]).name] =
          LayoutText(layout, strategies::SliceShape(layout));
    }
  }
  return ObjectText(layouts);
}

/// Number of the fused AllReduce that sums the gradients of a parameter, by its name.
std::string Fusions(const LocalProgram& program) {
  Fields fusions;
  for (const strategies::Node& node : program.local.nodes) {
    if (!strategies::ReducesToAll(node)) {
      continue;
    }
    for (const std::string& name : ParametersOf(node)) {
      fusions[name] = std::to_string(strategies::IntAttr(node.attrs, "fusion", 0).value_or(0));
    }
  }
  return ObjectText(fusions);
}

/// Strategies by full name; a strategy that was given is told as it was given, with its entries for
/// arguments that are no tensors.
std::string Strategies(const LocalProgram& program) {
  Fields strategies;
  const std::vector<std::string> names = strategies::FullNames(program.from->traced);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const strategies::NodePlan& plan = program.from->plans[n];
    const auto& given = program.from->traced.nodes[n].in_strategy;
    if (plan.sharding && !plan.sharding->strategy.empty()) {
      const bool as_given = plan.source == strategies::StrategySource::kUser && given;
      std::string cuts;
      strategies::AppendJsonIntLists(cuts, as_given ? *given : plan.sharding->strategy);
      strategies[names[n]] = std::move(cuts);
    }
  }
  return ObjectText(strategies);
}

/// Operators that were compiled without a rule, each once.
std::string OperatorsWithoutRule(const LocalProgram& program) {
  std::set<std::string> names;
  for (std::size_t n = 0; n < program.from->plans.size(); ++n) {
    if (program.from->plans[n].source == strategies::StrategySource::kFallback) {
      names.insert(program.from->traced.nodes[n].op);
    }
  }
  return ListText(names);
}

/// "((8, 1), (8))": a tuple of one is written without its comma there.
std::string TupleOfOneText(std::string text) {
  for (std::size_t at = text.find(",)"); at != std::string::npos; at = text.find(",)", at)) {
    text.erase(at, 1);
  }
  return text;
}

/// Operators that were cut by default say how: attribute gen_strategy.
/// Source: mindspore ops_info/operator_info.cc (GenerateBatchStrategies).
void NoteDefaults(const LocalProgram& program, strategies::Graph& local) {
  for (strategies::Node& node : local.nodes) {
    if (node.origin == strategies::kNoNode) {
      continue;
    }
    const strategies::NodePlan& plan = program.from->plans[ToIndex(node.origin)];
    const bool own = node.entry == program.from->traced.at(node.origin).entry;
    if (own && plan.source == strategies::StrategySource::kDefault && plan.sharding) {
      node.attrs["gen_strategy"] =
          strategies::Attr(TupleOfOneText(StrategyText(plan.sharding->strategy)));
    }
  }
}

/// Slice shape times cuts must give the shape.
std::string Violations(const LocalProgram& program) {
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < program.from->plans.size(); ++n) {
    const auto& sharding = program.from->plans[n].sharding;
    if (!sharding) {
      continue;
    }
    for (const std::vector<TensorLayout>* layouts : {&sharding->inputs, &sharding->outputs}) {
      for (const TensorLayout& layout : *layouts) {
        if (const Status status = strategies::ValidateLayout(layout); !status) {
          texts.push_back(program.from->traced.nodes[n].op + ": " + status.error().message);
        }
      }
    }
  }
  return ListText(texts);
}

}  // namespace

std::string CompileAnswer(const LocalProgram& program, RankId rank) {
  return ObjectText({{"nodes", std::to_string(program.from->traced.nodes.size())},
                     {"redistributions", std::to_string(program.redistribution_count)},
                     {"operators_without_rule", OperatorsWithoutRule(program)},
                     {"violations", Violations(program)},
                     {"layouts", Layouts(program, rank)},
                     {"fusions", Fusions(program)},
                     {"strategies", Strategies(program)}});
}

Result<std::string> ForwardListing(const LocalProgram& program, RankId rank,
                                   const OpenInputs& open) {
  const bool cuts = strategies::CutsOperators(program.from->config.mode);
  LocalProgram forward{.from = program.from};
  DRYDOCK_TRY(forward.local, strategies::BuildForwardProgram(
                                 *program.from, strategies::ClassifyNodes(program.from->traced)));
  NoteDefaults(program, forward.local);
  return GraphListing(strategies::SpecialiseForRank(forward, rank), cuts, open);
}

}  // namespace drydock::sim
