#include "strategies/document/json_codec.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategies/document/json_reader.h"
#include "strategies/operators/builder.h"
#include "tests/source_dir.h"

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

JobConfig EightRanks() {
  return {.world_size = 8};
}

/// A document around the given fields; operators have explicit result types, so that no entry is
/// needed.
std::string Document(const std::string& fields) {
  return "{\"schema\":\"drydock.graph/1\"" + (fields.empty() ? "" : ",\n" + fields) + "}";
}

Error ErrorOf(const std::string& text) {
  const Result<GraphDocument> document = ReadGraphDocument(text, "g.json", EightRanks());
  return document ? Error{.message = "(no error)"} : document.error();
}

TEST(GraphDocument, InputsAreScaledToTheGlobalBatch) {
  const auto document =
      ReadGraphDocument(Document(R"("job":{"world_size":8,"mode":"semi_auto_parallel"},
                  "inputs":[{"name":"x","shape":[2,32],"dtype":"float16"}],"outputs":["x"])"),
                        "g.json", {});
  ASSERT_TRUE(document) << document.error().message;
  // Per rank 2 rows, data_parallel over 8 ranks: 2 * 8 = 16 rows.
  EXPECT_THAT(document->graph.values[0].type.shape, ElementsAre(16, 32));
  EXPECT_EQ(document->graph.values[0].type.dtype, DType::kFloat16);
  EXPECT_TRUE(document->job_given);
  EXPECT_THAT(document->graph.outputs, ElementsAre(ValueId{0}));
}

TEST(GraphDocument, GlobalShapeIsTakenAsItIs) {
  const auto document = ReadGraphDocument(Document(R"("job":{"mode":"semi_auto_parallel"},
                  "inputs":[{"name":"x","global_shape":[6,32],"dtype":"float16"}])"),
                                          "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_THAT(document->graph.values[0].type.shape, ElementsAre(6, 32));
}

TEST(GraphDocument, WorldSizeOfTheCallerOverridesTheDocument) {
  const auto document =
      ReadGraphDocument(Document(R"("job":{"world_size":8,"mode":"semi_auto_parallel"},
                  "inputs":[{"name":"x","shape":[2],"dtype":"int32"}])"),
                        "g.json", {}, 16);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->job.world_size, 16);
  EXPECT_THAT(document->graph.values[0].type.shape, ElementsAre(32));  // 2 * 16
}

TEST(GraphDocument, JobOfTheCallerFillsWhatTheDocumentLeavesOut) {
  JobConfig job = EightRanks();
  job.gradients_mean = true;
  job.fully_use_devices = true;
  const auto document =
      ReadGraphDocument(Document(R"("job":{"device_target":"GPU"})"), "g.json", job);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->job.world_size, 8);
  EXPECT_TRUE(document->job.gradients_mean);
  EXPECT_EQ(document->job.fully_use_devices, true);
  EXPECT_EQ(document->job.device_target, "GPU");
}

