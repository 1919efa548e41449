#include "sim/tracer/trace_session.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/tracer/document_file.h"
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

/// The file of the last 'finish'.
std::string& KeptPath() {
  static std::string path;
  return path;
}
std::string& KeptText() {
  static std::string text;
  return text;
}
Status KeepText(const std::string& path, std::string_view text) {
  KeptPath() = path;
  KeptText() = text;
  return {};
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
  request["place"] = stack["stack"];
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
          {{"name", "w"}, {"shape", {32, 16}}, {"dtype", "float32"}, {"place", made["stack"]}})
          .at("id"),
      0);
  const json applied = Ask(session, "add_stack",
                           {{"frames", {{{"file", "net.py"}, {"line", 9}}}},
                            {"layer", {{"file", "net.py"}, {"line", 5}}}});
  const json answer =
      Ask(session, "add_node", {{"op", "MatMul"}, {"inputs", {0, 0}}, {"place", applied["stack"]}});
  EXPECT_EQ(answer["error"]["place"]["line"], 5);
  EXPECT_EQ(answer["error"]["notes"],
            (json{"parameter 'w' of shape (32, 16) is made at net.py:4: w",
                  "the operator is applied at net.py:9"}));
}

// 1 / 0 is infinite, which JSON has no number for; what depends on an input is not known.
TEST(TraceSession, NumbersOfConstantsAreAnswered) {
  TraceSession session;
  Begin(session, "data_parallel");
  const auto constant = [&session](std::vector<double> data) {
    return Ask(session, "add_constant",
               {{"shape", {data.size()}}, {"dtype", "float32"}, {"data", data}})["id"];
  };
  const json one = constant({1, -1, 3});
  const json zero = constant({0, 0, 2});
  const json ratio = Ask(session, "add_node", {{"op", "RealDiv"}, {"inputs", {one, zero}}});
  const json id = ratio["outputs"][0]["id"];
  EXPECT_EQ(Ask(session, "value", {{"value", id}, {"most_elements", 3}}),
            (json{{"data", {"inf", "-inf", 1.5}}}));
  EXPECT_EQ(Ask(session, "value", {{"value", id}, {"most_elements", 2}}),
            (json{{"data", nullptr}}));
  EXPECT_EQ(Ask(session, "value", {{"value", 0}, {"most_elements", 99}}),
            (json{{"data", nullptr}}));
  EXPECT_THAT(Ask(session, "value", {{"value", 99}})["error"]["message"].get<std::string>(),
              HasSubstr("does not exist"));
}

TEST(TraceSession, UnknownOperatorIsUnsupported) {
  TraceSession session;
  Begin(session, "data_parallel");
  const json answer = Ask(session, "add_node", {{"op", "Frobnicate"}, {"inputs", {0}}});
  EXPECT_EQ(answer["error"]["code"], "unsupported");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("Frobnicate"));
}

TEST(TraceSession, StrategyGivenAfterTheNodeReachesTheDocument) {
  TraceSession session(nullptr, &KeepText);
  Begin(session, "semi_auto_parallel");
  Ask(session, "add_node", MatMul());
  ASSERT_EQ(Ask(session, "update_node", {{"node", 0}, {"strategy", {{2, 4}, {4, 1}}}}),
            json::object());
  EXPECT_EQ(Ask(session, "finish", {{"outputs", {2}}, {"file", "folder/p.json"}}),
            (json{{"nodes", 1}}));
  EXPECT_EQ(KeptPath(), "folder/p.json");
  const auto document = strategies::ReadGraphDocument(KeptText(), "t", {});
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
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"place":5})",
                   "'place' is 5, but 'stacks' has 0"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"stack":0})",
                   "has no field 'stack'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"strategy":[[1.5]]})",
                   "'strategy'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"attrs":{"a":{}}})", "'constant'"},
        BadRequest{"add_node", R"({"op":"MatMul","inputs":[0,1],"phase":"night"})", "night"},
        BadRequest{"update_node", R"({"node":0})", "names no node"},
        BadRequest{"add_input", R"({"name":"y","shape":[18446744073709551615],"dtype":"float32"})",
                   "does not fit 64 bits"},
        BadRequest{"add_input", R"({"name":"y","shape":[2],"dtype":"float33"})", "float33"},
        BadRequest{"add_constant", R"({"shape":[2],"dtype":"float32","data":[1]})", "1 values"},
        BadRequest{"add_parameter", R"({"name":"p","shape":[2],"dtype":"float32","state_of":77})",
                   "state_of"},
        BadRequest{"finish", R"({"outputs":[-1],"file":"p"})", "value -1"},
        BadRequest{"finish", R"({"outputs":[0]})", "without a file"},
        BadRequest{"add_constant", R"({"shape":[1],"dtype":"float32","data":["one"]})", "'data'"},
        BadRequest{"compile", R"({"outputs":[0],"rank":8})", "rank 8 does not exist"},
        BadRequest{"dumps", "{}", "without a compiled program"},
        BadRequest{"add_stack", R"({"frames":7})", "a place"},
        BadRequest{"operators", R"({"all":true})", "has no field 'all'"},
        BadRequest{"reshard", R"({"layouts":[],"from_shape":[1],"to_shape":[1]})", "two layouts"}));

