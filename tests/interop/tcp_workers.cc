// Plays many workers of one job over TCP from one process, for tests and benchmarks:
//
//   tcp_workers HOST PORT WORKER_NUM FIRST COUNT STAY_SECONDS
//
// Prints "start <wall clock>", and "ready <count> <seconds>" when all of its workers know their
// rank, stays for a while with heartbeats, leaves, and prints "left". Status 1 if a worker gave up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "launcher/net/tcp_worker.h"

namespace {

using drydock::Duration;
using drydock::TimePoint;
using drydock::launcher::EventLoop;
using drydock::launcher::TcpWorker;
using drydock::sim::WorkerAction;

constexpr int kArguments = 7;
constexpr std::size_t kStartedAtOnce = 64;

struct Swarm {
  EventLoop loop = {};
  std::vector<std::unique_ptr<TcpWorker>> workers = {};
  std::unique_ptr<drydock::launcher::Timer> leave_timer = {};
  TimePoint start = {};
  Duration stay = {};
  std::size_t ready = 0;
  std::size_t left = 0;
  int status = 0;

  /// Starts the workers little by little: those that are connected get their turn between.
  void StartFrom(std::size_t first) {
    const std::size_t last = std::min(workers.size(), first + kStartedAtOnce);
    for (std::size_t i = first; i < last; ++i) {
      workers[i]->Start();
    }
    if (last < workers.size()) {
      loop.Post([this, last] { StartFrom(last); });
    }
  }
  void Hear(const TcpWorker& worker, const WorkerAction& action) {
    if (action.kind == WorkerAction::Kind::kReady && ++ready == workers.size()) {
      const std::chrono::duration<double> seconds = loop.Now() - start;
      std::printf("ready %zu %.4f\n", ready, seconds.count());
      std::fflush(stdout);
      leave_timer->Set(loop.Now() + stay);
    }
    if (action.kind == WorkerAction::Kind::kFailed) {
      std::printf("failed %s\n", worker.core().failure()->message.c_str());
      status = 1;
    }
    const bool over =
        action.kind == WorkerAction::Kind::kFailed || action.kind == WorkerAction::Kind::kLeft;
    if (over && ++left == workers.size()) {
      loop.Stop();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() != kArguments) {
    std::fprintf(stderr, "usage: tcp_workers HOST PORT WORKER_NUM FIRST COUNT STAY_SECONDS\n");
    return 2;
  }
  const auto number = [&words](std::size_t at) {
    return static_cast<std::uint32_t>(std::strtoul(words[at].c_str(), nullptr, 10));
  };
  const drydock::launcher::Endpoint scheduler{words[1], static_cast<std::uint16_t>(number(2))};
  drydock::sim::WorkerOptions options{.worker_num = number(3),
                                      .scheduler_address = EndpointText(scheduler)};
  Swarm swarm;
  swarm.stay = std::chrono::seconds(number(6));
  swarm.leave_timer = swarm.loop.MakeTimer([&swarm] {
    for (const auto& worker : swarm.workers) {
      worker->Leave();
    }
  });
  for (std::uint32_t i = 0; i < number(5); ++i) {
    const std::uint32_t rank = number(4) + i;
    swarm.workers.push_back(std::make_unique<TcpWorker>(
        TcpWorker::Place{.loop = swarm.loop, .scheduler = scheduler}, options,
        drydock::sim::WorkerIdentity{.node_id = std::to_string(rank),
                                     .host_name = "host",
                                     .device_id = rank,
                                     .jitter_seed = rank},
        [&swarm](TcpWorker& worker, const WorkerAction& action, std::string_view) {
          swarm.Hear(worker, action);
        }));
  }
  const std::chrono::duration<double> wall_clock =
      std::chrono::system_clock::now().time_since_epoch();
  std::printf("start %.6f\n", wall_clock.count());
  std::fflush(stdout);
  swarm.start = swarm.loop.Now();
  swarm.StartFrom(0);
  swarm.loop.Run();
  std::printf("left\n");
  return swarm.status;
}