TEST(GraphDocument, NodesReferToValuesByName) {
  const auto document =
      ReadGraphDocument(Document(R"("inputs":[{"name":"x","shape":[2],"dtype":"float32"}],
        "nodes":[
          {"op":"Half","inputs":["x",null],"output_types":[{"shape":[1],"dtype":"float32"},
                                                           {"shape":[1],"dtype":"float32"}]},
          {"op":"Join","inputs":["Half0:1","Half0"],"outputs":["y"],"strategy":[[2],[1]],
           "attrs":{"axis":0,"keep":true,"eps":1e-5,"perm":[1,0],"mode":"same","none":null},
           "scope":"Default/net","instance":"join","place":"dir/net.py:41:34","phase":"optimizer",
           "output_types":[{"shape":[2],"dtype":"float32"}]}],
        "outputs":["y"])"),
                        "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  const Graph& graph = document->graph;
  // Values: 0 = x, 1 and 2 = results of Half, 3 = y.
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre(ValueId{0}, kNoValue));
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre(ValueId{2}, ValueId{1}));
  EXPECT_EQ(graph.values[3].name, "y");
  EXPECT_EQ(graph.values[1].name, "");
  const Node& join = graph.nodes[1];
  EXPECT_EQ(join.in_strategy, (Strategy{{2}, {1}}));
  EXPECT_EQ(join.attrs.at("axis"), Attr(0));
  EXPECT_EQ(join.attrs.at("keep"), Attr(true));
  EXPECT_EQ(join.attrs.at("eps"), Attr(1e-5));
  EXPECT_EQ(join.attrs.at("perm"), Attr(std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(join.attrs.at("mode"), Attr("same"));
  EXPECT_EQ(join.attrs.at("none"), Attr());
  EXPECT_EQ(join.scope, "Default/net");
  EXPECT_EQ(join.instance_name, "join");
  EXPECT_EQ(join.phase, Phase::kOptimizer);
  ASSERT_TRUE(PlaceOf(graph, join));
  EXPECT_EQ(*PlaceOf(graph, join), (SourcePlace{.file = "dir/net.py", .line = 41, .column = 34}));
  EXPECT_EQ(PlaceOf(graph, graph.nodes[0]), std::nullopt);
}

TEST(GraphDocument, NodesWithoutAPlaceGetTheirLineInTheDocument) {
  auto document = ReadGraphDocument(
      "{\"schema\":\"drydock.graph/1\",\n"
      "\"nodes\":[\n"
      "  {\"op\":\"A\",\"output_types\":[]},\n"
      "  {\"op\":\"B\",\"output_types\":[],\"place\":\"net.py:7:1\"}]}",
      "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  UseDocumentPlaces(*document);
  const auto first = PlaceOf(document->graph, document->graph.nodes[0]);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->file, "g.json");
  EXPECT_EQ(first->line, 3);
  EXPECT_EQ(first->column, 3);
  EXPECT_EQ(first->text, "  {\"op\":\"A\",\"output_types\":[]},");
  EXPECT_EQ(PlaceOf(document->graph, document->graph.nodes[1])->file, "net.py");
}

TEST(GraphDocument, ParametersKnowTheLineThatMakesThem) {
  const auto document = ReadGraphDocument(Document(R"("parameters":[
      {"name":"w","shape":[2],"dtype":"float32","place":1},
      {"name":"b","shape":[2],"dtype":"float32","place":"net.py:9:5"},
      {"name":"old","shape":[2],"dtype":"float32"}],
      "stacks":[["net.py:3:1"],["net.py:7:9","net.py:20:1"]])"),
                                          "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  const Graph& graph = document->graph;
  EXPECT_EQ(MadePlaceOf(graph, graph.parameters[0].value),
            (SourcePlace{.file = "net.py", .line = 7, .column = 9}));
  EXPECT_EQ(MadePlaceOf(graph, graph.parameters[1].value),
            (SourcePlace{.file = "net.py", .line = 9, .column = 5}));
  EXPECT_EQ(MadePlaceOf(graph, graph.parameters[2].value), std::nullopt);
}

TEST(GraphDocument, StackThatNamesTheLineOfItsLayer) {
  const auto document = ReadGraphDocument(Document(R"("nodes":[{"op":"A","output_types":[],
      "place":{"layer":"net.py:5:8","frames":["net.py:30:1"]}}])"),
                                          "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  const Node& node = document->graph.nodes[0];
  EXPECT_EQ(PlaceOf(document->graph, node)->line, 5);
  EXPECT_EQ(AppliedPlaceOf(document->graph, node)->line, 30);
  const Error lacking = ErrorOf(Document(R"("stacks":[{"frames":["net.py:30:1"]}])"));
  EXPECT_THAT(lacking.message, HasSubstr("has no field 'layer'"));
}

TEST(GraphDocument, ParametersKnowTheirRoleAndWeight) {
  const auto document = ReadGraphDocument(Document(R"("parameters":[
          {"name":"moments.w","shape":[4],"dtype":"float32","state_of":"w"},
          {"name":"w","shape":[4],"dtype":"float32","layerwise_parallel":true,"comm_fusion":2},
          {"name":"lr","shape":[],"dtype":"float32","role":"hyper"},
          {"name":"frozen","shape":[4],"dtype":"float32","requires_grad":false}])"),
                                          "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  const auto& parameters = document->graph.parameters;
  EXPECT_EQ(parameters[0].role, ParameterRole::kOptimizerState);
  EXPECT_EQ(parameters[0].state_of, ValueId{1});
  EXPECT_FALSE(parameters[0].requires_grad);
  EXPECT_EQ(parameters[1].role, ParameterRole::kWeight);
  EXPECT_TRUE(parameters[1].requires_grad);
  EXPECT_TRUE(parameters[1].layerwise_parallel);
  EXPECT_EQ(parameters[1].comm_fusion, 2);
  EXPECT_EQ(parameters[2].role, ParameterRole::kHyper);
  EXPECT_FALSE(parameters[3].requires_grad);
}

