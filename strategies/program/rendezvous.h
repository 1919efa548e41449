#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/program/agreement.h"

namespace drydock::strategies {

/// What became of the transfers between the ranks of a job.
struct Rendezvous {
  std::int64_t transfers = 0;       ///< Sends that met their Receive.
  std::string first_conflict = {};  ///< Names ranks, operators and lines; empty if all met.
  /// All met, but only if a Send ends before its Receive is there: who would wait otherwise.
  std::string first_wait = {};
};

/// Lets the ranks run against each other: a Send ends when its Receive is there, and the other way
/// round; if that ends early, messages of the pipeline once more with Sends that do not wait.
/// `sequence_of_rank[r]` is an index into `sequences`. See rendezvous.cc.
[[nodiscard]] Rendezvous MeetTransfers(const std::vector<CollectiveSequence>& sequences,
                                       const std::vector<std::int32_t>& sequence_of_rank,
                                       std::int64_t stage_devices);

}  // namespace drydock::strategies
