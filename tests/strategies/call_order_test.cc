#include "strategies/passes/schedule/call_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/passes/schedule/pipeline_schedule.h"
#include "strategies/passes/schedule/sequence_calls.h"

namespace drydock::strategies {
namespace {

using What = CallSpot::What;

std::string NameOf(const CallOrder& order, const CallSpot& spot) {
  const PipelineTask& task = (spot.backward ? order.backward : order.forward)[spot.index];
  return (spot.backward ? "B" : "F") + std::to_string(task.micro) + std::to_string(task.chunk);
}

TEST(CallOrder, TwoStagesOfTwoPartsAlternateBehindTheWarmUp) {
  // Warm-up of stage 0: stages * (parts - 1) + 2 * (stages behind) = 2 * 1 + 2 * 1 = 4 forward
  // calls, then one backward call behind each forward one.
  const CallOrder order =
      OrderOfCalls(PipelineScheduler::k1F1B, {.stages = 2, .micros = 4, .chunks = 2}, 0);
  std::string text;
  for (const CallSpot& spot : order.calls) {
    text += NameOf(order, spot) + " ";
  }
  EXPECT_EQ(text, "F00 F10 F01 F11 F20 B01 F30 B11 F21 B00 F31 B10 B21 B31 B20 B30 ");
}

std::vector<PipelineTask> TasksOf(PipelineScheduler scheduler, const PipelineShape& shape,
                                  std::int64_t stage) {
  return PipelineOrder(scheduler, shape, stage).value_or(std::vector<PipelineTask>());
}

CallOrder OrderOf(PipelineScheduler scheduler, const PipelineShape& shape, std::int64_t stage) {
  if (scheduler == PipelineScheduler::k1F1B || scheduler == PipelineScheduler::kGPipe) {
    return OrderOfCalls(scheduler, shape, stage);
  }
  return OrderOfSequenceCalls(scheduler, shape, stage, TasksOf(scheduler, shape, stage));
}

TEST(CallOrder, OnePartPerStageIsOneForwardOneBackward) {
  // The first of two stages is one forward call ahead, the last one does backward at once.
  const PipelineShape shape{.stages = 2, .micros = 3};
  const auto text = [&shape](std::int64_t stage) {
    const CallOrder order = OrderOf(PipelineScheduler::kSeqPipe, shape, stage);
    std::string calls = order.copies ? "copies " : "";
    for (const CallSpot& spot : order.calls) {
      calls += NameOf(order, spot) + " ";
    }
    return calls;
  };
  EXPECT_EQ(text(0), "copies F00 F10 B00 F20 B10 B20 ");
  EXPECT_EQ(text(1), "F00 B00 F10 B10 F20 B20 ");
}

/// A message between two stages: who sends, forward or back, micro batch, part of the sender.
using Message = std::tuple<std::int64_t, bool, std::int32_t, std::int32_t>;
struct Step {
  bool sends = false;
  std::int64_t other = 0;
  Message message = {};
};

/// What a stage does with other stages, in an order that its edges allow: spots as early as may be.
class Stage {
 public:
  Stage(PipelineScheduler scheduler, const PipelineShape& shape, std::int64_t stage)
      : shape_(shape), stage_(stage), order_(OrderOf(scheduler, shape, stage)) {}

  std::optional<std::vector<Step>> Steps() {
    std::map<Key, std::vector<Key>> prior;
    std::optional<Key> last;
    for (const CallSpot& call : order_.calls) {
      const Key key = KeyOf(call);
      prior[key];
      if (last) {
        prior[key].push_back(*last);
      }
      last = key;
      for (const What what : {What::kReceive, What::kSend}) {
        const CallSpot spot{.what = what, .backward = call.backward, .index = call.index};
        if (Crosses(spot)) {
          prior[what == What::kReceive ? key : KeyOf(spot)].push_back(
              what == What::kReceive ? KeyOf(spot) : key);
          prior[KeyOf(spot)];
        }
      }
    }
    for (const auto& [from, to] : order_.edges) {
      if (KeyOf(from) != KeyOf(to)) {
        prior[KeyOf(to)].push_back(KeyOf(from));
      }
    }
    return Sorted(std::move(prior));
  }

 private:
  using Key = std::tuple<bool, std::size_t, What>;

  [[nodiscard]] const PipelineTask& TaskOf(bool backward, std::size_t index) const {
    return (backward ? order_.backward : order_.forward)[index];
  }
  [[nodiscard]] std::int64_t PositionOf(const CallSpot& spot) const {
    return TaskOf(spot.backward, spot.index).chunk * shape_.stages + stage_;
  }
  [[nodiscard]] bool Crosses(const CallSpot& spot) const {
    const std::int64_t end = shape_.stages * shape_.chunks - 1;
    const bool begins = PositionOf(spot) == (spot.backward ? end : 0);
    const bool ends = PositionOf(spot) == (spot.backward ? 0 : end);
    return spot.what == What::kReceive ? !begins : spot.what == What::kSend && !ends;
  }
  [[nodiscard]] Key KeyOf(const CallSpot& spot) const {
    return {spot.backward, spot.index, Crosses(spot) ? spot.what : What::kCall};
  }

