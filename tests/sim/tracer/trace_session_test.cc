#include "sim/tracer/trace_session.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "strategies/document/json_codec.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Ask(TraceSession& session, std::string_view method, const json& request = json::object()) {
  return json::parse(session.Call(method, request.dump()));
}

json Job(std::string_view mode) {
  return {{"name", "step"}, {"job", {{"world_size", 8}, {"mode", mode}}}};
}

/// x (2, 32) float32 on every rank, w (32, 16); value ids 0 and 1.
void Begin(TraceSession& session, std::string_view mode) {
  ASSERT_EQ(Ask(session, "begin", Job(mode)), json::object());
  Ask(session, "add_input", {{"name", "x"}, {"shape", {2, 32}}, {"dtype", "float32"}});
  Ask(session, "add_parameter", {{"name", "w"}, {"shape", {32, 16}}, {"dtype", "float32"}});
}

json MatMul() {
  return {{"op", "MatMul"}, {"inputs", {0, 1}}};
}

TEST(TraceSession, InputOfSemiAutoModeHasTheGlobalShape) {
  TraceSession session;
  ASSERT_EQ(Ask(session, "begin", Job("semi_auto_parallel")), json::object());
  const json answer =
      Ask(session, "add_input", {{"name", "x"}, {"shape", {2, 32}}, {"dtype", "float32"}});
  // Data parallel over 8 ranks: 2 rows each, 16 in all.
  EXPECT_EQ(answer["shape"], (json{16, 32}));
}

TEST(TraceSession, InputOfDataParallelModeKeepsItsShape) {
  TraceSession session;
  ASSERT_EQ(Ask(session, "begin", Job("data_parallel")), json::object());
  const json answer =
      Ask(session, "add_input", {{"name", "x"}, {"shape", {2, 32}}, {"dtype", "float32"}});
  EXPECT_EQ(answer["shape"], (json{2, 32}));
}

TEST(TraceSession, NodeAnswersInferredShapes) {
  TraceSession session;
  Begin(session, "data_parallel");
  const json answer = Ask(session, "add_node", MatMul());
  EXPECT_EQ(answer["node"], 0);
  EXPECT_EQ(answer["outputs"], (json{{{"id", 2}, {"shape", {2, 16}}, {"dtype", "float32"}}}));
}

TEST(TraceSession, ShapeMistakeIsAnErrorWithPlaceAndChangesNothing) {
  TraceSession session;
  Begin(session, "data_parallel");
  const json stack = Ask(
      session, "add_stack",
      {{"frames", {{{"file", "net.py"}, {"line", 7}, {"column", 5}, {"text", "y = self.mm(x)"}}}}});
  json request = MatMul();
  request["inputs"] = {0, 0};  // (2, 32) by (2, 32)
  request["stack"] = stack["stack"];
  const json answer = Ask(session, "add_node", request);
  EXPECT_EQ(answer["error"]["code"], "invalid-argument");
  EXPECT_EQ(answer["error"]["place"]["line"], 7);
  EXPECT_EQ(Ask(session, "add_node", MatMul())["node"], 0);
}

TEST(TraceSession, ParameterAndLayerKeepTheirLines) {
  TraceSession session;
  ASSERT_EQ(Ask(session, "begin", Job("data_parallel")), json::object());
  const json made =
      Ask(session, "add_stack", {{"frames", {{{"file", "net.py"}, {"line", 4}, {"text", "w"}}}}});
  ASSERT_EQ(
      Ask(session, "add_parameter",
          {{"name", "w"}, {"shape", {32, 16}}, {"dtype", "float32"}, {"stack", made["stack"]}})
          .at("id"),
      0);
  const json applied = Ask(session, "add_stack",
                           {{"frames", {{{"file", "net.py"}, {"line", 9}}}},
                            {"layer", {{"file", "net.py"}, {"line", 5}}}});
  const json answer =
      Ask(session, "add_node", {{"op", "MatMul"}, {"inputs", {0, 0}}, {"stack", applied["stack"]}});
  EXPECT_EQ(answer["error"]["place"]["line"], 5);
  EXPECT_EQ(answer["error"]["notes"],
            (json{"parameter 'w' of shape (32, 16) is made at net.py:4: w",
                  "the operator is applied at net.py:9"}));
}

