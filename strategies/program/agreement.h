#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/program/job_program.h"

namespace drydock::strategies {

/// Verdict of the agreement check (every member of every group issues the same collectives in the
/// same order with equal sizes and types; every Send of a pipeline meets its Receive).
struct Agreement {
  bool holds = true;
  std::int64_t groups_checked = 0;
  std::int64_t collectives_checked = 0;  ///< Per group and position in its order.
  std::string first_conflict = {};       ///< Names ranks, group and operators; empty if it holds.
  /// It holds, but only if messages between stages are sent without waiting for their receiver: who
  /// would wait otherwise. Else empty.
  std::string first_wait = {};
};

/// One rank's collective as the agreement check sees it.
struct RankCollective {
  std::string_view kind = {};  ///< "AllReduce".
  std::string_view reduce_op = {};
  DType dtype = DType::kFloat32;
  std::int64_t payload_bytes = 0;
  GroupPattern group = {};
  /// Half of a transfer: other members of the group take no part.
  PointToPoint half = PointToPoint::kNone;
  bool of_pipeline = false;        ///< Made by the pipeline, not written in the script.
  std::int64_t rank_distance = 0;  ///< From the sender to the receiver.
  std::int64_t tag = 0;            ///< Which of the messages between the two.
  std::string line = {};           ///< Of the script: "net.py:12".
  friend bool operator==(const RankCollective&, const RankCollective&) = default;
};

/// What a rank issues, in order.
struct CollectiveSequence {
  std::vector<RankCollective> collectives = {};
  /// What comes behind is not known: a program that is not modelled. Nothing is said of that.
  bool open = false;
};

/// Checks that the ranks agree. `sequence_of_rank[r]` is an index into `sequences`; ranks that run
/// the same program share one. A stage has `stage_devices` ranks; groups lie within one.
[[nodiscard]] Agreement CheckAgreement(const std::vector<CollectiveSequence>& sequences,
                                       const std::vector<std::int32_t>& sequence_of_rank,
                                       std::int64_t stage_devices);

/// The same of a job: what the classes issue in all their programs.
[[nodiscard]] Agreement CheckAgreement(const JobProgram& job);

/// Collectives of a program in the form CheckAgreement wants.
[[nodiscard]] CollectiveSequence SequenceOf(const LocalProgram& program);

}  // namespace drydock::strategies