TEST(GraphDocument, ConstantDataMayBeNestedAndNotFinite) {
  const auto document =
      ReadGraphDocument(Document(R"("constants":[{"name":"c","shape":[2,2],"dtype":"float32",
                                "data":[[1,2.5],["-inf",true]]}])"),
                        "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->graph.constants[0].data, (std::vector<double>{1, 2.5, -INFINITY, 1}));
}

TEST(GraphDocument, LayoutsMayNameTheirAxes) {
  const auto document =
      ReadGraphDocument(Document(R"("nodes":[{"op":"A","output_types":[],"layout":[
          {"device_matrix":[2,2,4],"alias_name":["dp","sp","mp"],
           "tensor_map":["dp",["mp","sp"],"None",-1,0]}]}])"),
                        "g.json", EightRanks());
  ASSERT_TRUE(document) << document.error().message;
  // Axes are counted from the right: mp = 0, sp = 1, dp = 2.
  const TensorLayout& layout = document->graph.nodes[0].in_layout->front();
  EXPECT_EQ(layout.tensor_map, (std::vector<std::vector<std::int64_t>>{{2}, {0, 1}, {}, {}, {0}}));
}

/// One wrong document: what is in it, and what the message must say.
struct BadDocument {
  const char* name = "";
  std::string text = {};
  const char* reason = "";
  const char* message = "";
  std::int32_t line = 0;
  std::int32_t column = 0;
  const char* hint = "";
};

void PrintTo(const BadDocument& bad, std::ostream* out) {
  *out << bad.name;
}

class WrongGraphDocument : public ::testing::TestWithParam<BadDocument> {};

TEST_P(WrongGraphDocument, IsRefusedWithPlaceAndHint) {
  const BadDocument& bad = GetParam();
  const Error error = ErrorOf(bad.text);
  EXPECT_EQ(error.reason, bad.reason) << FormatError(error);
  EXPECT_THAT(error.message, HasSubstr(bad.message));
  EXPECT_THAT(error.hint, HasSubstr(bad.hint));
  ASSERT_TRUE(error.place);
  EXPECT_EQ(error.place->file, "g.json");
  EXPECT_EQ(error.place->line, bad.line) << FormatError(error);
  EXPECT_EQ(error.place->column, bad.column) << FormatError(error);
}

