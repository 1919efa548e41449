#include "sim/tracer/trace_result.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "strategies/document/json_fields.h"
#include "strategies/document/json_job.h"

namespace drydock::sim {
namespace {

/// Of scripts whose own arguments are missing or wrong.
constexpr int kExitOfArgparse = 2;

using strategies::JsonKind;
using strategies::JsonReader;
using strategies::JsonView;

constexpr std::string_view kNothingTracedReason = "script:nothing-traced";
constexpr std::int64_t kResultVersion = 1;
/// Frames of a traceback that are shown.
constexpr std::size_t kMaxFrames = 20;

tl::unexpected<Error> BadResult(const char* what) {
  return tl::unexpected(
      Error{.code = ErrorCode::kInternal,
            .message = std::string("the result of the trace is not readable: ") + what,
            .reason = "script:result"});
}

/// The file is what a driver of this release writes: fields that are not as expected count as
/// absent, but for those without which nothing is known.
std::optional<JsonView> FieldOf(JsonView object, std::string_view name, JsonKind kind) {
  for (const auto& [field, value] : object.Members()) {
    if (field.AsText() == name && value.kind() == kind) {
      return value;
    }
  }
  return std::nullopt;
}

std::string TextOf(JsonView object, std::string_view name, std::string_view fallback = {}) {
  const std::optional<JsonView> text = FieldOf(object, name, JsonKind::kString);
  return std::string(text ? text->AsText() : fallback);
}

std::int64_t NumberOf(JsonView object, std::string_view name) {
  const std::optional<JsonView> number = FieldOf(object, name, JsonKind::kInt);
  return number ? number->AsInt() : 0;
}

bool FlagOf(JsonView object, std::string_view name) {
  const std::optional<JsonView> flag = FieldOf(object, name, JsonKind::kBool);
  return flag && flag->AsBool();
}

std::vector<JsonView> ListOf(JsonView object, std::string_view name) {
  const std::optional<JsonView> list = FieldOf(object, name, JsonKind::kArray);
  return list ? list->Elements() : std::vector<JsonView>();
}

std::vector<std::string> Texts(JsonView object, std::string_view name) {
  std::vector<std::string> texts;
  for (const JsonView item : ListOf(object, name)) {
    if (item.kind() == JsonKind::kString) {
      texts.emplace_back(item.AsText());
    }
  }
  return texts;
}

std::optional<SourcePlace> PlaceFrom(JsonView frame) {
  Result<strategies::ObjectReader> object = strategies::ObjectReader::Make(frame, "a frame");
  const Result<SourcePlace> place =
      object ? strategies::ReadJsonFrame(*object) : tl::unexpected(object.error());
  return place ? std::optional(*place) : std::nullopt;
}

/// The driver's words for kinds of warnings.
TraceWarning::Kind WarningKindOf(const std::string& word) {
  if (word == "limit") {
    return TraceWarning::Kind::kLimit;
  }
  if (word == "failure") {
    return TraceWarning::Kind::kFailure;
  }
  return word == "no-init" ? TraceWarning::Kind::kNoInit : TraceWarning::Kind::kNote;
}

std::vector<TraceWarning> Warnings(JsonView result) {
  std::vector<TraceWarning> warnings;
  for (const JsonView item : ListOf(result, "warnings")) {
    if (item.kind() == JsonKind::kObject) {
      warnings.push_back(
          {.text = TextOf(item, "text"), .kind = WarningKindOf(TextOf(item, "kind"))});
    }
  }
  return warnings;
}

/// What the driver's reasons mean for whoever decides; those of operators mean nothing more.
Cause CauseOf(const std::string& reason) {
  if (reason == kNothingTracedReason) {
    return ScriptCause::kNothingTraced;
  }
  if (reason == "script:unreadable") {
    return ScriptCause::kUnreadable;
  }
  return reason.starts_with("script:") ? Cause(ScriptCause::kOther) : Cause();
}

/// `in forward_fn, net.py:12` for every frame but the innermost, which is the error's place; lines
/// of a function that calls itself once.
std::vector<std::string> FrameNotes(JsonView error) {
  std::vector<std::string> notes;
  const std::vector<JsonView> frames = ListOf(error, "frames");
  for (std::size_t i = 1; i < frames.size() && notes.size() < kMaxFrames; ++i) {
    const std::optional<SourcePlace> place = PlaceFrom(frames[i]);
    if (!place) {
      continue;
    }
    std::string note = "called at " + place->file + ":" + std::to_string(place->line) + " in " +
                       TextOf(frames[i], "function", "?");
    if (notes.empty() || notes.back() != note) {
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

Error ErrorFrom(JsonView value) {
  const std::string family = TextOf(value, "family", "internal");
  const std::string type = TextOf(value, "type", "Exception");
  const std::string text = TextOf(value, "message");
  Error error{.hint = TextOf(value, "hint"), .reason = TextOf(value, "reason")};
  error.cause = CauseOf(error.reason);
  if (family == "unsupported") {
    error.code = ErrorCode::kUnsupported;
    error.message = text;
  } else if (family == "user") {
    error.code = ErrorCode::kInvalidArgument;
    const bool is_one = type.empty() || text.empty();
    error.message = is_one ? type + text : type + ": " + text;
  } else {
    error.code = ErrorCode::kInternal;
    error.message = "the recording of the script failed: " + type + ": " + text;
  }
  if (const auto place = FieldOf(value, "place", JsonKind::kObject)) {
    error.place = PlaceFrom(*place);
  }
  error.notes = Texts(value, "notes");
  for (std::string& note : FrameNotes(value)) {
    error.notes.push_back(std::move(note));
  }
  return error;
}

Result<strategies::RankSet> Spans(JsonView result) {
  std::vector<strategies::RankRange> spans;
  const std::optional<JsonView> list = FieldOf(result, "covered_ranks", JsonKind::kArray);
  if (!list) {
    return BadResult("no covered ranks");
  }
  for (const JsonView item : list->Elements()) {
    const Result<std::vector<std::int64_t>> span = strategies::ReadJsonInts(item, "covered_ranks");
    if (!span || span->size() != 2) {
      return BadResult("covered ranks");
    }
    spans.push_back({.first = span->front(), .last = span->back()});
  }
  return strategies::RanksOf(std::move(spans));
}

std::vector<TracedLayer::Kept> KeptOf(JsonView layer) {
  std::vector<TracedLayer::Kept> kept;
  for (const JsonView item : ListOf(layer, "kept")) {
    const std::vector<JsonView> pair =
        item.kind() == JsonKind::kArray ? item.Elements() : std::vector<JsonView>();
    if (pair.size() == 2 && pair[0].kind() == JsonKind::kInt && pair[0].AsInt() >= 0 &&
        pair[1].kind() == JsonKind::kBool) {
      kept.push_back(
          {.node = static_cast<std::size_t>(pair[0].AsInt()), .slice = pair[1].AsBool()});
    }
  }
  return kept;
}

/// Layers that could recompute; a program may have none.
std::vector<TracedLayer> Layers(JsonView program) {
  std::vector<TracedLayer> layers;
  for (const JsonView item : ListOf(program, "layers")) {
    if (item.kind() == JsonKind::kObject) {
      layers.push_back(
          {.scope = TextOf(item, "scope"), .apart = Texts(item, "apart"), .kept = KeptOf(item)});
    }
  }
  return layers;
}

Result<std::vector<TracedProgramFile>> Programs(JsonView result) {
  std::vector<TracedProgramFile> programs;
  const std::optional<JsonView> list = FieldOf(result, "programs", JsonKind::kArray);
  if (!list) {
    return BadResult("no programs");
  }
  for (const JsonView item : list->Elements()) {
    if (item.kind() != JsonKind::kObject || !FieldOf(item, "file", JsonKind::kString)) {
      return BadResult("a program without a file");
    }
    TracedProgramFile program{.file = TextOf(item, "file"),
                              .nodes = NumberOf(item, "nodes"),
                              .training = FlagOf(item, "training"),
                              .layers = Layers(item)};
    if (program.file.find('/') != std::string::npos) {
      return BadResult("a file name with a slash");
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

/// @param exit_text  what the script gave sys.exit, if it was a text
tl::unexpected<Error> NothingTraced(std::int64_t exit_code, const std::string& exit_text,
                                    bool has_programs) {
  if (exit_code != 0) {
    return FailScript(
        ScriptCause::kOther, "script:exit",
        "the script ended with exit status " + std::to_string(exit_code) + " before " +
            (has_programs ? "its training step" : "a network") + " was recorded" +
            (exit_text.empty() ? "" : ": " + exit_text),
        exit_code == kExitOfArgparse && exit_text.empty()
            ? "what the script takes stands behind it: msrun [flags] net.py --data=..."
            : "");
  }
  return FailScript(
      ScriptCause::kNothingTraced, std::string(kNothingTracedReason),
      "the script came to its end without calling a network",
      "call a Cell, Model.train() or a function made by value_and_grad() once with data");
}

/// Places named in a sentence, at most.
constexpr std::size_t kNamedPlaces = 4;

}  // namespace

tl::unexpected<Error> FailScript(ScriptCause cause, std::string reason, std::string message,
                                 std::string hint) {
  return tl::unexpected(
      WithCause(FailInput(std::move(reason), std::move(message), std::move(hint)).value(), cause));
}

std::string SettingsOf(std::string_view text) {
  const Result<JsonReader> json = JsonReader::Parse(text, "result.json");
  const bool object = json && json->root().kind() == JsonKind::kObject;
  const std::optional<JsonView> job =
      object ? FieldOf(json->root(), "job", JsonKind::kObject) : std::nullopt;
  const Result<strategies::JobConfig> read =
      job ? strategies::ReadJsonJob(*job, strategies::JobConfig{}) : BadResult("no job");
  std::string settings;
  if (read) {
    strategies::AppendJsonJob(settings, *read);
  }
  return settings;
}

StoppedScript ReadStopped(std::string_view text) {
  const Result<JsonReader> json = JsonReader::Parse(text, "stopped.json");
  StoppedScript stopped;
  if (!json || json->root().kind() != JsonKind::kObject) {
    return stopped;
  }
  stopped.read_zeros = FlagOf(json->root(), "read_zeros");
  if (const auto place = FieldOf(json->root(), "place", JsonKind::kObject)) {
    stopped.place = PlaceFrom(*place);
  }
  return stopped;
}

std::string PlacesText(const std::vector<std::string>& places) {
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), kNamedPlaces); ++i) {
    text += (i == 0 ? "" : ", ") + places[i];
  }
  if (places.size() > kNamedPlaces) {
    text += " and " + std::to_string(places.size() - kNamedPlaces) + " more";
  }
  return text;
}

Result<TraceResult> ReadTraceResult(std::string_view text) {
  const Result<JsonReader> json = JsonReader::Parse(text, "result.json");
  if (!json || json->root().kind() != JsonKind::kObject) {
    return BadResult("not a JSON object");
  }
  const JsonView value = json->root();
  if (NumberOf(value, "version") != kResultVersion) {
    return BadResult("it belongs to another release");
  }
  if (const auto error = FieldOf(value, "error", JsonKind::kObject)) {
    return tl::unexpected(ErrorFrom(*error));
  }
  TraceResult result;
  DRYDOCK_TRY(result.programs, Programs(value));
  DRYDOCK_TRY(result.covered, Spans(value));
  result.exit_code = NumberOf(value, "exit_code");
  result.release = TextOf(value, "release");
  result.layers = TextOf(value, "layers");
  result.warnings = Warnings(value);
  result.guard_places = Texts(value, "guard_places");
  if (result.exit_code != 0 || result.programs.empty()) {
    return NothingTraced(result.exit_code, TextOf(value, "exit_text"), !result.programs.empty());
  }
  return result;
}

}  // namespace drydock::sim
