#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/program/rank_set.h"
#include "strategies/program/traced_plan.h"

/// Tables that the script cuts into parts of different length (docs/adr/0010).
///
/// To a rank such a table is as many parts as there are, all as long as its own: an ordinary layout
/// with equal slices, which is right in everything that concerns this rank. So the step is compiled
/// once per different length, and no pass knows uneven slices.
namespace drydock::strategies {

/// Finds the parameters that look-ups cut by hand into parts of different length, and gives them,
/// their optimizer states and what follows from these the rows of the first part. The look-ups
/// keep the offsets of their parts.
///
/// @param graph  global shapes; optimizer states name their weight
/// @error kInvalidArgument  the parts do not fit the table, two look-ups cut it differently, or one
/// has no strategy (no search gives it one, mindspore ops_info/gather_info.cc)
/// @error kUnsupported      an operator reads the table that cannot work on parts of their own
/// length
[[nodiscard]] Result<std::vector<HandCut>> TakeHandCuts(Graph& graph);

/// Once strategies are chosen: finds out which part of the tables `rank` has and gives `traced` and
/// the layouts of `plans` the rows of that.
[[nodiscard]] Status GiveRows(TracedPlan& plan, RankId rank);

/// False for steps that have one program for all ranks: no look-up is cut by hand.
[[nodiscard]] bool MayHaveHandCuts(const Graph& traced);

/// Ranks that have equally many rows of every table, the set of `first` (one of `ranks`) first.
/// @error kUnsupported  more than 64 sets
[[nodiscard]] Result<std::vector<RankSet>> RanksByRows(const TracedPlan& plan, const RankSet& ranks,
                                                       RankId first);

}  // namespace drydock::strategies