// `Document` puts the given fields into line 2, so their first character is 2:1.
const BadDocument kBadDocuments[] = {
    {"Empty", "", "graph:not-json", "unexpected end of input", 1, 1, "complete"},
    {"Truncated", R"({"schema":"drydock.gr)", "graph:not-json", "not JSON", 1, 22, "complete"},
    {"Utf16", "\xFF\xFE{", "graph:not-json", "not JSON", 1, 1, "save it as UTF-8"},
    {"Compressed", "\x1F\x8B\x08", "graph:not-json", "not JSON", 1, 1, "unpack it"},
    // {"schema":"drydock.graph/1","job": is 34 characters long.
    {"NoRanks", R"({"schema":"drydock.graph/1","job":{"world_size":-4}})", "job:world-size",
     "at least one rank", 1, 35, "--worker_num=8"},
    {"MissingComma", "{\"schema\":1\n \"a\":2}", "graph:not-json", "unexpected string literal", 2,
     4, ""},
    {"NotAnObject", "[1]", "graph:wrong-type", "'the document' must be an object, but it is a list",
     1, 1, ""},
    {"NoSchema", "{}", "graph:missing-field", "the document has no field 'schema'", 1, 1,
     "graph-format.md"},
    {"OtherSchema", R"({"schema":"drydock.graph/9"})", "graph:schema", "'drydock.graph/9'", 1, 11,
     "drydock.graph/1"},
    {"UnknownField", Document(R"("node":[])"), "graph:unknown-field",
     "the document has no field 'node'", 2, 1, "did you mean 'nodes'?"},
    {"UnknownNodeField", Document(R"("nodes":[{"op":"A","strateg":[[1]]}])"), "graph:unknown-field",
     "a node has no field 'strateg'", 2, 20, "did you mean 'strategy'?"},
    {"UnknownJobField", Document(R"("job":{"worldsize":8})"), "graph:unknown-field",
     "'job' has no field 'worldsize'", 2, 8, "did you mean 'world_size'?"},
    {"DuplicateField", Document(R"("name":"a","name":"b")"), "graph:duplicate-field",
     "'name' occurs twice", 2, 12, "keep one"},
    {"WrongMode", Document(R"("job":{"mode":"semi"})"), "job:parallel_mode", "'semi'", 2, 15,
     "semi_auto_parallel"},
    {"NodesNotAList", Document(R"("nodes":{})"), "graph:wrong-type",
     "'nodes' must be a list, but it is an object", 2, 9, ""},
    {"FractionInShape", Document(R"("inputs":[{"name":"x","shape":[2,1.5],"dtype":"int8"}])"),
     "graph:wrong-type", "'shape' must be an integer, but it is a number", 2, 34, ""},
    {"NegativeExtent", Document(R"("inputs":[{"name":"x","shape":[2,-1],"dtype":"int8"}])"),
     "tensor:extent", "(2, -1)", 2, 11, "fixed extent"},
    {"HugeShape",
     Document(R"("parameters":[{"name":"x","shape":[4294967296,4294967296],"dtype":"int8"}])"),
     "tensor:overflow", "does not fit 64 bits", 2, 15, ""},
    {"HugeShapeWithoutElements",
     Document(R"("parameters":[{"name":"x","shape":[0,4294967296,4294967296],"dtype":"int8"}])"),
     "tensor:overflow", "extents of 0 count as 1", 2, 15, ""},
    {"HugeNumber",
     Document(R"("parameters":[{"name":"x","shape":[99999999999999999999],"dtype":"int8"}])"),
     "graph:overflow", "does not fit 64 bits", 2, 36, ""},
    {"UnsignedNumber", Document(R"("job":{"world_size":9223372036854775808})"), "graph:overflow",
     "does not fit 64 bits", 2, 21, ""},
    {"DuplicateName",
     Document(
         R"("inputs":[{"name":"x","shape":[],"dtype":"int8"},{"name":"x","shape":[],"dtype":"int8"}])"),
     "graph:duplicate-name", "'x' is already used in line 2, column 11", 2, 50, "its own name"},
    {"DuplicateResult",
     Document(R"("nodes":[{"op":"A","outputs":["B0"],"output_types":[{"shape":[],"dtype":"int8"}]},
{"op":"B","output_types":[{"shape":[],"dtype":"int8"}]}])"),
     "graph:duplicate-name", "'B0' is already used in line 2", 3, 1, "its own name"},
    {"UndefinedName", Document(R"("inputs":[{"name":"input_ids","shape":[],"dtype":"int8"}],
"nodes":[{"op":"A","inputs":["input_id"],"output_types":[]}])"),
     "graph:undefined-name", "nothing is named 'input_id'", 3, 30, "did you mean 'input_ids'?"},
    {"UsedTooEarly", Document(R"("nodes":[{"op":"A","inputs":["b"],"output_types":[]},
{"op":"B","outputs":["b"],"output_types":[{"shape":[],"dtype":"int8"}]}])"),
     "graph:use-before-definition", "'b' is used before line 3 defines it", 2, 30, "order"},
    {"Cycle",
     Document(R"("nodes":[{"op":"A","inputs":["b"],"output_types":[{"shape":[],"dtype":"int8"}]},
{"op":"B","inputs":["A0"],"outputs":["b"],"output_types":[{"shape":[],"dtype":"int8"}]}])"),
     "graph:cycle", "'b' of 'B' in line 3 depends on the node that uses it here", 2, 30,
     "input or parameter"},
    {"SelfLoop",
     Document(
         R"("nodes":[{"op":"A","inputs":["A0"],"output_types":[{"shape":[],"dtype":"int8"}]}])"),
     "graph:cycle", "the nodes form a cycle", 2, 30, ""},
    {"UndefinedOutput", Document(R"("outputs":["y"])"), "graph:undefined-name", "'y'", 2, 12, ""},
    {"StateOfNothing",
     Document(R"("parameters":[{"name":"m","shape":[],"dtype":"int8","state_of":"w"}])"),
     "graph:undefined-name", "no parameter is named 'w'", 2, 64, ""},
    {"WrongRole", Document(R"("parameters":[{"name":"m","shape":[],"dtype":"int8","role":"x"}])"),
     "graph:role", "role 'x'", 2, 60, "optimizer_state"},
    {"ConstantSize",
     Document(R"("constants":[{"name":"c","shape":[3],"dtype":"int8","data":[1,2]}])"),
     "constant:size", "has 2 values", 2, 14, ""},
    {"NamelessConstant", Document(R"("constants":[{"shape":[],"dtype":"int8"}])"),
     "graph:missing-field", "a constant has no field 'name'", 2, 14, ""},
    {"ResultCount", Document(R"("nodes":[{"op":"A","outputs":["a","b"],"output_types":[]}])"),
     "graph:result-count", "'A' has 0 results, but 2 are named", 2, 10, ""},
    {"UnknownOperator", Document(R"("nodes":[{"op":"NoSuchOp"}])"), "NoSuchOp:unknown-operator",
     "'NoSuchOp'", 2, 10, ""},
    {"PlaceBeyondStacks", Document(R"("nodes":[{"op":"A","place":3,"output_types":[]}])"),
     "graph:place", "'stacks' has 0 entries", 2, 28, ""},
    {"UnknownAlias",
     Document(
         R"("nodes":[{"op":"A","output_types":[],"layout":[{"device_matrix":[8],"alias_name":["dp"],"tensor_map":["mp"]}]}])"),
     "graph:unknown-alias", "'mp'", 2, 103, ""},
};

