#include "sim/tracer/trace_result.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/tracer/json_values.h"

namespace drydock::sim {
namespace {

/// Of scripts whose own arguments are missing or wrong.
constexpr int kExitOfArgparse = 2;

using nlohmann::json;

constexpr std::int64_t kResultVersion = 1;
/// Frames of a traceback that are shown.
constexpr std::size_t kMaxFrames = 20;

tl::unexpected<Error> BadResult(const char* what) {
  return tl::unexpected(
      Error{.code = ErrorCode::kInternal,
            .message = std::string("the result of the trace is not readable: ") + what,
            .reason = "script:result"});
}

std::vector<std::string> Texts(const json& value, const char* name) {
  std::vector<std::string> texts;
  const auto it = value.find(name);
  if (it != value.end() && it->is_array()) {
    for (const json& item : *it) {
      if (item.is_string()) {
        texts.push_back(item.get<std::string>());
      }
    }
  }
  return texts;
}

/// `in forward_fn, net.py:12` for every frame but the innermost, which is the error's place; lines
/// of a function that calls itself once.
std::vector<std::string> FrameNotes(const json& error) {
  std::vector<std::string> notes;
  const auto frames = error.find("frames");
  if (frames == error.end() || !frames->is_array()) {
    return notes;
  }
  for (std::size_t i = 1; i < frames->size() && notes.size() < kMaxFrames; ++i) {
    const Result<SourcePlace> place = PlaceFrom((*frames)[i]);
    if (!place) {
      continue;
    }
    std::string note = "called at " + place->file + ":" + std::to_string(place->line) + " in " +
                       TextFieldOr((*frames)[i], "function", "?");
    if (notes.empty() || notes.back() != note) {
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

Error ErrorFrom(const json& value) {
  const std::string family = TextFieldOr(value, "family", "internal");
  const std::string type = TextFieldOr(value, "type", "Exception");
  const std::string text = TextFieldOr(value, "message", "");
  Error error{.hint = TextFieldOr(value, "hint", ""), .reason = TextFieldOr(value, "reason", "")};
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
  const auto place = value.find("place");
  if (place != value.end() && place->is_object()) {
    if (Result<SourcePlace> read = PlaceFrom(*place)) {
      error.place = *std::move(read);
    }
  }
  error.notes = Texts(value, "notes");
  for (std::string& note : FrameNotes(value)) {
    error.notes.push_back(std::move(note));
  }
  return error;
}

Result<strategies::RankSet> Spans(const json& result) {
  std::vector<strategies::RankRange> spans;
  const auto it = result.find("covered_ranks");
  if (it == result.end() || !it->is_array()) {
    return BadResult("no covered ranks");
  }
  for (const json& item : *it) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_integer() ||
        !item[1].is_number_integer()) {
      return BadResult("covered ranks");
    }
    spans.push_back({.first = item[0].get<std::int64_t>(), .last = item[1].get<std::int64_t>()});
  }
  return strategies::RanksOf(std::move(spans));
}

std::vector<TracedLayer::Kept> KeptOf(const json& layer) {
  std::vector<TracedLayer::Kept> kept;
  const auto it = layer.find("kept");
  for (const json& item : it == layer.end() ? json::array() : *it) {
    if (item.is_array() && item.size() == 2 && item[0].is_number_unsigned() &&
        item[1].is_boolean()) {
      kept.push_back({.node = item[0].get<std::size_t>(), .slice = item[1].get<bool>()});
    }
  }
  return kept;
}

/// Layers that could recompute; a program may have none.
std::vector<TracedLayer> Layers(const json& program) {
  std::vector<TracedLayer> layers;
  const auto it = program.find("layers");
  for (const json& item : it == program.end() ? json::array() : *it) {
    if (item.is_object()) {
      layers.push_back({.scope = TextFieldOr(item, "scope", ""),
                        .apart = Texts(item, "apart"),
                        .kept = KeptOf(item)});
    }
  }
  return layers;
}

Result<std::vector<TracedProgramFile>> Programs(const json& result) {
  std::vector<TracedProgramFile> programs;
  const auto it = result.find("programs");
  if (it == result.end() || !it->is_array()) {
    return BadResult("no programs");
  }
  for (const json& item : *it) {
    TracedProgramFile program;
    DRYDOCK_TRY(program.file, TextField(item, "file"));
    DRYDOCK_TRY(program.nodes, IntFieldOr(item, "nodes", 0));
    program.training = BoolFieldOr(item, "training", false);
    program.layers = Layers(item);
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
    return FailInput("script:exit",
                     "the script ended with exit status " + std::to_string(exit_code) + " before " +
                         (has_programs ? "its training step" : "a network") + " was recorded" +
                         (exit_text.empty() ? "" : ": " + exit_text),
                     exit_code == kExitOfArgparse && exit_text.empty()
                         ? "what the script takes stands behind it: msrun [flags] net.py --data=..."
                         : "");
  }
  return FailInput(
      "script:nothing-traced", "the script came to its end without calling a network",
      "call a Cell, Model.train() or a function made by value_and_grad() once with data");
}

/// Places named in a sentence, at most.
constexpr std::size_t kNamedPlaces = 4;

}  // namespace

std::string SettingsOf(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object() || !value.contains("job") || !value["job"].is_object()) {
    return "";
  }
  return value["job"].dump(-1, ' ', false, json::error_handler_t::replace);
}

StoppedScript ReadStopped(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  StoppedScript stopped;
  if (!value.is_object()) {
    return stopped;
  }
  stopped.read_zeros = BoolFieldOr(value, "read_zeros", false);
  const auto place = value.find("place");
  if (place != value.end() && place->is_object()) {
    if (Result<SourcePlace> read = PlaceFrom(*place)) {
      stopped.place = *std::move(read);
    }
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
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) {
    return BadResult("not a JSON object");
  }
  DRYDOCK_TRY(const std::int64_t version, IntFieldOr(value, "version", 0));
  if (version != kResultVersion) {
    return BadResult("it belongs to another release");
  }
  const auto error = value.find("error");
  if (error != value.end() && error->is_object()) {
    return tl::unexpected(ErrorFrom(*error));
  }
  TraceResult result;
  DRYDOCK_TRY(result.programs, Programs(value));
  DRYDOCK_TRY(result.exit_code, IntFieldOr(value, "exit_code", 0));
  DRYDOCK_TRY(result.covered, Spans(value));
  result.release = TextFieldOr(value, "release", "");
  result.layers = TextFieldOr(value, "layers", "");
  result.warnings = Texts(value, "warnings");
  result.guard_places = Texts(value, "guard_places");
  if (result.exit_code != 0 || result.programs.empty()) {
    return NothingTraced(result.exit_code, TextFieldOr(value, "exit_text", ""),
                         !result.programs.empty());
  }
  return result;
}

}  // namespace drydock::sim
