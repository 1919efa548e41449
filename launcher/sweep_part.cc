#include "launcher/sweep_part.h"

#include <array>
#include <cstdio>
#include <optional>

#include <nlohmann/json.hpp>

#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

/// Variables of a kind of array job. An index may begin elsewhere than at 0 and go in steps.
struct ArrayKind {
  std::string_view index;
  std::string_view count;
  std::string_view first;  ///< Empty: 0.
  std::string_view step;   ///< Empty: 1.
};
constexpr std::array kKinds = {ArrayKind{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                                         "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
                               ArrayKind{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", ""},
                               ArrayKind{"PMI_RANK", "PMI_SIZE", "", ""},
                               ArrayKind{"JOB_COMPLETION_INDEX", "", "", ""}};

std::optional<std::int64_t> Number(const Environment& environment, std::string_view name) {
  const std::optional<std::string> text = name.empty() ? std::nullopt : Variable(environment, name);
  const Result<std::int64_t> number =
      text ? ReadIntWord(*text) : Result<std::int64_t>(Fail(ErrorCode::kInvalidArgument, ""));
  return number ? std::optional(*number) : std::nullopt;
}

Result<SweepPart> Checked(std::int64_t index, std::int64_t count, std::string_view from) {
  if (count < 1 || index < 0 || index >= count) {
    return FailCommand(FailureCode::kUsage,
                       std::string(from) + " says part " + std::to_string(index) + " of " +
                           std::to_string(count) + ", which does not exist",
                       "parts are 0 to count - 1: --part=0/4");
  }
  return SweepPart{.index = index, .count = count};
}

}  // namespace

Result<SweepPart> PartOf(const std::string& given, std::int64_t parts,
                         const Environment& environment) {
  if (!given.empty()) {
    const std::size_t slash = given.find('/');
    const Result<std::int64_t> index = ReadIntWord(given.substr(0, slash));
    const Result<std::int64_t> count = slash == std::string::npos
                                           ? Result<std::int64_t>(parts)
                                           : ReadIntWord(given.substr(slash + 1));
    if (!index || !count) {
      return FailCommand(FailureCode::kUsage, "argument --part: '" + given + "' is not INDEX/COUNT",
                         "parts are 0 to count - 1: --part=0/4");
    }
    return Checked(*index, *count, "--part");
  }
  for (const ArrayKind& kind : kKinds) {
    const std::optional<std::int64_t> index = Number(environment, kind.index);
    if (!index) {
      continue;
    }
    const std::int64_t count = parts > 0 ? parts : Number(environment, kind.count).value_or(0);
    if (count == 0) {
      return FailCommand(FailureCode::kUsage,
                         std::string(kind.index) + " is set, but not how many parts there are",
                         "give --parts=N, as many as the job has completions");
    }
    const std::int64_t first = Number(environment, kind.first).value_or(0);
    const std::int64_t step = std::max<std::int64_t>(1, Number(environment, kind.step).value_or(1));
    return Checked((*index - first) / step, count, kind.index);
  }
  return SweepPart{};
}

std::string LineFingerprint(std::string_view line) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char character : line) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
  }
  std::array<char, 20> text = {};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::vector<SweepAnswer> ReadAnswers(std::string_view text) {
  std::vector<SweepAnswer> answers;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      break;  // cut off while it was written
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const nlohmann::json one = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (one.is_object() && one.contains("line") && one["line"].is_number_integer() &&
        one.contains("request") && one["request"].is_string()) {
      answers.push_back({.line = one["line"].get<std::int64_t>(),
                         .request = one["request"].get<std::string>(),
                         .text = std::string(line),
                         .error = one.contains("error")});
    }
  }
  return answers;
}

std::string AnswerLine(std::int64_t line, std::string_view request, std::string_view json,
                       bool error) {
  const std::string head =
      "{\"line\": " + std::to_string(line) + ", \"request\": \"" + std::string(request) + "\", ";
  if (!error) {
    return head + "\"answer\": " + std::string(json) + "}";
  }
  return head + "\"error\": " +
         nlohmann::json(std::string(json))
             .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
         "}";
}

}  // namespace drydock::launcher
