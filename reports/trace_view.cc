#include "reports/trace_view.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/json_writer.h"
#include "reports/place.h"
#include "reports/tensor_list.h"

/// A trace of half a million kernels is some 60 MB of text, so it is written straight into one
/// string: what kernels of one price have in common is made once. Where lifetimes were kept, memory
/// in use stands beside the kernels as a counter, with what a screen could show of it: changes of a
/// thousandth of the peak, and the peak itself.
/// Format: Trace Event Format,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
namespace drydock::reports {
namespace {

using sim::TimedTask;

constexpr double kMicro = 1e6;
constexpr std::size_t kEventBytes = 130;

void AppendMicros(std::string& text, double seconds) {
  std::array<char, 48> buffer = {};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds * kMicro,
                                 std::chars_format::fixed, 3);
  text.append(buffer.data(), end.ptr);
}

class TraceWriter {
 public:
  explicit TraceWriter(const sim::DryRunResult& result) : result_(result), line_(*result.time) {}

  std::string Run(std::string_view run_id) {
    text_.reserve(line_.run.end.size() * kEventBytes + 4096);
    text_ += "{\"schema\":\"drydock.trace/1\",\"run\":" + QuotedText(run_id) +
             ",\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (std::size_t c = 0; c < line_.plan.classes.size(); ++c) {
      AddNames(c);
      AddTasks(c);
      AddMemory(c);
    }
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  void Next() {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  void AddMeta(std::string_view kind, std::size_t process, std::size_t thread,
               const std::string& name) {
    Next();
    text_ += "{\"ph\":\"M\",\"name\":\"" + std::string(kind) +
             "\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) +
             ",\"args\":{\"name\":" + QuotedText(name) + "}}";
  }

  void AddNames(std::size_t c) {
    const sim::TimedClass& item = line_.plan.classes[c];
    const sim::TimedProgram& program = line_.plan.job.programs[c];
    AddMeta("process_name", c, 0,
            "stage " + std::to_string(ToInt(result_.job.programs[item.program].stage)) +
                ", ranks " + RankSetText(item.ranks));
    std::vector<std::string> names(program.streams);
    names.front() = "computation";
    for (const TimedTask& task : program.tasks) {
      if (task.kind == TimedTask::Kind::kTransfer && names[task.stream].empty()) {
        const sim::CostFacts& facts = item.facts[static_cast<std::size_t>(task.cost)];
        names[task.stream] = facts.half != strategies::PointToPoint::kNone
                                 ? "messages"
                                 : "groups of " + std::to_string(SizeOf(facts.span));
      }
    }
    for (std::size_t s = 0; s < names.size(); ++s) {
      AddMeta("thread_name", c, s, names[s].empty() ? "stream " + std::to_string(s) : names[s]);
    }
  }

  /// Everything behind the duration of a task, by its price.
  std::string TailOf(std::size_t c, std::size_t cost) const {
    const sim::TimedClass& item = line_.plan.classes[c];
    const sim::CostFacts& facts = item.facts[cost];
    const strategies::LocalProgram& program = result_.job.programs[item.program];
    std::string tail = ",\"name\":" + QuotedText(program.kernels.at(facts.kernel).name.str());
    std::string place;
    if (facts.origin != strategies::kNoNode) {
      place = ShortPlaceText(PlaceReportOf(program.local, program.local.at(facts.origin)));
    }
    if (facts.transfer) {
      tail += ",\"args\":{\"line\":" + QuotedText(place) +
              ",\"bytes\":" + std::to_string(static_cast<std::int64_t>(facts.bytes)) +
              ",\"level\":" + QuotedText(line_.hardware.levels[OuterLevel(facts.span)].name) + "}";
    } else if (!place.empty()) {
      tail += ",\"args\":{\"line\":" + QuotedText(place) + "}";
    }
    return tail + "}";
  }

  void AddTasks(std::size_t c) {
    const sim::TimedProgram& program = line_.plan.job.programs[c];
    std::vector<std::string> tails(program.costs.size());
    const std::string head = "{\"ph\":\"X\",\"pid\":" + std::to_string(c) + ",\"tid\":";
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      const TimedTask& task = program.tasks[t];
      if (task.kind != TimedTask::Kind::kKernel && task.kind != TimedTask::Kind::kTransfer) {
        continue;
      }
      const auto cost = static_cast<std::size_t>(task.cost);
      if (tails[cost].empty()) {
        tails[cost] = TailOf(c, cost);
      }
      const std::size_t number = static_cast<std::size_t>(line_.run.first[c]) + t;
      Next();
      text_ += head;
      text_ += std::to_string(task.stream);
      text_ += ",\"ts\":";
      AppendMicros(text_, line_.run.start[number]);
      text_ += ",\"dur\":";
      AppendMicros(text_, line_.run.end[number] - line_.run.start[number]);
      text_ += tails[cost];
      if (task.reference >= 0) {
        AddFlow(c, task, number);
      }
    }
  }