TEST(TraceSession, JobIsReadAsThatOfADocument) {
  TraceSession session;
  const json answer =
      Ask(session, "begin", {{"name", "step"}, {"job", {{"world_size", 8}, {"mood", "sad"}}}});
  EXPECT_EQ(answer["error"]["reason"], "graph:unknown-field");
  EXPECT_FALSE(answer["error"].contains("place"));
}

TEST(TraceSession, TextsOfAnswersAreEscaped) {
  TraceSession session;
  ASSERT_EQ(Ask(session, "begin", Job("data_parallel")), json::object());
  // A name in quotation marks, with a tab, a backslash and a letter outside of ASCII.
  const std::string name = "\"a\tb\\\u00e9\"";
  const json answer =
      Ask(session, "add_input", {{"name", name}, {"shape", {-1}}, {"dtype", "float32"}});
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr(name));
}

TEST(TraceSession, CompiledProgramIsToldByName) {
  TraceSession session;
  Begin(session, "semi_auto_parallel");
  json node = MatMul();
  node["scope"] = "Default";
  node["strategy"] = {{2, 4}, {4, 1}};
  Ask(session, "add_node", node);
  const json answer = Ask(session, "compile", {{"outputs", {2}}, {"rank", 0}});
  EXPECT_EQ(answer["nodes"], 2);  // the product, and what the data set hands over
  EXPECT_EQ(answer["strategies"]["Default/MatMul-op0"], (json{{2, 4}, {4, 1}}));
  EXPECT_EQ(answer["violations"], json::array());
  // w (32, 16): its rows over the 4 ranks of the inner axis, 8 rows each; whole in the outer one.
  EXPECT_EQ(answer["layouts"]["w"], (json{{2, 4}, {0, -1}, {8, 16}, 0, true, "", {32, 16}}));
  EXPECT_EQ(Ask(session, "node_names", {{"outputs", {2}}}),
            (json{{"names", {{"Default/MatMul-op0", 0}}}}));
  const json listing = Ask(session, "listing", {{"rank", 0}, {"open", {{"x", {0}}}}});
  EXPECT_TRUE(listing["@graph_0"].contains("MatMul-0")) << listing;
}

TEST(WriteDocumentFile, NameAppearsWithTheWholeText) {
  const std::string folder = ::testing::TempDir() + "drydock-document-" + std::to_string(getpid());
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  ASSERT_TRUE(WriteDocumentFile(folder + "/p.json", "first"));
  ASSERT_TRUE(WriteDocumentFile(folder + "/p.json", "{}"));
  std::ifstream file(folder + "/p.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}");
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);  // nothing else stays
  std::filesystem::remove_all(folder);
  const Status lost = WriteDocumentFile(folder + "/p.json", "{}");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kIo);
  EXPECT_THAT(lost.error().message, HasSubstr(folder + "/p.json"));
}

TEST(TraceSession, AnyRequestBeforeBeginIsRefused) {
  TraceSession session;
  EXPECT_THAT(session.Call("add_node", R"({"op":"MatMul","inputs":[]})"),
              HasSubstr("before 'begin'"));
}

}  // namespace
}  // namespace drydock::sim
