#include "sim/timing/event_engine.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

/// The event engine.
///
/// Each stream walks through its tasks. Records and waits take no time; a kernel or transfer begins
/// when the stream comes to it (a transfer that is part of a meeting: when the last participant
/// comes) and puts its end into a queue. Transfers of one device on the same links of a level share
/// them evenly, and kernels beside transfers are slower, so beginnings and ends change the speed of
/// what runs there; its end in the queue is then replaced by a later or earlier one, the old entry
/// being known by its version.
///
/// Example, two streams: kernel A 2 s, record; wait, transfer B 3 s; kernel C 2 s on the first:
///     0 A begins; 2 A ends, B and C begin; 4 C ends; 5 B ends.
namespace drydock::sim {
namespace {

constexpr std::int32_t kNobody = -1;

/// A number between 0 and 1 that follows from the seed and two others (SplitMix64).
double Chance(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * (a + 1) + 0xD1B54A32D192ED03ULL * (b + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  return static_cast<double>(x >> 11U) * 0x1.0p-53;
}

class Engine {
 public:
  explicit Engine(const TimedJob& job) : job_(job) {
    run_.first.push_back(0);
    std::size_t events = 0;
    for (std::size_t p = 0; p < job.programs.size(); ++p) {
      AddProgram(p, events);
      events += static_cast<std::size_t>(job.programs[p].events);
    }
    events_.resize(events);
    const auto tasks = static_cast<std::size_t>(run_.first.back());
    run_.start.assign(tasks, 0);
    run_.end.assign(tasks, 0);
    run_.cause.assign(tasks, kNoTask);
    meetings_.resize(job.meetings.size());
    links_.resize(job.programs.size() * job.levels * 2);
  }

  TimedRun Run() && {
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      AdvanceAll(s);
    }
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (entry.version == streams_[entry.stream].version) {
        now_ = entry.time;
        Finish(entry.stream);
      }
    }
    run_.seconds = now_;
    for (const Stream& stream : streams_) {
      run_.left_out += std::ssize(stream.tasks) - static_cast<std::ptrdiff_t>(stream.at);
    }
    return std::move(run_);
  }

 private:
  struct Stream {
    std::vector<std::int32_t> tasks = {};  ///< Positions in its program.
    std::size_t at = 0;
    std::uint32_t program = 0;
    std::uint32_t version = 0;    ///< Of its entry in the queue that counts.
    TaskNumber behind = kNoTask;  ///< What the next task begins right behind of.
    bool running = false;
    double left_seconds = 0;  ///< Of the running task at full speed, at `since`.
    double since = 0;
    double speed = 1;
    std::int32_t next_member = kNobody;  ///< Next participant of the running meeting.
  };
  struct Event {
    bool recorded = false;
    std::int32_t waiting = kNobody;  ///< A stream.
  };
  struct Meeting {
    std::int32_t arrived = 0;
    std::int32_t members = kNobody;  ///< First of a chain of streams, the last to come.
  };
  struct Entry {
    double time = 0;
    std::uint32_t stream = 0;
    std::uint32_t version = 0;
    friend bool operator<(const Entry& a, const Entry& b) {  // The queue gives the largest.
      return a.time != b.time ? a.time > b.time : a.stream > b.stream;
    }
  };

  void AddProgram(std::size_t p, std::size_t first_event) {
    const TimedProgram& program = job_.programs[p];
    const std::size_t first = streams_.size();
    first_stream_.push_back(first);
    first_event_.push_back(first_event);
    streams_.resize(first + program.streams);
    for (std::size_t s = first; s < streams_.size(); ++s) {
      streams_[s].program = static_cast<std::uint32_t>(p);
    }
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      streams_[first + program.tasks[t].stream].tasks.push_back(static_cast<std::int32_t>(t));
    }
    run_.first.push_back(run_.first.back() + static_cast<TaskNumber>(program.tasks.size()));
    slowness_.push_back(
        job_.jitter > 0 ? 1 - 0.2 * job_.jitter * std::log1p(-Chance(job_.seed, p, 0)) : 1);
    transfers_.push_back(0);
  }