  /// Memory in use when kernels of the computation are launched.
  void AddMemory(std::size_t c) {
    constexpr std::int64_t kParts = 1000;
    const sim::TimedClass& item = line_.plan.classes[c];
    const auto memory =
        std::ranges::find(result_.classes, item.program, &sim::ClassMemory::program);
    if (memory == result_.classes.end() || !memory->memory || memory->memory->series.empty()) {
      return;
    }
    const sim::MemoryProfile& profile = *memory->memory;
    std::unordered_map<std::int64_t, std::size_t> index_of;
    const StepLister step(*memory, result_.job.programs[item.program]);
    for (std::size_t k = 0; k < step.KernelCount(); ++k) {
      index_of.emplace(static_cast<std::int64_t>(step.NodeOf(k)), k);
    }
    const std::string head =
        "{\"ph\":\"C\",\"name\":\"memory in use\",\"pid\":" + std::to_string(c) + ",\"ts\":";
    std::int64_t shown = -1;
    const std::vector<TimedTask>& tasks = line_.plan.job.programs[c].tasks;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const auto found = index_of.find(tasks[t].tag);
      if (tasks[t].stream != 0 || found == index_of.end()) {
        continue;
      }
      const std::int64_t bytes = profile.series[found->second].at_launch_bytes;
      const bool peak = static_cast<std::int64_t>(found->second) == profile.at_kernel;
      if (!peak && shown >= 0 && std::abs(bytes - shown) * kParts < profile.used_peak_bytes) {
        continue;
      }
      shown = bytes;
      Next();
      text_ += head;
      AppendMicros(text_, line_.run.start[static_cast<std::size_t>(line_.run.first[c]) + t]);
      text_ += ",\"args\":{\"bytes\":" + std::to_string(bytes) + "}}";
    }
  }

  /// An arrow from a Send to its Receive.
  void AddFlow(std::size_t c, const TimedTask& task, std::size_t number) {
    const sim::CostFacts& facts = line_.plan.classes[c].facts[static_cast<std::size_t>(task.cost)];
    if (facts.half == strategies::PointToPoint::kNone) {
      return;
    }
    const bool sends = facts.half == strategies::PointToPoint::kSends;
    Next();
    text_ += sends ? "{\"ph\":\"s\"" : "{\"ph\":\"f\",\"bp\":\"e\"";
    text_ += ",\"id\":" + std::to_string(task.reference) + ",\"pid\":" + std::to_string(c) +
             ",\"tid\":" + std::to_string(task.stream) + ",\"ts\":";
    AppendMicros(text_, line_.run.start[number]);
    text_ += ",\"name\":\"message\",\"cat\":\"message\"}";
  }

  const sim::DryRunResult& result_;
  const sim::TimeLine& line_;
  std::string text_ = {};
  bool first_ = true;
};

}  // namespace

std::string TraceViewText(std::string_view run_id, const sim::DryRunResult& result) {
  return result.time ? TraceWriter(result).Run(run_id) : std::string();
}

}  // namespace drydock::reports
