#include "strategies/program/rendezvous.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <utility>

/// Is the order of sends and receives of all stages free of deadlock?
///
/// The ranks at one position of all stages talk to each other only. Each runs through its transfers
/// in the order of their launch, on one stream; a Send waits for its Receive and a Receive for its
/// Send. Two ranks go on when the one at hand in both is the same message: same two ranks, same
/// number, type and bytes. If nobody can go on before all are through, they would wait forever.
/// Positions whose ranks run the same programs are looked at once. Cost: transfers of all stages
/// plus ranks.
///
/// Example: rank 0 does Send 0, Receive 0'; rank 4 Receive 0, Send 0'. If rank 4 began with Send
/// 0', both would send and nobody receive.
///
/// What a result that skips a stage needs, the original's schedule orders like that: the third
/// stage sends its gradient to the first one before that of the second, which the first one awaits.
/// Such a job runs where a Send ends as soon as its message is on the way. Messages that the
/// pipeline itself made are therefore looked at a second time, with Sends that do not wait and
/// Receives that take the messages of a sender in order; what held them up is told apart from a
/// conflict. A message that nobody receives is one there, too.
namespace drydock::strategies {
namespace {

/// Positions in a sequence of the transfers in it.
std::vector<const RankCollective*> TransfersOf(const CollectiveSequence& sequence) {
  std::vector<const RankCollective*> transfers;
  for (const RankCollective& item : sequence.collectives) {
    if (item.half != PointToPoint::kNone) {
      transfers.push_back(&item);
    }
  }
  return transfers;
}

std::string DescribeTransfer(const RankCollective& transfer) {
  return std::string(transfer.kind) + " " + std::to_string(transfer.tag) + " of " +
         std::to_string(transfer.payload_bytes) + " B " + std::string(DTypeName(transfer.dtype)) +
         (transfer.line.empty() ? "" : " (" + transfer.line + ")");
}

/// The ranks at one position of all stages.
class Column {
 public:
  Column(const std::vector<std::vector<const RankCollective*>>& transfers,
         std::vector<std::int32_t> sequences, std::int64_t first_rank, std::int64_t stage_devices)
      : transfers_(transfers),
        sequences_(std::move(sequences)),
        first_rank_(first_rank),
        stage_devices_(stage_devices),
        next_(sequences_.size(), 0) {}

  Rendezvous Run() {
    std::vector<std::size_t> awake = AllStages();
    while (!awake.empty() && result_.first_conflict.empty()) {
      const std::size_t stage = awake.back();
      awake.pop_back();
      const std::size_t other = PeerOf(stage);
      if (other < sequences_.size() && Meet(stage, other)) {
        ++next_[stage];
        ++next_[other];
        ++result_.transfers;
        awake.push_back(other);
        awake.push_back(stage);
      }
    }
    for (std::size_t stage = 0; stage < next_.size() && result_.first_conflict.empty(); ++stage) {
      if (Head(stage) != nullptr) {
        Stuck(stage);
      }
    }
    return std::move(result_);
  }