TEST(TraceSession, UnknownOperatorIsUnsupported) {
  TraceSession session;
  Begin(session, "data_parallel");
  const json answer = Ask(session, "add_node", {{"op", "Frobnicate"}, {"inputs", {0}}});
  EXPECT_EQ(answer["error"]["code"], "unsupported");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("Frobnicate"));
}

TEST(TraceSession, StrategyGivenAfterTheNodeReachesTheDocument) {
  TraceSession session;
  Begin(session, "semi_auto_parallel");
  Ask(session, "add_node", MatMul());
  ASSERT_EQ(Ask(session, "update_node", {{"node", 0}, {"strategy", {{2, 4}, {4, 1}}}}),
            json::object());
  const json answer = Ask(session, "finish", {{"outputs", {2}}});
  const auto document =
      strategies::ReadGraphDocument(answer["document"].get<std::string>(), "t", {});
  ASSERT_TRUE(document.has_value()) << FormatError(document.error());
  EXPECT_EQ(document->graph.nodes[0].in_strategy, (strategies::Strategy{{2, 4}, {4, 1}}));
  EXPECT_EQ(document->graph.outputs.size(), 1U);
}

TEST(TraceSession, OperatorTableHasArgumentsWithDefaults) {
  TraceSession session;
  const json table = Ask(session, "operators");
  for (const json& entry : table["operators"]) {
    if (entry["name"] == "MatMul") {
      EXPECT_EQ(entry["constructor"][1],
                (json{{"name", "transpose_b"}, {"kind", "attr"}, {"default", false}}));
      EXPECT_EQ(entry["call"].size(), 2U);
      return;
    }
  }
  FAIL() << "MatMul is not in the table";
}

struct BadRequest {
  const char* method = "";
  const char* request = "";
  const char* expected = "";
};

void PrintTo(const BadRequest& bad, std::ostream* out) {
  *out << bad.method << " " << bad.request;
}

class TraceSessionBadRequest : public ::testing::TestWithParam<BadRequest> {};

TEST_P(TraceSessionBadRequest, IsRefusedAndTheSessionGoesOn) {
  TraceSession session;
  Begin(session, "data_parallel");
  const json answer = json::parse(session.Call(GetParam().method, GetParam().request));
  ASSERT_TRUE(answer.contains("error")) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr(GetParam().expected));
  EXPECT_EQ(Ask(session, "add_node", MatMul())["node"], 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, TraceSessionBadRequest,
    ::testing::Values(
        BadRequest{"nothing", "{}", "unknown trace request"},
        BadRequest{"add_node", "[]", "must be a JSON object"},
        BadRequest{"add_node", "{\"op\"", "must be a JSON object"},
        BadRequest{"add_node", R"({"inputs":[0,1]})", "'op'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,99]})", "value 99"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,-2]})", "value -2"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"stack":5})", "out of range"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"strategy":[[1.5]]})",
                   "'strategy'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"attrs":{"a":{}}})", "'a'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"phase":"night"})", "night"},
        BadRequest{"update_node", R"({"node":0})", "names no node"},
        BadRequest{"add_input", R"({"name":"y","shape":[18446744073709551615],"dtype":"float32"})",
                   "'shape'"},
        BadRequest{"add_input", R"({"name":"y","shape":[2],"dtype":"float33"})", "float33"},
        BadRequest{"add_constant", R"({"shape":[2],"dtype":"float32","data":[1]})", "1 values"},
        BadRequest{"add_parameter", R"({"name":"p","shape":[2],"dtype":"float32","state_of":77})",
                   "state_of"},
        BadRequest{"finish", R"({"outputs":[-1]})", "value -1"}));

TEST(TraceSession, AnyRequestBeforeBeginIsRefused) {
  TraceSession session;
  EXPECT_THAT(session.Call("add_node", R"({"op":"MatMul","inputs":[]})"),
              HasSubstr("before 'begin'"));
}

}  // namespace
}  // namespace drydock::sim