INSTANTIATE_TEST_SUITE_P(All, WrongGraphDocument, ::testing::ValuesIn(kBadDocuments),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(GraphDocument, DeepNestingIsRefusedWithoutDescending) {
  // 2,000,000 opening brackets: far deeper than any call stack could follow.
  const std::string text = Document("\"name\":" + std::string(2'000'000, '['));
  const Error error = ErrorOf(text);
  EXPECT_EQ(error.reason, "graph:nesting");
  EXPECT_THAT(error.message, HasSubstr("nested more than 64 deep"));
  ASSERT_TRUE(error.place);
  // The document's brace is level 1; the 64th bracket, 63 characters behind column 8, is one too
  // many.
  EXPECT_EQ(error.place->line, 2);
  EXPECT_EQ(error.place->column, 8 + 63);
}

TEST(GraphDocument, TooManyNodesAreRefused) {
  std::string nodes = "\"nodes\":[0";
  for (std::size_t i = 0; i < kMaxGraphNodes; ++i) {
    nodes += ",0";
  }
  EXPECT_EQ(ErrorOf(Document(nodes + "]")).reason, "graph:too-many-nodes");
}

std::string FileText(const std::string& path) {
  std::ifstream file(SourceDir() + "/" + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(GraphDocument, EveryPrefixOfADocumentIsRefused) {
  std::string text = FileText("tests/fuzz/corpus/graph/given_types.json");
  text = text.substr(0, text.rfind('}') + 1);
  ASSERT_TRUE(ReadGraphDocument(text, "g.json", EightRanks()));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(ErrorOf(text.substr(0, length)).reason, "graph:not-json") << length;
  }
}

TEST(GraphDocument, EveryByteMayBeWrong) {
  // Whatever one byte becomes, reading ends with a document or with an error that has a place.
  const std::string text = FileText("tests/fuzz/corpus/graph/given_types.json");
  ASSERT_FALSE(text.empty());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char replacement : {'\0', '"', '[', '}', '9', '-', '\xFF'}) {
      std::string wrong = text;
      wrong[i] = replacement;
      const auto document = ReadGraphDocument(wrong, "g.json", EightRanks());
      EXPECT_TRUE(document || document.error().place) << i << " " << replacement;
    }
  }
}

TEST(GraphDocument, PlacesCountLinesAndQuoteThem) {
  const Error error =
      ErrorOf("{\n  \"schema\": \"drydock.graph/1\",\n  \"job\": {\n    \"mode\": 7\n  }\n}");
  ASSERT_TRUE(error.place);
  EXPECT_EQ(error.place->line, 4);
  EXPECT_EQ(error.place->column, 13);
  EXPECT_EQ(error.place->text, "    \"mode\": 7");
}

TEST(GraphDocument, NumberBeforeAClosingBracketHasItsPlace) {
  // 'world_size' is a list; its last number is followed by the bracket at once.
  const Error error = ErrorOf(Document(R"("job":{"dataset_strategy":[[1,2],["a"]]})"));
  ASSERT_TRUE(error.place);
  EXPECT_EQ(error.reason, "graph:wrong-type");
  EXPECT_EQ(error.place->column, 35);
}