  [[nodiscard]] std::optional<std::vector<Step>> Sorted(
      std::map<Key, std::vector<Key>> prior) const {
    std::vector<Step> steps;
    std::vector<Key> done;
    while (!prior.empty()) {
      const auto next = std::ranges::find_if(prior, [&done](const auto& item) {
        return std::ranges::all_of(item.second, [&done](const Key& key) {
          return std::ranges::find(done, key) != done.end();
        });
      });
      if (next == prior.end()) {
        return std::nullopt;
      }
      const auto [backward, index, what] = next->first;
      if (what != What::kCall) {
        steps.push_back(StepOf({.what = what, .backward = backward, .index = index}));
      }
      done.push_back(next->first);
      prior.erase(next);
    }
    return steps;
  }

  [[nodiscard]] Step StepOf(const CallSpot& spot) const {
    const bool sends = spot.what == What::kSend;
    const std::int64_t here = PositionOf(spot);
    const std::int64_t there = here + (sends == spot.backward ? -1 : 1);
    const std::int64_t from = sends ? here : there;
    return {.sends = sends,
            .other = there % shape_.stages,
            .message = {from, spot.backward, TaskOf(spot.backward, spot.index).micro, 0}};
  }

  PipelineShape shape_;
  std::int64_t stage_;
  CallOrder order_;
};

/// Stages run against each other: a Send ends when its Receive is there.
bool AllMeet(const std::vector<std::vector<Step>>& stages) {
  std::vector<std::size_t> next(stages.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t a = 0; a < stages.size(); ++a) {
      if (next[a] == stages[a].size()) {
        continue;
      }
      const Step& mine = stages[a][next[a]];
      const auto b = static_cast<std::size_t>(mine.other);
      if (next[b] < stages[b].size() && stages[b][next[b]].sends != mine.sends &&
          stages[b][next[b]].message == mine.message) {
        ++next[a];
        ++next[b];
        moved = true;
      }
    }
  }
  for (std::size_t a = 0; a < stages.size(); ++a) {
    if (next[a] != stages[a].size()) {
      return false;
    }
  }
  return true;
}

struct Case {
  PipelineScheduler scheduler = PipelineScheduler::k1F1B;
  std::int64_t stages = 2;
  std::int64_t chunks = 2;
  std::int64_t micros = 4;
};

std::string NameOfCase(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  constexpr std::array<const char*, 5> kNames = {"OneFOneB", "GPipe", "SeqPipe", "SeqVpp",
                                                 "SeqSmartVpp"};
  return std::string(kNames[static_cast<std::size_t>(c.scheduler)]) + "Stages" +
         std::to_string(c.stages) + "Parts" + std::to_string(c.chunks) + "Micros" +
         std::to_string(c.micros);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (std::int64_t micros = 4; micros < 20; ++micros) {  // No multiples either.
    cases.push_back({PipelineScheduler::kSeqPipe, 4, 1, micros});
    cases.push_back({PipelineScheduler::kSeqPipe, 3, 4, micros});
  }
  for (const PipelineScheduler scheduler :
       {PipelineScheduler::k1F1B, PipelineScheduler::kGPipe, PipelineScheduler::kSeqPipe,
        PipelineScheduler::kSeqVpp, PipelineScheduler::kSeqSmartVpp}) {
    for (const std::int64_t stages : {2, 4, 8}) {
      for (const std::int64_t chunks : {2, 3}) {
        for (const std::int64_t rounds : {1, 2, 3}) {
          cases.push_back({scheduler, stages, chunks, rounds * stages});
        }
      }
    }
  }
  return cases;
}

class EveryShape : public testing::TestWithParam<Case> {};

TEST_P(EveryShape, NoStageWaitsForever) {
  const auto& [scheduler, stages, chunks, micros] = GetParam();
  std::vector<std::vector<Step>> steps;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const PipelineShape shape{.stages = stages, .micros = micros, .chunks = chunks};
    std::optional<std::vector<Step>> of_stage = Stage(scheduler, shape, stage).Steps();
    ASSERT_TRUE(of_stage.has_value()) << "edges of stage " << stage << " go in a circle";
    steps.push_back(*std::move(of_stage));
  }
  EXPECT_TRUE(AllMeet(steps));
}

INSTANTIATE_TEST_SUITE_P(CallOrder, EveryShape, testing::ValuesIn(Cases()), NameOfCase);

}  // namespace
}  // namespace drydock::strategies
