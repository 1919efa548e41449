// SimGrid as an oracle: the same transfers on the same links, flow by flow.
//
// Our model has closed forms per collective and level, and shares a device's links evenly among
// what runs on them. SimGrid (simgrid.org, LGPL) solves for the rates of all flows on all links.
// Where a device has links of its own both must agree. An engine lives once per process, so all
// cases are parts of one platform that run side by side; each writes down when it ended.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>

#include "sim/timing/collective_time.h"
#include "sim/timing/event_engine.h"

namespace drydock::sim {
namespace {

namespace sg = simgrid::s4u;

constexpr double kInside = 10e9;  // Bytes per second of a device in its node,
constexpr double kOutside = 1e9;  // and between nodes.
constexpr double kInsideLatency = 2e-6;
constexpr double kOutsideLatency = 20e-6;
constexpr double kBytes = 64e6;
constexpr int kPerNode = 4;

/// The same network as a profile.
HardwareProfile Network(double oversubscription) {
  HardwareProfile profile{.name = "oracle"};
  const std::vector<CollectiveAlgorithm> ring = {CollectiveAlgorithm::kRing};
  profile.levels = {{.name = "node",
                     .devices = kPerNode,
                     .algorithms = ring,
                     .bytes_per_second = kInside,
                     .latency_seconds = kInsideLatency},
                    {.name = "spine",
                     .algorithms = ring,
                     .bytes_per_second = kOutside,
                     .latency_seconds = kOutsideLatency,
                     .oversubscription = oversubscription}};
  return profile;
}

/// Devices with a link out and a link in on each of two levels; nodes behind a core link if asked.
class Cluster {
 public:
  Cluster(sg::NetZone* zone, std::string name, int devices, double core_bytes_per_second = 0)
      : zone_(zone), name_(std::move(name)) {
    for (int d = 0; d < devices; ++d) {
      hosts_.push_back(zone->create_host(name_ + std::to_string(d), 1e9)->seal());
      for (const char* level : {"inside", "outside"}) {
        const bool inside = std::string(level) == "inside";
        for (const char* way : {"-out-", "-in-"}) {
          const double latency = (inside ? kInsideLatency : kOutsideLatency) / 2;
          links_[level + std::string(way) + std::to_string(d)] =
              zone->create_link(name_ + level + way + std::to_string(d),
                                inside ? kInside : kOutside)
                  ->set_latency(latency)
                  ->seal();
        }
      }
    }
    if (core_bytes_per_second > 0) {
      core_ = zone->create_link(name_ + "core", core_bytes_per_second)->seal();
    }
    for (int a = 0; a < devices; ++a) {
      for (int b = 0; b < devices; ++b) {
        if (a != b) {
          AddRoute(a, b);
        }
      }
    }
  }
  [[nodiscard]] sg::Host* host(int device) const {
    return hosts_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] sg::Mailbox* box(int from, int to) const {
    return sg::Mailbox::by_name(name_ + std::to_string(from) + ">" + std::to_string(to));
  }

 private:
  void AddRoute(int a, int b) {
    const std::string level = a / kPerNode == b / kPerNode ? "inside" : "outside";
    std::vector<sg::LinkInRoute> route = {
        sg::LinkInRoute(links_[level + "-out-" + std::to_string(a)])};
    if (core_ != nullptr && level == "outside") {
      route.emplace_back(core_);
    }
    route.emplace_back(links_[level + "-in-" + std::to_string(b)]);
    zone_->add_route(host(a)->get_netpoint(), host(b)->get_netpoint(), nullptr, nullptr, route,
                     false);
  }
  sg::NetZone* zone_;
  std::string name_;
  std::vector<sg::Host*> hosts_ = {};
  std::map<std::string, sg::Link*> links_ = {};
  sg::Link* core_ = nullptr;
};

/// One step: sends to one device while receiving from another.
void Exchange(const Cluster& cluster, int self, int to, int from, double bytes) {
  static int token = 0;
  int* got = nullptr;
  sg::CommPtr send = cluster.box(self, to)->put_async(&token, static_cast<std::uint64_t>(bytes));
  sg::CommPtr receive = cluster.box(from, self)->get_async<int>(&got);
  send->wait();
  receive->wait();
}

/// `steps` steps of a ring among devices first, first + stride, ...
void Ring(const Cluster& cluster, int self, int first, int stride, int members, int steps,
          double bytes) {
  const int index = (self - first) / stride;
  const int next = first + ((index + 1) % members) * stride;
  const int last = first + ((index + members - 1) % members) * stride;
  for (int step = 0; step < steps; ++step) {
    Exchange(cluster, self, next, last, bytes);
  }
}

/// When each case ended, by name.
using EndTimes = std::map<std::string, double>;

struct Cases {
  explicit Cases(sg::NetZone* zone)
      : ring(zone, "ring", kPerNode),
        strided(zone, "strided", 2 * kPerNode),
        levels(zone, "levels", 2 * kPerNode),
        all(zone, "all", kPerNode),
        narrow(zone, "narrow", 2 * kPerNode, kOutside * kPerNode / 2),
        shared(zone, "shared", 3) {}
  void Note(const std::string& test) { ends[test] = std::max(ends[test], sg::Engine::get_clock()); }