TEST(GraphSchema, HasTheFieldsOfAJobThatIsWritten) {
  const std::string schema = FileText("docs/schema/graph.schema.json");
  const auto json = JsonReader::Parse(schema, "graph.schema.json");
  ASSERT_TRUE(json);
  const auto field = [](JsonView object, std::string_view name) {
    for (const auto& [key, value] : object.Members()) {
      if (key.AsText() == name) {
        return value;
      }
    }
    ADD_FAILURE() << "no field " << name;
    return object;
  };
  const auto names = [](JsonView object) {
    std::vector<std::string> list;
    for (const auto& [key, value] : object.Members()) {
      list.emplace_back(key.AsText());
    }
    return list;
  };
  const std::string text = WriteGraphDocument({}, {});
  const auto written = JsonReader::Parse(text, "written");
  ASSERT_TRUE(written);
  const JsonView job = field(field(field(json->root(), "$defs"), "job"), "properties");
  // A job that fuses nothing and shards no optimizer is written without these.
  std::vector<std::string> all = names(field(written->root(), "job"));
  all.emplace_back("comm_fusion");
  all.emplace_back("optimizer_sharding");
  EXPECT_THAT(names(job), UnorderedElementsAreArray(all));
  EXPECT_THAT(names(written->root()),
              UnorderedElementsAreArray(names(field(json->root(), "properties"))));
}

TEST(JobText, ReadsTheSectionAlone) {
  const auto job = ReadJobText(R"({"mode":"auto_parallel","search_mode":"sharding_propagation",
      "dataset_strategy":[[8,1],[8]],"fully_use_devices":true,"compat":"2.0","save_graphs":2})",
                               "job", EightRanks());
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->mode, ParallelMode::kAutoParallel);
  EXPECT_EQ(job->search_mode, SearchMode::kShardingPropagation);
  EXPECT_EQ(job->dataset.kind, DatasetStrategy::Kind::kCuts);
  EXPECT_EQ(job->dataset.cuts, (Strategy{{8, 1}, {8}}));
  EXPECT_EQ(job->fully_use_devices, true);
  EXPECT_EQ(job->compat, (CompatRelease{.major = 2, .minor = 0}));
  EXPECT_EQ(job->save_graphs, 2);
  EXPECT_EQ(job->world_size, 8);
}

TEST(JobText, KernelsAndStepsAreChecked) {
  const auto job = ReadJobText(
      R"({"jit_level":"O1","exec_order":"dfs","steps":12,"data_sink":true,"alloc_conf":"a:1"})",
      "job", EightRanks());
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->jit_level, "O1");
  EXPECT_EQ(job->exec_order, "dfs");
  EXPECT_EQ(job->steps, 12);
  EXPECT_TRUE(job->data_sink);
  EXPECT_EQ(job->alloc_conf, "a:1");
  for (const char* const wrong : {R"({"jit_level":"O2"})", R"({"exec_order":"random"})",
                                  R"({"steps":0})", R"({"steps":-3})"}) {
    EXPECT_FALSE(ReadJobText(wrong, "job", EightRanks())) << wrong;
  }
}

TEST(Compat, ReleasesFromTwoZeroToTwoTen) {
  for (std::int32_t minor = 0; minor <= 10; ++minor) {
    const auto release = ParseCompat("2." + std::to_string(minor));
    ASSERT_TRUE(release) << minor;
    EXPECT_EQ(*release, (CompatRelease{.major = 2, .minor = minor}));
  }
  EXPECT_EQ(ParseCompat("r2.7.1.post1").value(), (CompatRelease{.major = 2, .minor = 7}));
  EXPECT_EQ(CompatText({}), "2.10");  // the newest is the default
  for (const char* const unknown : {"1.9", "2.11", "2.1x", "2.", "2", "3.0", "x", ""}) {
    const auto release = ParseCompat(unknown);
    ASSERT_FALSE(release) << unknown;
    EXPECT_THAT(release.error().hint,
                HasSubstr("2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 2.10"));
  }
}

// Compiled by the wheels of 2.7 and 2.10: a data set cut into 2 on 8 ranks.
TEST(Compat, DataSetsAreRepeatedOnTheRightSinceTwoEight) {
  JobConfig job = EightRanks();
  job.compat = {.major = 2, .minor = 7};
  EXPECT_FALSE(RepeatsDatasetOnRight(job));
  job.dataset_repeat_on_right = true;
  EXPECT_TRUE(RepeatsDatasetOnRight(job));
  job.dataset_repeat_on_right = false;
  job.compat = {.major = 2, .minor = 8};
  EXPECT_TRUE(RepeatsDatasetOnRight(job));
}

}  // namespace
}  // namespace drydock::strategies
