// Which notation a model description is in, and what is common to reading them.
//
// A JSON object begins with a brace; Megatron's arguments contain "--num-layers" or
// "--hidden-size"; anything else is YAML. The readers of the three (read_hugging_face.cc,
// read_mindformers.cc, read_megatron.cc) fill one ModelShape, which is then checked once, here.
#include "sim/planning/read_model.h"

#include <utility>

namespace drydock::sim {
namespace {

Result<ModelShape> ReadAny(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && text[first] == '{') {
    DRYDOCK_TRY(const ModelSettings settings, ReadJsonSettings(text.substr(first), file));
    return ShapeFromHuggingFace(settings);
  }
  if (text.find("--num-layers") != std::string_view::npos ||
      text.find("--hidden-size") != std::string_view::npos) {
    DRYDOCK_TRY(const ModelSettings settings, ReadArgumentSettings(text, file));
    return ShapeFromMegatron(settings);
  }
  DRYDOCK_TRY(const ModelSettings settings, ReadYamlSettings(text, file));
  return ShapeFromMindformers(settings);
}

}  // namespace

Result<ModelShape> ReadModel(std::string_view text, const std::string& file) {
  if (text.size() > kMaxDescriptionBytes) {
    return FailInput("Model:too-long",
                     "'" + file + "' has " + std::to_string(text.size()) +
                         " bytes, a model description has at most " +
                         std::to_string(kMaxDescriptionBytes),
                     "give the file that describes the model, not its weights or its tokenizer");
  }
  DRYDOCK_TRY(ModelShape shape, ReadAny(text, file));
  if (const Status good = CheckShape(shape); !good) {
    return tl::unexpected(WithPlace(good.error(), SourcePlace{.file = file}));
  }
  return shape;
}

}  // namespace drydock::sim