  [[nodiscard]] const TimedProgram& ProgramOf(const Stream& stream) const {
    return job_.programs[stream.program];
  }
  [[nodiscard]] const TimedTask& TaskAt(const Stream& stream) const {
    return ProgramOf(stream).tasks[static_cast<std::size_t>(stream.tasks[stream.at])];
  }
  [[nodiscard]] const TaskCost& CostAt(const Stream& stream) const {
    return ProgramOf(stream).costs[static_cast<std::size_t>(TaskAt(stream).cost)];
  }
  [[nodiscard]] TaskNumber NumberAt(const Stream& stream) const {
    return run_.first[stream.program] + stream.tasks[stream.at];
  }

  /// Lets a stream go on until it runs something, waits, or is done.
  void Advance(std::size_t s) {
    Stream& stream = streams_[s];
    while (stream.at < stream.tasks.size()) {
      const TimedTask& task = TaskAt(stream);
      ++run_.events;
      if (task.kind == TimedTask::Kind::kRecord) {
        Note(stream);
        Record(stream, task);
      } else if (task.kind == TimedTask::Kind::kWait) {
        Event& event = EventOf(stream, task);
        if (!event.recorded) {
          event.waiting = static_cast<std::int32_t>(s);
          return;
        }
        Note(stream);
      } else {
        Arrive(s, task);
        return;
      }
      ++stream.at;
    }
  }

  void Note(const Stream& stream) {
    const auto number = static_cast<std::size_t>(NumberAt(stream));
    run_.start[number] = run_.end[number] = now_;
    run_.cause[number] = stream.behind;
  }

  [[nodiscard]] Event& EventOf(const Stream& stream, const TimedTask& task) {
    return events_[first_event_[stream.program] + static_cast<std::size_t>(task.reference)];
  }

  void Record(const Stream& stream, const TimedTask& task) {
    Event& event = EventOf(stream, task);
    event.recorded = true;
    if (event.waiting != kNobody) {
      const auto waiting = static_cast<std::size_t>(event.waiting);
      event.waiting = kNobody;
      streams_[waiting].behind = stream.behind;
      woken_.push_back(waiting);
    }
  }

  void Arrive(std::size_t s, const TimedTask& task) {
    if (task.kind == TimedTask::Kind::kTransfer && task.reference >= 0) {
      Meeting& meeting = meetings_[static_cast<std::size_t>(task.reference)];
      streams_[s].next_member = meeting.members;
      meeting.members = static_cast<std::int32_t>(s);
      if (++meeting.arrived < job_.meetings[static_cast<std::size_t>(task.reference)]) {
        return;
      }
    }
    Begin(s);
  }

  /// And streams that its records wake, and so on.
  void AdvanceAll(std::size_t s) {
    Advance(s);
    while (!woken_.empty()) {
      const std::size_t next = woken_.back();
      woken_.pop_back();
      Advance(next);
    }
  }

  /// Begins the task of stream `s` and of all that meet there.
  void Begin(std::size_t s) {
    const TaskNumber behind = streams_[s].behind;
    const bool transfer = TaskAt(streams_[s]).kind == TimedTask::Kind::kTransfer;
    for (auto m = static_cast<std::int32_t>(s); m != kNobody;) {
      Stream& member = streams_[static_cast<std::size_t>(m)];
      const auto number = static_cast<std::size_t>(NumberAt(member));
      run_.start[number] = now_;
      run_.cause[number] = behind;
      member.running = true;
      member.since = now_;
      member.speed = 1;
      member.left_seconds = CostAt(member).seconds;
      m = transfer ? member.next_member : kNobody;
    }
    if (!transfer) {
      Stream& stream = streams_[s];
      stream.left_seconds *= Luck(stream);
      stream.speed = transfers_[stream.program] > 0 ? 1 - job_.overlap_slowdown : 1;
      Queue(s);
      return;
    }
    Occupy(s, true);
  }

  [[nodiscard]] double Luck(const Stream& stream) const {
    if (job_.jitter <= 0) {
      return 1;
    }
    const auto number = static_cast<std::uint64_t>(stream.tasks[stream.at]);
    return slowness_[stream.program] *
           (1 - job_.jitter * std::log1p(-Chance(job_.seed, stream.program, number + 1)));
  }

