#include "launcher/verify.h"

#include <utility>

#include <fmt/format.h>

#include "launcher/exit_code.h"
#include "strategies/passes/compile_job.h"
#include "strategies/reference/verify.h"

/// The job as it was cut and the same step without strategies and layouts, both compiled, one step
/// of each run on the same numbers by the reference executor, weights and states compared.
namespace drydock::launcher {
namespace {

using strategies::Verification;

/// The same step without cuts.
Result<strategies::JobProgram> CompileUncut(const strategies::TracedNetwork& network) {
  strategies::Graph graph = network.graph;
  for (strategies::Node& node : graph.nodes) {
    node.in_strategy = {};
    node.out_strategy = {};
    node.in_layout = {};
    node.out_layout = {};
  }
  return CompileJob(
      strategies::JobOf(std::move(graph), {.training = network.config.training,
                                           .gradients_mean = network.config.gradients_mean,
                                           .compat = network.config.compat,
                                           .device_target = network.config.device_target}),
      RankId{0});
}

Result<Verification> Run(const strategies::TracedNetwork& network,
                         const strategies::JobProgram& job) {
  DRYDOCK_TRY(const strategies::JobProgram uncut, CompileUncut(network));
  return strategies::VerifyJob(uncut, job);
}

}  // namespace

std::optional<strategies::TracedNetwork> NetworkToVerify(const MsrunOptions& options,
                                                         const LoadedJob& job) {
  return options.verify ? std::optional(job.traced.networks.front()) : std::nullopt;
}

Status Verify(const std::optional<strategies::TracedNetwork>& network,
              const strategies::JobProgram& job, const MsrunOptions& options,
              const Context& context) {
  if (!network) {
    return {};
  }
  DRYDOCK_TRY(const Verification found, Run(*network, job));
  if (!found.difference.empty()) {
    return FailCommand(
        FailureCode::kVerify,
        "after a step the ranks do not hold what one device computes: " + found.difference);
  }
  if (!options.json && !options.quiet) {
    context.out << fmt::format(
        "\nverified on numbers: after a step the ranks hold what one device computes\n  {} "
        "tensors, "
        "{} elements\n",
        found.tensors, found.elements);
  }
  return {};
}

}  // namespace drydock::launcher