  /// The same with Sends that do not wait.
  Rendezvous RunBuffered() {
    bool moved = true;
    while (moved && result_.first_conflict.empty()) {
      moved = false;
      for (std::size_t stage = 0; stage < next_.size(); ++stage) {
        while (Head(stage) != nullptr && StepBuffered(stage)) {
          moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < next_.size() && result_.first_conflict.empty(); ++stage) {
      if (Head(stage) != nullptr) {
        Stuck(stage);
      }
    }
    for (const auto& [ends, waiting] : on_the_way_) {
      if (!waiting.empty() && result_.first_conflict.empty()) {
        result_.first_conflict = "rank " + std::to_string(RankOf(ends.first)) + " does " +
                                 DescribeTransfer(*waiting.front()) + ", which its peer, rank " +
                                 std::to_string(RankOf(ends.second)) + ", never receives";
      }
    }
    return std::move(result_);
  }

  /// True if the pipeline made all messages, not the script.
  [[nodiscard]] bool AllOfPipeline() const {
    return std::ranges::all_of(sequences_, [this](std::int32_t sequence) {
      return std::ranges::all_of(transfers_[static_cast<std::size_t>(sequence)],
                                 [](const RankCollective* item) { return item->of_pipeline; });
    });
  }

 private:
  [[nodiscard]] std::vector<std::size_t> AllStages() const {
    std::vector<std::size_t> stages;
    for (std::size_t stage = sequences_.size(); stage-- > 0;) {
      stages.push_back(stage);
    }
    return stages;
  }

  bool StepBuffered(std::size_t stage) {
    const std::size_t other = PeerOf(stage);
    if (other >= sequences_.size()) {
      return false;
    }
    const RankCollective* const mine = Head(stage);
    if (mine->half == PointToPoint::kSends) {
      on_the_way_[{stage, other}].push_back(mine);
    } else {
      std::deque<const RankCollective*>& waiting = on_the_way_[{other, stage}];
      if (waiting.empty() || !Fits(stage, *mine, other, *waiting.front())) {
        return false;
      }
      waiting.pop_front();
      ++result_.transfers;
    }
    ++next_[stage];
    return true;
  }

  [[nodiscard]] const RankCollective* Head(std::size_t stage) const {
    const auto& list = transfers_[static_cast<std::size_t>(sequences_[stage])];
    return next_[stage] < list.size() ? list[next_[stage]] : nullptr;
  }

  [[nodiscard]] std::int64_t RankOf(std::size_t stage) const {
    return first_rank_ + static_cast<std::int64_t>(stage) * stage_devices_;
  }

  /// The stage that the transfer at hand needs; one that is not there if there is none.
  [[nodiscard]] std::size_t PeerOf(std::size_t stage) const {
    const RankCollective* const head = Head(stage);
    if (head == nullptr) {
      return sequences_.size();
    }
    const std::int64_t distance = head->rank_distance / stage_devices_;
    const bool sends = head->half == PointToPoint::kSends;
    return static_cast<std::size_t>(static_cast<std::int64_t>(stage) +
                                    (sends ? distance : -distance));
  }

  bool Meet(std::size_t stage, std::size_t other) {
    const RankCollective* const mine = Head(stage);
    const RankCollective* const theirs = Head(other);
    if (theirs == nullptr || theirs->half == mine->half || PeerOf(other) != stage) {
      return false;
    }
    return Fits(stage, *mine, other, *theirs);
  }

  bool Fits(std::size_t stage, const RankCollective& mine, std::size_t other,
            const RankCollective& theirs) {
    const bool equal = theirs.payload_bytes == mine.payload_bytes && theirs.dtype == mine.dtype &&
                       theirs.tag == mine.tag;
    if (!equal) {
      result_.first_conflict = "rank " + std::to_string(RankOf(stage)) + " does " +
                               DescribeTransfer(mine) + ", its peer, rank " +
                               std::to_string(RankOf(other)) + ", " + DescribeTransfer(theirs);
    }
    return equal;
  }

  void Stuck(std::size_t stage) {
    const std::size_t other = PeerOf(stage);
    const RankCollective* const theirs = other < sequences_.size() ? Head(other) : nullptr;
    result_.first_conflict =
        "rank " + std::to_string(RankOf(stage)) + " waits forever in " +
        DescribeTransfer(*Head(stage)) +
        (other >= sequences_.size()
             ? ": there is no such stage"
             : " for rank " + std::to_string(RankOf(other)) +
                   (theirs == nullptr ? ", which has no transfer left"
                                      : ", which waits in " + DescribeTransfer(*theirs)));
  }

  const std::vector<std::vector<const RankCollective*>>& transfers_;
  std::vector<std::int32_t> sequences_;  ///< Per stage.
  std::int64_t first_rank_;
  std::int64_t stage_devices_;
  std::vector<std::size_t> next_;  ///< Per stage: its transfer at hand.
  /// By sender and receiver: what was sent and not received, where Sends do not wait.
  std::map<std::pair<std::size_t, std::size_t>, std::deque<const RankCollective*>> on_the_way_ = {};
  Rendezvous result_ = {};
};

}  // namespace

Rendezvous MeetTransfers(const std::vector<CollectiveSequence>& sequences,
                         const std::vector<std::int32_t>& sequence_of_rank,
                         std::int64_t stage_devices) {
  std::vector<std::vector<const RankCollective*>> transfers;
  transfers.reserve(sequences.size());
  for (const CollectiveSequence& sequence : sequences) {
    transfers.push_back(TransfersOf(sequence));
  }
  Rendezvous result;
  std::set<std::vector<std::int32_t>> seen;
  for (std::int64_t rank = 0; rank < stage_devices && result.first_conflict.empty(); ++rank) {
    std::vector<std::int32_t> column;
    bool open = false;
    for (std::int64_t r = rank; r < std::ssize(sequence_of_rank); r += stage_devices) {
      column.push_back(sequence_of_rank[static_cast<std::size_t>(r)]);
      open = open || sequences[static_cast<std::size_t>(column.back())].open;
    }
    if (open || !seen.insert(column).second) {
      continue;
    }
    Rendezvous met = Column(transfers, column, rank, stage_devices).Run();
    Column again(transfers, std::move(column), rank, stage_devices);
    if (!met.first_conflict.empty() && again.AllOfPipeline()) {
      Rendezvous buffered = again.RunBuffered();
      if (buffered.first_conflict.empty()) {
        buffered.first_wait = std::move(met.first_conflict);
        met = std::move(buffered);
      }
    }
    result.transfers += met.transfers;
    result.first_conflict = std::move(met.first_conflict);
    result.first_wait = result.first_wait.empty() ? std::move(met.first_wait) : result.first_wait;
  }
  return result;
}

}  // namespace drydock::strategies
