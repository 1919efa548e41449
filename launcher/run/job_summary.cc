#include "launcher/run/job_summary.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/exit_code.h"
#include "reports/json_writer.h"

namespace drydock::launcher {
namespace {

/// Ranks that failed after the first one and are listed by name.
constexpr std::size_t kMaxLaterFailures = 3;
/// Longer lines of a log are cut.
constexpr std::size_t kMaxLineBytes = 300;

std::string_view EndName(RankEnd end) {
  switch (end) {
    case RankEnd::kNeverStarted:
      return "never-started";
    case RankEnd::kRunning:
      return "running";
    case RankEnd::kRestarting:
      return "restarting";
    case RankEnd::kOk:
      return "ok";
    case RankEnd::kFailed:
      return "failed";
    case RankEnd::kSignalled:
      return "signalled";
    case RankEnd::kEndedByUs:
      return "ended-by-us";
    case RankEnd::kNeverRegistered:
      return "never-registered";
  }
  return "unknown";
}

/// Names of the ranks that ended so: "rank 0, rank 1, rank 2 and 5 more".
std::string NamesOf(const JobWatch& watch, RankEnd end, std::size_t limit) {
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = 0; i < watch.ranks().size(); ++i) {
    const RankRecord& rank = watch.ranks()[i];
    if (rank.end != end || watch.first_failed() == i) {
      continue;
    }
    if (count++ < limit) {
      names += (names.empty() ? "" : ", ") + rank.name;
      if (end == RankEnd::kFailed || end == RankEnd::kSignalled) {
        names += " (" + EndText(rank.how) + ")";
      }
    }
  }
  return count <= limit ? names : names + " and " + std::to_string(count - limit) + " more";
}

std::string Seconds(Duration took) {
  const std::int64_t tenths = took.count() / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void AddLine(std::string& text, std::string_view what, const std::string& names) {
  if (!names.empty()) {
    text.append("  ").append(what).append(names).append("\n");
  }
}

bool LacksMindSpore(const std::vector<std::string>& last_lines) {
  return std::ranges::any_of(last_lines, [](const std::string& line) {
    return line == "ModuleNotFoundError: No module named 'mindspore'";
  });
}

}  // namespace

std::vector<std::string> LastLines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && lines.size() < count) {
    const std::size_t line_break = text.rfind('\n');
    const std::size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    lines.push_back(PrintableText(text.substr(begin, kMaxLineBytes)));
    text = text.substr(0, begin == 0 ? 0 : line_break);
  }
  std::ranges::reverse(lines);
  return lines;
}

std::string JobSummary(const JobWatch& watch, const std::vector<std::string>& last_lines,
                       Duration took) {
  const std::string count = std::to_string(watch.ranks().size());
  if (!watch.cause()) {
    return "msrun: all " + count + " local ranks ended well after " + Seconds(took) + "\n";
  }
  std::string text = "msrun: the job failed after " + Seconds(took) + "\n";
  text += "  first: " + PrintableText(watch.cause()->message) + "\n";
  if (watch.first_failed() && !watch.ranks()[*watch.first_failed()].log_path.empty()) {
    text += "  log:   " + watch.ranks()[*watch.first_failed()].log_path + "\n";
    for (const std::string& line : last_lines) {
      text += "    | " + line + "\n";
    }
  }
  if (LacksMindSpore(last_lines)) {
    text +=
        "  hint:  the interpreter of the ranks has no MindSpore: install it there, name another "
        "one with --python, or dry-run the job: msrun --sim_level=1 ...\n";
  }
  AddLine(text, "later failures: ", NamesOf(watch, RankEnd::kFailed, kMaxLaterFailures));
  AddLine(text, "later signals:  ", NamesOf(watch, RankEnd::kSignalled, kMaxLaterFailures));
  AddLine(text, "ended by msrun: ", NamesOf(watch, RankEnd::kEndedByUs, 8));
  AddLine(text, "ended well:     ", NamesOf(watch, RankEnd::kOk, 8));
  AddLine(text, "never started:  ", NamesOf(watch, RankEnd::kNeverStarted, 8));
  AddLine(text, "cannot be ended (UNKILLABLE): ", NamesOf(watch, RankEnd::kRunning, 8));
  return text;
}

std::string JobStatusJson(const JobWatch& watch, const std::string& code, int exit_status) {
  reports::JsonWriter json;
  json.BeginObject();
  json.Key("schema");
  json.Text("drydock.launch/1");
  json.Key("state");
  json.Text(watch.launcher_died() ? "launcher-died" : watch.cause() ? "failed" : "finished");
  json.Key("exit_status");
  json.Integer(exit_status);
  if (watch.cause()) {
    json.Key("code");
    json.Text(code);
    json.Key("message");
    json.Text(watch.cause()->message);
    json.Key("hint");
    json.Text(watch.cause()->hint);
  }
  json.Key("ranks");
  json.BeginArray();
  for (const RankRecord& rank : watch.ranks()) {
    json.BeginObject(true);
    json.Key("name");
    json.Text(rank.name);
    json.Key("pid");
    json.Integer(rank.pid);
    json.Key("end");
    json.Text(EndName(rank.end));
    json.Key("status");
    json.Integer(rank.how.signalled ? 128 + rank.how.value : rank.how.value);
    json.Key("restarts");
    json.Integer(rank.restarts);
    json.Key("log");
    json.Text(rank.log_path);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

std::string FormingText(std::int64_t present, std::int64_t expected,
                        const std::vector<std::uint32_t>& missing, std::int64_t left_s) {
  std::string text =
      std::to_string(present) + " of " + std::to_string(expected) + " ranks have registered";
  if (!missing.empty()) {
    const std::vector<std::int64_t> numbers(missing.begin(), missing.end());
    text += "; waiting for ranks " + JoinText(numbers, ", ");
    text += static_cast<std::int64_t>(missing.size()) < expected - present ? ", ..." : "";
  }
  return WithTimeLeft(std::move(text), left_s);
}

std::string JoiningText(const std::string& scheduler, std::int64_t left_s) {
  return WithTimeLeft("waiting for the scheduler at " + scheduler + " and the other nodes", left_s);
}

std::string WithTimeLeft(std::string text, std::int64_t left_s) {
  if (left_s >= 0) {
    text += "; " + std::to_string(left_s) + " s left";
  }
  return text;
}

}  // namespace drydock::launcher
