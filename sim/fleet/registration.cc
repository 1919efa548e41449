// Ranks are handled in chunks of fixed size, chunks in waves: in each round the workers of a wave
// run in parallel and write frames into their chunk's buffer, then the scheduler reads all buffers
// in chunk order, then the workers read its replies. So the order of events does not depend on
// threads, and memory for frames depends on the wave, not on the job.
#include "sim/fleet/registration.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "sim/cluster/scheduler_core.h"
#include "sim/cluster/worker_core.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kChunkRanks = 1024;
constexpr std::size_t kWaveChunks = 32;
/// Random pauses of different ranks must differ: seeds are this far apart.
constexpr std::uint64_t kSeedStride = 0xD1342543DE82EF95U;

/// Workers have two connections each: peer 2 * worker is heartbeats, the next one business.
PeerId PeerOf(std::size_t worker, Channel channel) {
  return static_cast<PeerId>(2 * worker + static_cast<std::size_t>(channel));
}

struct Chunk {
  std::size_t begin = 0;  ///< First worker.
  std::size_t end = 0;
  WorkerOutput output = {};
  std::vector<AddressedFrame> frames = {};  ///< To the scheduler, inside `output.bytes`.
  std::size_t first_reply = 0;
  std::size_t end_reply = 0;
  TimePoint next_deadline = {};
  std::optional<Error> failure = {};
};

WorkerIdentity IdentityOf(const FleetOptions& options, std::size_t worker) {
  const std::size_t host = worker / options.ranks_per_host;
  const std::size_t address = host + 1;  // 10.0.0.0 is no host
  std::string ip = "10";
  for (const unsigned shift : {16U, 8U, 0U}) {
    ip += "." + std::to_string((address >> shift) & 0xFFU);
  }
  const std::string number = std::to_string(worker);
  return {.node_id = options.numeric_ids ? number : "worker-" + number,
          .host_name = "host-" + std::to_string(host),
          .host_ip = std::move(ip),
          .device_id = static_cast<std::uint32_t>(worker % options.ranks_per_host),
          .jitter_seed = options.seed + kSeedStride * (worker + 1)};
}

SchedulerOptions SchedulerFor(const FleetOptions& options) {
  SchedulerOptions scheduler;
  scheduler.worker_num = options.worker_num;
  scheduler.records_events = false;
  return scheduler;
}

WorkerOptions WorkersFor(const FleetOptions& options) {
  WorkerOptions workers;
  workers.worker_num = options.worker_num;
  workers.rules = WorkerRulesOf(options.version);
  workers.topo_timeout = workers.rules.topo_timeout;
  return workers;
}

class FleetRun {
 public:
  FleetRun(const Executor& executor, const FleetOptions& options, SchedulerCore scheduler)
      : executor_(executor),
        options_(options),
        worker_options_(WorkersFor(options)),
        scheduler_(std::move(scheduler)),
        workers_(options.worker_num) {
    for (std::size_t begin = 0; begin < workers_.size(); begin += kChunkRanks) {
      chunks_.push_back({.begin = begin, .end = std::min(begin + kChunkRanks, workers_.size())});
    }
    statistics_.hosts = (options.worker_num - 1) / options.ranks_per_host + 1;
    statistics_.topology.push_back({.state = TopologyState::kInitialising});
  }

  Result<FleetStatistics> Run() {
    for (TimePoint now = {}; now != kNever; now = NextTime()) {
      scheduler_.OnTick(now, scheduler_output_);
      for (std::size_t wave = 0; wave < chunks_.size(); wave += kWaveChunks) {
        RunWave(wave, std::min(wave + kWaveChunks, chunks_.size()), now);
      }
      statistics_.simulated_time = now.time_since_epoch();
      for (const Chunk& chunk : chunks_) {
        if (chunk.failure) {
          return tl::unexpected(*chunk.failure);
        }
      }
    }
    if (scheduler_.state() != SchedulerState::kFinished) {
      return Fail(ErrorCode::kInternal,
                  "virtual workers are waiting for something that never comes");
    }
    statistics_.ranks = options_.worker_num;
    return std::move(statistics_);
  }

 private:
  [[nodiscard]] TimePoint NextTime() const {
    TimePoint next = kNever;
    for (const Chunk& chunk : chunks_) {
      next = std::min(next, chunk.next_deadline);
    }
    return next;
  }

  void RunWave(std::size_t first, std::size_t end, TimePoint now) {
    ForEachIndex(executor_, end - first, [&](std::size_t i) {
      Chunk& chunk = chunks_[first + i];
      if (chunk.next_deadline <= now) {
        WakeWorkers(chunk, now);
      }
    });
    while (ServeScheduler(first, end, now)) {
      ForEachIndex(executor_, end - first,
                   [&](std::size_t i) { DeliverReplies(chunks_[first + i], now); });
    }
    ForEachIndex(executor_, end - first, [&](std::size_t i) { EndOfWave(chunks_[first + i]); });
  }

  void WakeWorkers(Chunk& chunk, TimePoint now) {
    for (std::size_t worker = chunk.begin; worker < chunk.end; ++worker) {
      if (!workers_[worker]) {
        workers_[worker].emplace(worker_options_, IdentityOf(options_, worker));
        workers_[worker]->Start(now, chunk.output);
      } else if (workers_[worker]->NextDeadline() <= now) {
        workers_[worker]->OnTick(now, chunk.output);
      }
      Perform(chunk, worker, now);
    }
  }

