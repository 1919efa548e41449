#include "sim/tracer/trace_error.h"

#include "strategies/document/json_reader.h"

namespace drydock::sim {

using strategies::AppendJsonField;
using strategies::AppendJsonItem;
using strategies::AppendJsonText;

tl::unexpected<Error> BadRequest(std::string message) {
  return FailInput("trace:request", std::move(message));
}

std::string ErrorAnswer(const Error& error) {
  std::string answer = R"({"error":{"code":)";
  AppendJsonText(answer, ErrorCodeName(error.code));
  AppendJsonField(answer, "hint");
  AppendJsonText(answer, error.hint);
  AppendJsonField(answer, "message");
  AppendJsonText(answer, error.message);
  AppendJsonField(answer, "notes");
  answer += '[';
  for (const std::string& note : error.notes) {
    AppendJsonItem(answer);
    AppendJsonText(answer, note);
  }
  answer += ']';
  if (error.place) {
    AppendJsonField(answer, "place");
    answer += R"({"column":)" + std::to_string(error.place->column) + R"(,"file":)";
    AppendJsonText(answer, error.place->file);
    answer += R"(,"line":)" + std::to_string(error.place->line) + R"(,"text":)";
    AppendJsonText(answer, error.place->text);
    answer += '}';
  }
  AppendJsonField(answer, "reason");
  AppendJsonText(answer, error.reason);
  return answer + "}}";
}

}  // namespace drydock::sim