  /// What happens in one node, and from each of its devices to one of another node.
  void StartInNode() {
    for (int d = 0; d < kPerNode; ++d) {
      sg::Actor::create("ring", ring.host(d), [this, d] {
        Ring(ring, d, 0, 1, kPerNode, 2 * (kPerNode - 1), kBytes / kPerNode);
        Note("ring");
      });
      sg::Actor::create("all", all.host(d), [this, d] {
        for (int k = 1; k < kPerNode; ++k) {
          Exchange(all, d, (d + k) % kPerNode, (d + kPerNode - k) % kPerNode, kBytes / kPerNode);
        }
        Note("all");
      });
      StartMessage(narrow, d, d + kPerNode, kBytes, "narrow");
    }
  }

  void StartBetweenNodes() {
    for (int d = 0; d < 2 * kPerNode; ++d) {
      sg::Actor::create("strided", strided.host(d), [this, d] {
        Ring(strided, d, d % kPerNode, kPerNode, 2, 2, kBytes / 2);
        Note("strided");
      });
      sg::Actor::create("levels", levels.host(d), [this, d] {
        const int node = d / kPerNode * kPerNode;
        Ring(levels, d, node, 1, kPerNode, kPerNode - 1, kBytes / kPerNode);
        Ring(levels, d, d % kPerNode, kPerNode, 2, 2, kBytes / kPerNode / 2);
        Ring(levels, d, node, 1, kPerNode, kPerNode - 1, kBytes / kPerNode);
        Note("levels");
      });
    }
  }

  void StartMessage(const Cluster& cluster, int from, int to, double bytes,
                    const std::string& test) {
    sg::Actor::create("send", cluster.host(from), [this, &cluster, from, to, bytes, test] {
      static int token = 0;
      cluster.box(from, to)->put(&token, static_cast<std::uint64_t>(bytes));
      Note(test);
    });
    sg::Actor::create("take", cluster.host(to),
                      [&cluster, from, to] { cluster.box(from, to)->get<int>(); });
  }

  Cluster ring, strided, levels, all, narrow, shared;
  EndTimes ends = {};
};

/// All cases in one run of the engine.
EndTimes Simulate() {
  int argc = 1;
  char name[] = "simgrid_test";
  char* argv[] = {name, nullptr};
  sg::Engine engine(&argc, argv);
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0",
        "network/bandwidth-factor:1", "network/latency-factor:1", "network/crosstraffic:0"}) {
    sg::Engine::set_config(setting);
  }
  sg::NetZone* zone = sg::create_full_zone("world");
  Cases cases(zone);
  zone->seal();
  cases.StartInNode();
  cases.StartBetweenNodes();
  for (int to = 1; to <= 2; ++to) {
    cases.StartMessage(cases.shared, 0, to, kBytes * to, "shared" + std::to_string(to));
  }
  engine.run();
  return cases.ends;
}

const EndTimes& Ends() {
  static const EndTimes ends = Simulate();
  return ends;
}

double Ours(CollectivePattern pattern, std::int64_t size, std::int64_t stride,
            double oversubscription = 1) {
  const HardwareProfile profile = Network(oversubscription);
  return CollectiveTime(
             profile, {.pattern = pattern, .bytes = kBytes, .span = SpanOf(profile, size, stride)})
      .seconds;
}

constexpr double kTolerance = 1e-3;  // SimGrid stops comparing at 1e-5 of a flow.

TEST(SimGrid, RingAllReduceInANode) {
  EXPECT_NEAR(Ours(CollectivePattern::kAllReduce, kPerNode, 1) / Ends().at("ring"), 1, kTolerance);
}

TEST(SimGrid, AllReduceBetweenNodesUsesTheAdapterOfEachDevice) {
  EXPECT_NEAR(Ours(CollectivePattern::kAllReduce, 2, kPerNode) / Ends().at("strided"), 1,
              kTolerance);
}

TEST(SimGrid, AllReduceOverTwoLevels) {
  EXPECT_NEAR(Ours(CollectivePattern::kAllReduce, 2 * kPerNode, 1) / Ends().at("levels"), 1,
              kTolerance);
}

TEST(SimGrid, AlltoAllInANode) {
  EXPECT_NEAR(Ours(CollectivePattern::kAllToAll, kPerNode, 1) / Ends().at("all"), 1, kTolerance);
}

TEST(SimGrid, AnOversubscribedTreeIsThatMuchNarrower) {
  EXPECT_NEAR(Ours(CollectivePattern::kMessage, 2, kPerNode, 2) / Ends().at("narrow"), 1,
              kTolerance);
}

TEST(SimGrid, TransfersOfOneDeviceShareItsLink) {
  const double alone = kBytes / kInside;
  TimedJob job;
  job.programs.resize(1);
  TimedProgram& program = job.programs.front();
  program.streams = 3;
  program.costs = {{.seconds = alone, .use = LinkUse::kOut},
                   {.seconds = 2 * alone, .use = LinkUse::kOut}};
  program.tasks = {{.kind = TimedTask::Kind::kTransfer, .stream = 1, .cost = 0},
                   {.kind = TimedTask::Kind::kTransfer, .stream = 2, .cost = 1}};
  const TimedRun run = RunTimedJob(job);
  EXPECT_NEAR((run.end[0] + kInsideLatency) / Ends().at("shared1"), 1, kTolerance);
  EXPECT_NEAR((run.end[1] + kInsideLatency) / Ends().at("shared2"), 1, kTolerance);
}

}  // namespace
}  // namespace drydock::sim
