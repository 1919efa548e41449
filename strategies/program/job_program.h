#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "strategies/program/local_program.h"
#include "strategies/program/rank_set.h"

/// A job is a set of programs and a partition of its ranks.
///
/// Scripts that ask for their rank, scripts that compute several things one behind the other,
/// tables cut by hand and pipeline stages all end here: some ranks run these programs, others
/// those. Nothing else says which ranks run what.
///
/// Example: a script that trains net A on ranks 0-3 and net B on ranks 4-7, then evaluates net C on
/// all: programs {A, B, C}, classes {{0-3}, runs {0, 2}}, {{4-7}, runs {1, 2}}.
namespace drydock::strategies {

/// Number of a program of a job.
using ProgramIndex = std::size_t;

/// Ranks that run the same programs in the same order.
struct RankClass {
  RankSet ranks = {};
  /// In the order of the script; nullopt: a program that is beyond our limits, which is said in
  /// JobProgram::diagnostics.
  std::vector<std::optional<ProgramIndex>> runs = {};
  /// The one whose memory and communication are told: the first training step, else the first.
  ProgramIndex described = 0;
};

struct JobProgram {
  JobConfig config = {};  ///< Of the rank that is described first.
  std::vector<LocalProgram> programs = {};
  std::vector<RankClass> classes = {};       ///< Partition the ranks of the job.
  std::vector<Diagnostic> diagnostics = {};  ///< About the job, not about one of its programs.
};

/// A job of which all ranks run one program.
[[nodiscard]] JobProgram JobOf(LocalProgram program);

/// The class of a rank.
[[nodiscard]] const RankClass& ClassOf(const JobProgram& job, RankId rank);

/// The program that is told of a rank.
[[nodiscard]] const LocalProgram& ProgramOf(const JobProgram& job, RankId rank);

/// For every rank the index of its class.
[[nodiscard]] std::vector<std::int32_t> ClassOfEachRank(const JobProgram& job);

}  // namespace drydock::strategies
