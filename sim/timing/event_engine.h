#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// Streams of kernels with events between them, run against each other.
///
/// A program is what one rank launches; a job has one per class of ranks that behave alike. Tasks
/// of a stream run one after the other; a wait holds its stream until the event was recorded. What
/// several programs do together (a message, a collective of several stages) begins when all of them
/// have come to it.
namespace drydock::sim {

/// One thing that a stream is given.
struct TimedTask {
  enum class Kind : std::uint8_t {
    kKernel,    ///< Computes.
    kTransfer,  ///< Communicates.
    kRecord,    ///< Notes in `reference` (an event) that the stream is here.
    kWait,      ///< Waits for that.
  };
  Kind kind = Kind::kKernel;
  std::uint16_t stream = 0;
  std::int32_t reference = -1;  ///< Event; of a transfer: the meeting it is part of, -1 = none.
  std::int32_t cost = 0;        ///< In TimedProgram::costs.
  std::int32_t tag = -1;        ///< The caller's, not looked at.
};

/// Links of a device that a transfer uses.
enum class LinkUse : std::uint8_t { kBoth, kOut, kIn };

struct TaskCost {
  double seconds = 0;      ///< Alone.
  std::uint8_t level = 0;  ///< Of the network, of a transfer.
  LinkUse use = LinkUse::kBoth;
};

struct TimedProgram {
  std::vector<TimedTask> tasks = {};  ///< In the order of launches.
  std::vector<TaskCost> costs = {};
  std::uint16_t streams = 1;
  std::int32_t events = 0;
};

/// What is simulated.
struct TimedJob {
  std::vector<TimedProgram> programs = {};
  std::vector<std::int32_t> meetings = {};  ///< Per meeting: how many tasks take part.
  std::uint8_t levels = 1;                  ///< Of the network.
  double overlap_slowdown = 0;              ///< Share by which kernels are slower beside transfers.
  /// Above 0: kernels take longer by chance, on average by this share, and each program by a fifth
  /// of it; which ones follows from the seed.
  double jitter = 0;
  std::uint64_t seed = 0;
};

/// A task of a job: position in one list of the tasks of all programs.
using TaskNumber = std::int32_t;
inline constexpr TaskNumber kNoTask = -1;

/// When everything happened.
struct TimedRun {
  std::vector<TaskNumber> first = {};  ///< Per program: number of its first task; then the end.
  std::vector<double> start = {};      ///< Per task, seconds.
  std::vector<double> end = {};
  /// Per task: what it began right behind of; kNoTask at the beginning.
  std::vector<TaskNumber> cause = {};
  double seconds = 0;         ///< End of the last task.
  std::int64_t events = 0;    ///< Beginnings and ends that were handled.
  std::int64_t left_out = 0;  ///< Tasks that were never reached: programs wait for each other.
};

/// Runs all programs from time 0. The same job gives the same bytes. Cost: tasks x log streams,
/// whatever the number of ranks behind a program.
[[nodiscard]] TimedRun RunTimedJob(const TimedJob& job);

}  // namespace drydock::sim
