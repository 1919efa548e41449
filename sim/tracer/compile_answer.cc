#include "sim/tracer/compile_answer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/tracer/graph_listing.h"
#include "strategies/passes/localize/localize.h"
#include "strategies/passes/prepare/rewrite.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using strategies::CompiledProgram;
using strategies::TensorLayout;

/// One number per dimension, -1 where it is not cut; a list where several axes cut it.
json TensorMapJson(const TensorLayout& layout) {
  json map = json::array();
  for (const std::vector<std::int64_t>& axes : layout.tensor_map) {
    if (axes.empty()) {
      map.push_back(-1);
    } else if (axes.size() == 1) {
      map.push_back(axes.front());
    } else {
      map.push_back(axes);
    }
  }
  return map;
}

json LayoutJson(const TensorLayout& layout, const strategies::Shape& stored, bool uniform = true) {
  const TensorLayout standard = strategies::Standardize(layout);
  return json::array(
      {standard.device_matrix, TensorMapJson(standard), stored, 0, uniform, "", layout.shape});
}

/// True for parameters of which every rank has a part of its own length.
bool IsCutByHand(const CompiledProgram& program, const std::string& parameter) {
  return std::ranges::any_of(program.hand_cuts, [&parameter](const strategies::HandCut& cut) {
    return std::ranges::find(cut.parameters, parameter) != cut.parameters.end();
  });
}

json Layouts(const CompiledProgram& program) {
  json layouts = json::object();
  const strategies::Graph& local = program.local;
  for (std::size_t p = 0; p < local.parameters.size(); ++p) {
    const strategies::Value& value = local.at(local.parameters[p].value);
    layouts[value.name] = LayoutJson(program.parameter_layouts[p], value.type.shape,
                                     !IsCutByHand(program, value.name));
  }
  const bool cuts = strategies::CutsOperators(program.config.mode);
  for (std::size_t n = 0; cuts && n < program.traced.nodes.size(); ++n) {
    const strategies::Node& node = program.traced.nodes[n];
    if (node.entry == nullptr || node.entry->kind != strategies::OpKind::kDataset ||
        !program.plans[n].sharding) {
      continue;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorLayout& layout = program.plans[n].sharding->inputs[i];
      layouts[program.traced.at(node.inputs[i]).name] =
          LayoutJson(layout, strategies::SliceShape(layout));
    }
  }
  return layouts;
}

/// Strategies by full name; a strategy that was given is told as it was given, with its entries for
/// arguments that are no tensors.
json Strategies(const CompiledProgram& program) {
  json strategies = json::object();
  const std::vector<std::string> names = strategies::FullNames(program.traced);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const strategies::NodePlan& plan = program.plans[n];
    const auto& given = program.traced.nodes[n].in_strategy;
    if (plan.sharding && !plan.sharding->strategy.empty()) {
      const bool as_given = plan.source == strategies::StrategySource::kUser && given;
      strategies[names[n]] = as_given ? *given : plan.sharding->strategy;
    }
  }
  return strategies;
}

/// Operators that were compiled without a rule, each once.
json OperatorsWithoutRule(const CompiledProgram& program) {
  std::set<std::string> names;
  for (std::size_t n = 0; n < program.plans.size(); ++n) {
    if (program.plans[n].source == strategies::StrategySource::kFallback) {
      names.insert(program.traced.nodes[n].op);
    }
  }
  return names;
}

/// Slice shape times cuts must give the shape.
json Violations(const CompiledProgram& program) {
  json texts = json::array();
  for (std::size_t n = 0; n < program.plans.size(); ++n) {
    const auto& sharding = program.plans[n].sharding;
    if (!sharding) {
      continue;
    }
    for (const std::vector<TensorLayout>* layouts : {&sharding->inputs, &sharding->outputs}) {
      for (const TensorLayout& layout : *layouts) {
        if (const Status status = strategies::ValidateLayout(layout); !status) {
          texts.push_back(program.traced.nodes[n].op + ": " + status.error().message);
        }
      }
    }
  }
  return texts;
}

}  // namespace

json CompileAnswer(const CompiledProgram& program) {
  return {{"nodes", program.traced.nodes.size()},
          {"redistributions", program.redistribution_count},
          {"operators_without_rule", OperatorsWithoutRule(program)},
          {"violations", Violations(program)},
          {"layouts", Layouts(program)},
          {"strategies", Strategies(program)}};
}

Result<json> ForwardListing(const CompiledProgram& program, RankId rank) {
  const bool cuts = strategies::CutsOperators(program.config.mode);
  CompiledProgram forward{.config = program.config};
  DRYDOCK_TRY(forward.local, strategies::BuildForwardProgram(
                                 program.traced, strategies::ClassifyNodes(program.traced),
                                 program.plans, program.config));
  return GraphListing(strategies::SpecialiseForRank(forward, rank), cuts);
}

}  // namespace drydock::sim
