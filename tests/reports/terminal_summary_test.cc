#include "reports/terminal_summary.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/report_set.h"
#include "reports/text_table.h"
#include "tests/reports/dry_run_sample.h"

namespace drydock::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

RunFacts Facts() {
  return {.subject = "net.py", .compat_from = "installed release", .simulation_level = 1};
}

std::string TextOf(const sim::DryRunResult& result, const TerminalOptions& options) {
  const ReportSet reports = BuildReports(Facts(), result);
  return TerminalSummary(reports.summary, reports.memory, options);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// What fits comes first, then in the order of the trials; a long change goes on below itself.
TEST(TerminalSummary, SaysWhatWouldFit) {
  ReportSet reports = BuildReports(Facts(), SampleDryRun());
  reports.summary.trials = {
      {.change = "sharded optimizer", .peak_bytes = 3 << 20},
      {.change = "recompute() of the 96 Blocks in 'layers' and the 12 Blocks in 'decoder'",
       .fits = true,
       .peak_bytes = 1 << 20,
       .step_seconds = 1.5},
      {.change = "16 ranks", .problem = "the batch of 8 cannot be cut"}};
  EXPECT_THAT(TerminalSummary(reports.summary, reports.memory, {}),
              HasSubstr(R"(what would fit, tried by compiling it:
  fits    1.0 MiB  recompute() of the 96 Blocks in 'layers' and the 12 Blocks in
                   'decoder', step 1.50 s
  no      3.0 MiB  sharded optimizer
  no     rejected  16 ranks: the batch of 8 cannot be cut
)"));
}

// Figures: see SampleDryRun; traffic: 6 collectives of 3840 B = 3.8 KiB
// (communication_report_test).
TEST(TerminalSummary, ShowsTheWholeAnswer) {
  EXPECT_EQ(TextOf(SampleDryRun(), {.output_folder = "out"}),
            R"(ok: the programs of 8 ranks are legal and agree on every collective; they fit
  into device memory
net.py: 8 ranks, auto_parallel/sharding_propagation, level 1
defaults of MindSpore 2.2 (installed release), data set data_parallel, GPU
operators: 6, strategies by 1 user, 2 propagated, 1 dataset, 2 none; 2
  redistributions

memory per rank
  ranks  stage     peak  with fragments     limit  head-room
  4-7        0  2.0 MiB         4.0 MiB  58.0 GiB   58.0 GiB
  0-3        0  2.0 MiB         3.0 MiB  58.0 GiB   58.0 GiB
  of the 2.0 MiB of rank 4: parameters 1.0 MiB, activations 1023.5 KiB,
    communication 512 B
  largest tensors at Default/network-Wi.../_backbone-Net/MatMul-op0 (net.py:45):
    1.0 MiB  w                 parameters   net.py:45
    1.0 KiB  result of matmul  activations

communication per rank and step: 6 collectives, 3.8 KiB sent
  AllGather  1    768 B    forward    3  2.2 KiB
  AllReduce  5  3.0 KiB    backward   3  1.5 KiB
                           optimizer  0      0 B

reports in out: summary.json, communication.json, memory.json
)");
}

TEST(TerminalSummary, VerboseAddsMindSporesOwnLines) {
  EXPECT_THAT(TextOf(SampleDryRun(), {}), Not(HasSubstr("Used peak memory usage")));
  const std::string text = TextOf(SampleDryRun(), {.verbose = true});
  EXPECT_THAT(text, HasSubstr("\nUsed peak memory usage (without fragments): 2M\n"
                              "Actual peak memory usage (with fragments): 4M\n"));
  EXPECT_THAT(text, HasSubstr("Device MOC memory size: 65536M\n"));
}

TEST(TerminalSummary, ColoursOnlyWhenAsked) {
  EXPECT_THAT(TextOf(SampleDryRun(), {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(TextOf(SampleDryRun(), {.color = true}), HasSubstr("\x1b[1;32mok: "));
}

TEST(TerminalSummary, MemoryThatDoesNotFitShowsTheDeficit) {
  sim::DryRunResult result = SampleDryRun();
  result.classes[0].head_room_bytes = -2048;
  const std::string text = TextOf(result, {.color = true});
  EXPECT_THAT(text, HasSubstr("-2.0 KiB"));
  EXPECT_THAT(text, HasSubstr("\x1b[1;31mmemory-exceeded: "));
}

TEST(TerminalSummary, RejectionShowsPlaceAndHint) {
  const Error error = {.code = ErrorCode::kInvalidArgument,
                       .message = "3 does not divide 8",
                       .hint = "use 4",
                       .place = SourcePlace{.file = "net.py", .line = 41, .text = " shard(3)"}};
  const ReportSet reports = BuildRejectionReports(Facts(), {.world_size = 8}, error);
  const std::string text = TerminalSummary(reports.summary, reports.memory, {});
  EXPECT_THAT(
      text, HasSubstr("rejected: 3 does not divide 8\n  at net.py:41: shard(3)\n  hint: use 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("memory per rank")));
  EXPECT_THAT(text, Not(HasSubstr("communication")));
}

TEST(TerminalSummary, DiagnosticsAreListed) {
  sim::DryRunResult result = SampleDryRun();
  result.job.diagnostics = {{.code = "operator-without-rule",
                             .text = "'Foo' is replicated",
                             .first_place = SourcePlace{.file = "net.py", .line = 7},
                             .kind = strategies::DiagnosticKind::kLimit}};
  EXPECT_THAT(TextOf(result, {}), HasSubstr("1 diagnostic\n  unsupported: operator-without-rule: "
                                            "'Foo' is replicated (net.py:7)\n"));
}

TEST(TerminalSummary, LongDiagnosticHasItsTextOnALineOfItsOwn) {
  sim::DryRunResult result = SampleDryRun();
  const std::string first(60, 't');
  const std::string second(30, 'u');
  const std::string text = first + " " + second;
  result.job.diagnostics = {{.code = "operator-without-rule",
                             .text = text,
                             .count = 2,
                             .first_place = SourcePlace{.file = "net.py", .line = 7},
                             .kind = strategies::DiagnosticKind::kLimit}};
  EXPECT_THAT(TextOf(result, {}),
              HasSubstr("1 diagnostic\n  unsupported: operator-without-rule (2 times, first at "
                        "net.py:7)\n    " +
                        first + "\n    " + second + "\n"));
}

// However large the job: 500 classes, 500 diagnostics, names of 300 characters, wide characters.
TEST(TerminalSummary, StaysSmallForLargeJobs) {
  sim::DryRunResult result = SampleDryRun();
  sim::ClassMemory item = result.classes[0];
  item.largest[0].name = std::string(300, 'n');
  item.peak_op = std::string(300, 'p');
  for (int i = 0; i < 100; ++i) {
    item.ranks.ranges.push_back({.first = 10 * i + 10, .last = 10 * i + 11});
  }
  result.classes.assign(500, item);
  result.job.diagnostics.assign(500, {.code = "c", .text = std::string(400, '\xE7')});
  const std::vector<std::string> lines = LinesOf(TextOf(result, {}));
  EXPECT_LE(lines.size(), 33U);
  for (const std::string& line : lines) {
    EXPECT_LE(DisplayWidth(line), kTerminalColumns) << line;
  }
}

}  // namespace
}  // namespace drydock::reports
