#pragma once

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

/// Members of tuples that MindSpore's back end made for taken-apart operators are read directly
/// where it reads them directly.
///
/// Source: mindspore/ccsrc/plugin/device/ascend/optimizer/enhancer/eliminate_maketuple_getitem.cc
void ReadThroughTuples(KernelGraph& graph);

}  // namespace drydock::strategies