  /// Adds the running transfer of `s` to the links that its members use, or takes it off them.
  void Occupy(std::size_t s, bool begins) {
    std::vector<std::size_t>& touched = touched_;
    touched.clear();
    for (auto m = static_cast<std::int32_t>(s); m != kNobody;) {
      const Stream& member = streams_[static_cast<std::size_t>(m)];
      transfers_[member.program] += begins ? 1 : -1;
      ForLinks(member, [&](std::vector<std::size_t>& link) {
        if (begins) {
          link.push_back(s);
        } else {
          link.erase(std::ranges::find(link, s));
        }
        touched.insert(touched.end(), link.begin(), link.end());
      });
      SlowKernels(member.program);
      m = member.next_member;
    }
    if (begins) {
      touched.push_back(s);
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const std::size_t transfer : touched) {
      if (streams_[transfer].running) {
        ChangeSpeed(transfer, 1.0 / static_cast<double>(Crowd(transfer)), begins && transfer == s);
      }
    }
  }

  template <typename Visitor>
  void ForLinks(const Stream& member, const Visitor& visit) {
    const TaskCost& cost = CostAt(member);
    const std::size_t base =
        (static_cast<std::size_t>(member.program) * job_.levels + cost.level) * 2;
    if (cost.use != LinkUse::kIn) {
      visit(links_[base]);
    }
    if (cost.use != LinkUse::kOut) {
      visit(links_[base + 1]);
    }
  }

  /// Transfers on the busiest of the links that one uses.
  [[nodiscard]] std::size_t Crowd(std::size_t s) {
    std::size_t most = 1;
    for (auto m = static_cast<std::int32_t>(s); m != kNobody;) {
      const Stream& member = streams_[static_cast<std::size_t>(m)];
      ForLinks(member,
               [&](const std::vector<std::size_t>& link) { most = std::max(most, link.size()); });
      m = member.next_member;
    }
    return most;
  }

  void SlowKernels(std::uint32_t program) {
    const std::size_t compute = first_stream_[program];
    const Stream& stream = streams_[compute];
    if (job_.overlap_slowdown > 0 && stream.running &&
        TaskAt(stream).kind == TimedTask::Kind::kKernel) {
      ChangeSpeed(compute, transfers_[program] > 0 ? 1 - job_.overlap_slowdown : 1, false);
    }
  }

  void ChangeSpeed(std::size_t s, double speed, bool first) {
    Stream& stream = streams_[s];
    if (stream.speed == speed && !first) {
      return;
    }
    stream.left_seconds = std::max(0.0, stream.left_seconds - (now_ - stream.since) * stream.speed);
    stream.since = now_;
    stream.speed = speed;
    Queue(s);
  }

  void Queue(std::size_t s) {
    Stream& stream = streams_[s];
    queue_.push({.time = now_ + stream.left_seconds / stream.speed,
                 .stream = static_cast<std::uint32_t>(s),
                 .version = ++stream.version});
  }

  /// The running task of `s` is done, with it that of all that meet there.
  void Finish(std::size_t s) {
    ++run_.events;
    if (TaskAt(streams_[s]).kind == TimedTask::Kind::kTransfer) {
      Occupy(s, false);
    }
    finished_.clear();
    for (auto m = static_cast<std::int32_t>(s); m != kNobody;) {
      Stream& member = streams_[static_cast<std::size_t>(m)];
      const TaskNumber number = NumberAt(member);
      run_.end[static_cast<std::size_t>(number)] = now_;
      member.behind = number;
      member.running = false;
      ++member.version;
      ++member.at;
      finished_.push_back(static_cast<std::size_t>(m));
      m = std::exchange(member.next_member, kNobody);
    }
    for (const std::size_t member : finished_) {
      AdvanceAll(member);
    }
  }

  const TimedJob& job_;
  TimedRun run_ = {};
  double now_ = 0;
  std::vector<Stream> streams_ = {};
  std::vector<std::size_t> first_stream_ = {};  ///< Per program; it computes.
  std::vector<std::size_t> first_event_ = {};   ///< Per program.
  std::vector<double> slowness_ = {};           ///< Per program.
  std::vector<std::int32_t> transfers_ = {};    ///< Per program: running.
  std::vector<Event> events_ = {};
  std::vector<Meeting> meetings_ = {};
  std::vector<std::vector<std::size_t>> links_ = {};  ///< Program x level x direction: transfers.
  std::vector<std::size_t> woken_ = {};
  std::vector<std::size_t> touched_ = {};
  std::vector<std::size_t> finished_ = {};
  std::priority_queue<Entry> queue_ = {};
};

}  // namespace

TimedRun RunTimedJob(const TimedJob& job) {
  return Engine(job).Run();
}

}  // namespace drydock::sim
