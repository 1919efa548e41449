#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/flags.h"

namespace drydock::launcher {

/// A command line with torchrun's flags in msrun's: `--nnodes=2 --nproc_per_node=8 --node_rank=1
/// --rdzv_endpoint=10.0.0.1:29400 train.py` becomes `--worker_num=16 --local_worker_num=8
/// --node_rank=1
/// --master_addr=10.0.0.1 --master_port=29400 --join=True train.py`. Words without any
/// flag of torchrun's stay as they are. `-m module` runs the module, `--no_python` the program
/// itself. Source: torchrun --help, PyTorch torch/distributed/run.py (behaviour only)
/// @param flags  tells which flags of msrun have a value
/// @error USAGE  numbers that contradict, a range of nodes, a store other than c10d
[[nodiscard]] Result<std::vector<std::string>> TranslateTorchrunWords(
    std::span<const std::string> words, const FlagSet& flags);

}  // namespace drydock::launcher
