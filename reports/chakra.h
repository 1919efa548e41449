#pragma once

#include <string>
#include <vector>

#include "sim/fleet/dry_run.h"

/// Execution traces in the form of MLCommons Chakra, for simulators that replay them.
namespace drydock::reports {

/// A file to be written, relative to the output folder.
struct TraceFile {
  std::string name = {};
  std::string bytes = {};
};

/// chakra.<rank>.et of the first rank of each class: its kernels with their order, what each needs,
/// and its collectives with bytes and group; at level 3 with start and duration.
/// chakra_groups.json: the ranks of each group by the number that `pg_name` has. Source:
/// github.com/mlcommons/chakra schema/protobuf/et_def.proto (numbers of fields)
[[nodiscard]] std::vector<TraceFile> ChakraTraces(const sim::DryRunResult& result);

}  // namespace drydock::reports