  /// Does what the worker wants; connecting succeeds at once and may make it want more.
  void Perform(Chunk& chunk, std::size_t worker, TimePoint now) {
    using Kind = WorkerAction::Kind;
    WorkerCore& core = *workers_[worker];
    std::vector<WorkerAction>& actions = chunk.output.actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const WorkerAction action = actions[i];
      if (action.kind == Kind::kConnect) {
        core.OnConnected(action.channel, core.identity().host_ip, now, chunk.output);
      } else if (action.kind == Kind::kSend) {
        chunk.frames.push_back({PeerOf(worker, action.channel), action.offset, action.bytes});
      } else if (action.kind == Kind::kReady) {
        if (options_.on_ready) {
          options_.on_ready(static_cast<RankId>(core.rank()));
        }
        core.Leave(now, chunk.output);
      } else if (action.kind == Kind::kFailed && !chunk.failure) {
        chunk.failure = WithNote(*core.failure(), "in virtual worker " + std::to_string(worker));
      }
    }
    actions.clear();
  }

  /// The scheduler reads what the chunks wrote. True if there are replies.
  bool ServeScheduler(std::size_t first, std::size_t end, TimePoint now) {
    scheduler_output_.Clear();
    std::size_t bytes = 0;
    for (std::size_t c = first; c < end; ++c) {
      Chunk& chunk = chunks_[c];
      chunk.first_reply = scheduler_output_.replies.frames().size();
      for (const AddressedFrame& frame : chunk.frames) {
        Serve(frame, std::string_view(chunk.output.bytes).substr(frame.offset, frame.bytes), now);
      }
      chunk.end_reply = scheduler_output_.replies.frames().size();
      bytes += chunk.output.bytes.size();
      statistics_.frames_to_scheduler += chunk.frames.size();
      chunk.output.bytes.clear();
      chunk.frames.clear();
    }
    const FrameBatch& replies = scheduler_output_.replies;
    statistics_.bytes_to_scheduler += bytes;
    statistics_.bytes_to_workers += replies.total_bytes();
    statistics_.frames_to_workers += replies.frames().size();
    statistics_.peak_frame_bytes =
        std::max(statistics_.peak_frame_bytes, bytes + replies.total_bytes());
    return !replies.frames().empty();
  }

  void Serve(const AddressedFrame& frame, std::string_view bytes, TimePoint now) {
    const auto parsed = ParseFrame(AsBytes(bytes), FrameLimits{});
    DRYDOCK_CHECK(parsed && *parsed);
    scheduler_.OnFrame({.peer = frame.peer}, (*parsed)->frame, now, scheduler_output_);
    if (scheduler_.topology_state() != statistics_.topology.back().state) {
      statistics_.topology.push_back(
          {.state = scheduler_.topology_state(), .time = now.time_since_epoch()});
    }
  }

  void DeliverReplies(Chunk& chunk, TimePoint now) {
    const FrameBatch& replies = scheduler_output_.replies;
    for (std::size_t i = chunk.first_reply; i < chunk.end_reply; ++i) {
      const AddressedFrame& reply = replies.frames()[i];
      const auto parsed = ParseFrame(AsBytes(replies.BytesOf(reply)), FrameLimits{});
      DRYDOCK_CHECK(parsed && *parsed);
      const auto peer = static_cast<std::size_t>(reply.peer);
      workers_[peer / 2]->OnFrame(static_cast<Channel>(peer % 2), (*parsed)->frame, now,
                                  chunk.output);
      Perform(chunk, peer / 2, now);
    }
  }

  void EndOfWave(Chunk& chunk) {
    chunk.next_deadline = kNever;
    for (std::size_t worker = chunk.begin; worker < chunk.end; ++worker) {
      chunk.next_deadline = std::min(chunk.next_deadline, workers_[worker]->NextDeadline());
    }
    // Buffers belong to the wave: a million ranks must not keep a buffer each thousand.
    chunk.output = WorkerOutput{};
    chunk.frames = {};
  }

  const Executor& executor_;
  const FleetOptions& options_;
  WorkerOptions worker_options_;
  SchedulerCore scheduler_;
  SchedulerOutput scheduler_output_;
  std::vector<std::optional<WorkerCore>> workers_;
  std::vector<Chunk> chunks_;
  FleetStatistics statistics_;
};

}  // namespace

Result<FleetStatistics> RegisterFleet(const Executor& executor, const FleetOptions& options) {
  if (options.worker_num > kMaxFleetWorkers) {
    return Fail(ErrorCode::kUnsupported,
                std::to_string(options.worker_num) + " ranks are more than are played",
                "simulate " + std::to_string(kMaxFleetWorkers) + " ranks at most");
  }
  if (options.worker_num == 0 || options.ranks_per_host == 0) {
    return FailInput("Fleet:size",
                     "a fleet of " + std::to_string(options.worker_num) + " workers, " +
                         std::to_string(options.ranks_per_host) + " per host, cannot be simulated",
                     "simulate 1 to " + std::to_string(kMaxFleetWorkers) + " workers");
  }
  DRYDOCK_TRY(SchedulerCore scheduler, SchedulerCore::Create(SchedulerFor(options), TimePoint{}));
  return FleetRun(executor, options, std::move(scheduler)).Run();
}

}  // namespace drydock::sim
