#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "reports/ir_style.h"
#include "sim/tracer/trace_session.h"
#include "strategies/program/local_program.h"

namespace drydock::reports {

/// A dump file as MindSpore's save_graphs names it, relative to the folder of the rank.
struct IrFile {
  std::string name = {};  ///< "step_parallel_begin_0000.ir".
  std::string text = {};
};

/// The traced program with global shapes and the strategy of every operator.
///
/// Training steps print the forward part as a sub-graph of its own, as MindSpore does.
/// Source: mindspore ccsrc/common/debug/anf_ir_dump.cc.
[[nodiscard]] std::string StepParallelBeginText(const strategies::LocalProgram& program,
                                                IrStyle style);

/// The program one rank executes: local shapes, inserted operators, source lines.
///
/// @param rank  0 <= rank < world size
[[nodiscard]] std::string ExecuteText(const strategies::LocalProgram& program, RankId rank,
                                      IrStyle style);

/// Both dumps with their file names; the numbers count the files.
[[nodiscard]] std::vector<IrFile> IrFiles(const strategies::LocalProgram& program, RankId rank,
                                          IrStyle style);

/// Names of the files that IrFiles gives, of all styles.
[[nodiscard]] std::vector<std::string> AllIrNames();

/// The dumps of a compile inside of a script, in the style of 2025 and without numbers: before
/// sharding, behind it, and the program that is handed to the backend.
[[nodiscard]] std::vector<sim::GraphDump> ScriptDumps(const strategies::LocalProgram& program,
                                                      RankId rank);

/// Folder of a rank's dumps below save_graphs_path: "rank_0", or "" when the job has one rank.
[[nodiscard]] std::string IrFolder(const strategies::LocalProgram& program, RankId rank);

}  // namespace drydock::reports
