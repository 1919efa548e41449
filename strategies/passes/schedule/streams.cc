#include "strategies/passes/schedule/streams.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "strategies/operators/collective_facts.h"

/// Streams and events.
///
/// Computation runs on stream 0, collectives on one stream per group. Before a collective its
/// stream waits for everything that stream 0 was given so far; the first kernel that reads its
/// result on another stream waits for it. What a kernel that writes parameters reads was perhaps
/// read by a collective before: then it waits for that stream, too, unless it did so since. At the
/// beginning and the end of a step all streams meet. Before a message goes to another stage,
/// computation waits for those before it. Memory that a collective reads is not free
/// before its stream was waited for, which is why events count here (sim/memory).
///
/// Example: g = MatMul(..); r = AllReduce(g); y = ReLU(..); z = Mul(r, 0.5)
///     MatMul, Send 0, Receive 0 on 1, AllReduce on 1, Send 1 on 1, ReLU, Receive 1, Mul
///
/// Source: mindspore/ccsrc/plugin/device/ascend/hal/hardware/acl_stream_assign.cc
/// (GenEventsForParallelOp, UpdateEventsToExecutionOrder, ProcessSideEffect)
namespace drydock::strategies {
namespace {

class StreamAssignment {
 public:
  StreamAssignment(const KernelGraph& graph, const std::vector<KernelId>& order, const Graph& local)
      : graph_(graph),
        local_(local),
        order_(order),
        streams_(order.size(), 0),
        reads_begin_(order.size() + 1, 0) {}

  std::vector<Launch> Run() && {
    FindStreams();
    FindFirstReaders();
    for (const std::int32_t stream : CollectiveStreams()) {
      Meet(0, stream);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Issue(i);
    }
    for (const std::int32_t stream : CollectiveStreams()) {
      Meet(stream, 0);
    }
    launches_.shrink_to_fit();  // They stay; what they grew from does not.
    return std::move(launches_);
  }

 private:
  /// A collective, and a kernel that waits for it; positions in the order.
  struct FirstRead {
    std::size_t from = 0;
    std::size_t to = 0;
  };

  void FindStreams() {
    std::map<GroupPattern, std::int32_t> of_group;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const KernelNode& node = graph_.at(order_[i]);
      if (node.communication) {
        const auto next = static_cast<std::int32_t>(of_group.size()) + 1;
        streams_[i] = of_group.emplace(node.group.value_or({}), next).first->second;
      }
      const std::vector<KernelOperand> read = TensorsRead(graph_, order_[i]);
      reads_.insert(reads_.end(), read.begin(), read.end());
      reads_begin_[i + 1] = reads_.size();
    }
    stream_count_ = of_group.size() + 1;
    used_on_.assign(graph_.nodes.size() * stream_count_, false);
    unseen_.assign(stream_count_, std::vector<bool>(stream_count_, false));
  }

  [[nodiscard]] std::vector<std::int32_t> CollectiveStreams() const {
    std::vector<std::int32_t> streams;
    for (std::size_t s = 1; s < stream_count_; ++s) {
      streams.push_back(static_cast<std::int32_t>(s));
    }
    return streams;
  }

