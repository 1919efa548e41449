#pragma once

#include <string>

#include "base/ids.h"
#include "strategies/program/local_program.h"

namespace drydock::reports {

/// The kernels of one rank in launch order, as MindSpore's dry run writes `execute_order.csv`:
/// index, node_name, logic_id, stream_id, node_info, event_id, group. Computation is on stream 0,
/// each group's collectives on a stream of their own from 2 on; StreamSend and StreamRecv with the
/// same event_id are the two ends of an event. node_info names the primitive only.
///
/// @param rank  0 <= rank < world size
/// Source: mindspore ccsrc/debug/execute_order_tracker
[[nodiscard]] std::string ExecuteOrderCsv(const strategies::LocalProgram& program, RankId rank);

/// The communication among them, as `comm_execute_order.csv`: index (the row of the other file),
/// group, comm_rank, primitive, src_rank, dest_rank, root_rank, input_shape, input_type,
/// output_shape, output_type, input_size, output_size (bytes).
[[nodiscard]] std::string CommExecuteOrderCsv(const strategies::LocalProgram& program, RankId rank);

}  // namespace drydock::reports
