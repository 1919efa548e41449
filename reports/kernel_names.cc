#include "reports/kernel_names.h"

#include <cstddef>
#include <unordered_map>

#include "strategies/program/collectives.h"

namespace drydock::reports {
namespace {

using strategies::Launch;
using strategies::LocalProgram;

NodeId OriginOf(const LocalProgram& program, const Launch& launch) {
  return launch.kind == Launch::Kind::kKernel ? program.kernels.at(launch.kernel).origin
                                              : strategies::kNoNode;
}

}  // namespace

std::string PrimitiveOf(const LocalProgram& program, const Launch& launch) {
  switch (launch.kind) {
    case Launch::Kind::kSend:
      return "StreamSend";
    case Launch::Kind::kReceive:
      return "StreamRecv";
    case Launch::Kind::kKernel:
      break;
  }
  return program.kernels.at(launch.kernel).name.str();
}

bool IsOfStep(const LocalProgram& program, const Launch& launch) {
  const NodeId origin = OriginOf(program, launch);
  return origin == strategies::kNoNode || strategies::RunsEachStep(program.local.at(origin));
}

std::vector<std::string> LaunchNames(const LocalProgram& program) {
  std::vector<std::string> names;
  std::unordered_map<std::string, std::size_t> used;
  for (const Launch& launch : program.kernels.launches) {
    const NodeId origin = OriginOf(program, launch);
    const std::string scope =
        origin == strategies::kNoNode ? std::string() : program.local.at(origin).scope;
    const std::string name =
        (scope.empty() ? "Default" : scope) + "/" + PrimitiveOf(program, launch);
    names.push_back(name + "-op" + std::to_string(used[name]++));
  }
  return names;
}

}  // namespace drydock::reports