  /// Events between a collective and the first kernel that reads it on each other stream.
  void FindFirstReaders() {
    std::vector<std::size_t> position(graph_.nodes.size(), order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      position[static_cast<std::size_t>(order_[i])] = i;
    }
    std::set<std::pair<std::size_t, std::int32_t>> seen;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const KernelOperand& operand : Reads(i)) {
        const std::size_t from = position[static_cast<std::size_t>(operand.node)];
        if (from == order_.size() || streams_[from] == 0 || streams_[from] == streams_[i]) {
          continue;
        }
        if (seen.insert({from, streams_[i]}).second) {
          events_to_.push_back({.from = from, .to = i});
        }
        if (streams_[i] != 0) {
          collectives_read_.insert({i, streams_[from]});
        }
      }
    }
    events_ = static_cast<std::int32_t>(events_to_.size());
    for (std::size_t event = 0; event < events_to_.size(); ++event) {
      sent_.push_back(event);
    }
    std::ranges::stable_sort(sent_, {},
                             [this](std::size_t event) { return events_to_[event].from; });
  }

  [[nodiscard]] std::span<const KernelOperand> Reads(std::size_t i) const {
    return {reads_.data() + reads_begin_[i], reads_begin_[i + 1] - reads_begin_[i]};
  }

  /// Events that the kernel at a position waits for.
  void Receive(std::size_t i) {
    for (; received_ < events_to_.size() && events_to_[received_].to == i; ++received_) {
      launches_.push_back({.kind = Launch::Kind::kReceive,
                           .stream = streams_[i],
                           .event = static_cast<std::int32_t>(received_),
                           .other = streams_[events_to_[received_].from]});
    }
  }

  /// Events that wait for the kernel at a position.
  void Send(std::size_t i) {
    for (; sends_done_ < sent_.size() && events_to_[sent_[sends_done_]].from == i; ++sends_done_) {
      launches_.push_back({.kind = Launch::Kind::kSend,
                           .stream = streams_[i],
                           .event = static_cast<std::int32_t>(sent_[sends_done_])});
    }
  }

  /// `waiting` waits for all that `stream` was given.
  void Meet(std::int32_t stream, std::int32_t waiting) {
    const std::int32_t event = events_++;
    launches_.push_back({.kind = Launch::Kind::kSend, .stream = stream, .event = event});
    launches_.push_back(
        {.kind = Launch::Kind::kReceive, .stream = waiting, .event = event, .other = stream});
    unseen_[static_cast<std::size_t>(waiting)][static_cast<std::size_t>(stream)] = false;
  }

  void Issue(std::size_t i) {
    const std::int32_t stream = streams_[i];
    Receive(i);
    if (stream != 0) {
      Meet(0, stream);
      for (auto read = collectives_read_.lower_bound({i, 0});
           read != collectives_read_.end() && read->first == i; ++read) {
        Meet(read->second, stream);
      }
      if (SendsToOne(order_[i])) {
        Meet(stream, 0);
      }
    }
    if (graph_.at(order_[i]).update) {
      MeetReaders(i);
    }
    for (const KernelOperand& operand : Reads(i)) {
      used_on_[Storage(operand.node) * stream_count_ + static_cast<std::size_t>(stream)] = true;
    }
    for (std::size_t s = 0; s < stream_count_; ++s) {
      unseen_[s][static_cast<std::size_t>(stream)] = static_cast<std::int32_t>(s) != stream;
    }
    launches_.push_back({.kernel = order_[i], .stream = stream});
    Send(i);
  }

  /// Messages between stages: computation waits for what was sent and received before.
  [[nodiscard]] bool SendsToOne(KernelId id) const {
    const NodeId origin = graph_.at(id).origin;
    return origin != kNoNode && PointToPointOf(local_.at(origin)) == PointToPoint::kSends;
  }

  /// What this kernel writes or reads may still be read by a collective.
  void MeetReaders(std::size_t i) {
    for (const KernelOperand& operand : Reads(i)) {
      const std::size_t storage = Storage(operand.node) * stream_count_;
      for (std::size_t s = 0; s < stream_count_; ++s) {
        const auto user = static_cast<std::int32_t>(s);
        if (used_on_[storage + s] && user != streams_[i] && Unseen(streams_[i], user)) {
          Meet(user, streams_[i]);
        }
      }
    }
  }

  [[nodiscard]] bool Unseen(std::int32_t waiting, std::int32_t stream) const {
    return unseen_[static_cast<std::size_t>(waiting)][static_cast<std::size_t>(stream)];
  }

  /// The node behind views.
  [[nodiscard]] std::size_t Storage(KernelId id) const {
    while (graph_.at(id).view) {
      const std::vector<KernelOperand> read = RealOperands(graph_, graph_.at(id).inputs.front());
      if (read.empty()) {
        break;
      }
      id = read.front().node;
    }
    return static_cast<std::size_t>(id);
  }

  const KernelGraph& graph_;
  const Graph& local_;
  const std::vector<KernelId>& order_;
  std::vector<std::int32_t> streams_;  ///< Per position in the order.
  std::vector<KernelOperand> reads_ = {};
  std::vector<std::size_t> reads_begin_;   ///< Per position in the order: its first in reads_.
  std::vector<FirstRead> events_to_ = {};  ///< Per event, in the order of the readers.
  std::vector<std::size_t> sent_ = {};     ///< Events in the order of the kernels waited for.
  std::size_t received_ = 0;               ///< Events that are launched.
  std::size_t sends_done_ = 0;             ///< Of sent_.
  /// Position of a collective, stream of a collective that it reads.
  std::set<std::pair<std::size_t, std::int32_t>> collectives_read_ = {};
  std::vector<bool> used_on_ = {};  ///< Per node and stream: it read the node so far.
  /// Per stream: other streams that were given work since this one waited for them.
  std::vector<std::vector<bool>> unseen_ = {};
  std::size_t stream_count_ = 1;
  std::int32_t events_ = 0;
  std::vector<Launch> launches_ = {};
};

}  // namespace

std::vector<Launch> AssignStreams(const KernelGraph& graph, const std::vector<KernelId>& order,
                                  const Graph& local) {
  return StreamAssignment(graph, order, local).Run();
}

}  // namespace drydock::strategies
