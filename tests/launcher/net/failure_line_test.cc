#include "launcher/net/failure_line.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/launcher/net/wait_for.h"

namespace drydock::launcher {
namespace {

std::unique_ptr<FailureLine> StartLine(const Endpoint& scheduler) {
  return FailureLine::Start({.scheduler = scheduler}).value();
}

std::vector<std::string> NextReports(FailureLine& line) {
  EXPECT_TRUE(WaitReadable(line.event_fd()));
  std::vector<std::string> texts;
  for (const HeardFailure& heard : line.Take()) {
    texts.push_back(heard.text);
  }
  return texts;
}

/// Polls a state of another thread that nobody announces.
template <typename Condition>
bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

TEST(FailureLine, AReportIsHeardOnTheOtherNodesOnly) {
  const auto server = Serve({.job = {.worker_num = 4}});
  const auto first = StartLine(server->endpoint());
  const auto second = StartLine(server->endpoint());
  const auto third = StartLine(server->endpoint());
  const auto start = std::chrono::steady_clock::now();
  first->Tell("rank 1 ended with status 3");
  const std::vector<std::string> heard = {"rank 1 ended with status 3"};
  EXPECT_EQ(NextReports(*second), heard);
  EXPECT_EQ(NextReports(*third), heard);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(25));
  EXPECT_TRUE(WaitUntil([&first] { return first->settled(); }));
  EXPECT_TRUE(first->Take().empty());
}

TEST(FailureLine, AReportWaitsForASchedulerThatComesLate) {
  Endpoint place;
  { place = Serve({.job = {.worker_num = 1}})->endpoint(); }
  const auto line = StartLine(place);
  line->Tell("too early");
  EXPECT_FALSE(line->settled());
  const auto server = Serve({.job = {.worker_num = 1}, .bind = place});
  const auto other = StartLine(place);
  EXPECT_EQ(NextReports(*other), std::vector<std::string>{"too early"});
  EXPECT_TRUE(WaitUntil([&line] { return line->settled(); }));
}

TEST(FailureLine, ASchedulerThatIsGoneLeavesNothingToTell) {
  auto server = Serve({.job = {.worker_num = 1}});
  const auto line = StartLine(server->endpoint());
  EXPECT_TRUE(WaitUntil([&line] { return line->connected(); }));
  EXPECT_FALSE(line->settled());
  server->Stop();
  EXPECT_TRUE(WaitUntil([&line] { return line->settled(); }));
}

// Nodes are no members: a job is complete with its workers, whoever listens beside them.
TEST(FailureLine, IsNoMemberOfTheJob) {
  const auto server = Serve({.job = {.worker_num = 1}});
  const auto line = StartLine(server->endpoint());
  EXPECT_TRUE(WaitUntil([&line] { return line->connected(); }));
  EXPECT_EQ(server->Look().present, 0U);
  EXPECT_EQ(server->Look().state, sim::SchedulerState::kBuilding);
}

TEST(FailureLine, LaunchersThatDisagreeOnTheNumberOfRanksHearBothNumbers_K4) {
  const auto server = Serve({.job = {.worker_num = 4}});
  const auto line = FailureLine::Start({.scheduler = server->endpoint(), .worker_num = 8}).value();
  EXPECT_TRUE(WaitReadable(line->event_fd()));
  const auto heard = line->Take();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_TRUE(heard.front().is_contradiction);
  EXPECT_EQ(heard.front().text, "the job has 4 ranks by its scheduler, and 8 by --worker_num here");
}

// Ranks of a launcher that is wrong about the job fail before it knows that: the others hear why.
TEST(FailureLine, AReportOfALauncherThatDisagreesSaysThat_K4) {
  const auto server = Serve({.job = {.worker_num = 4}});
  const auto other = StartLine(server->endpoint());
  const auto line = FailureLine::Start({.scheduler = server->endpoint(), .worker_num = 8}).value();
  line->Tell("rank 5 ended with exit status 1");
  EXPECT_EQ(
      NextReports(*other),
      std::vector<std::string>{"the job has 4 ranks by its scheduler, and 8 by --worker_num here"});
  EXPECT_TRUE(WaitUntil([&line] { return line->settled(); }));
}

TEST(FailureLine, AReportOfALauncherThatAgreesComesAfterTheComparison_K4) {
  const auto server = Serve({.job = {.worker_num = 4}});
  const auto other = StartLine(server->endpoint());
  const auto line = FailureLine::Start({.scheduler = server->endpoint(), .worker_num = 4}).value();
  line->Tell("rank 3 ended with exit status 1");
  EXPECT_EQ(NextReports(*other), std::vector<std::string>{"rank 3 ended with exit status 1"});
  EXPECT_TRUE(WaitUntil([&line] { return line->settled(); }));
  EXPECT_TRUE(line->Take().empty());
}

TEST(FailureLine, AReportIsOneLineWhoeverWroteIt_Jobs6) {
  const auto server = Serve({.job = {.worker_num = 4}});
  const auto liar = StartLine(server->endpoint());
  const auto line = StartLine(server->endpoint());
  liar->Tell("bad\nmsrun: all fine\x1b[2J");
  EXPECT_EQ(NextReports(*line), std::vector<std::string>{"bad\\nmsrun: all fine\\x1b[2J"});
}

TEST(FailureLine, WithASecretOnlyThoseThatKnowItAreHeard_Jobs6) {
  const std::string proof(64, 'a');
  const auto server = Serve({.job = {.worker_num = 4, .proof = proof}});
  const auto start = [&](const std::string& shown) {
    return FailureLine::Start({.scheduler = server->endpoint(), .proof = shown}).value();
  };
  const auto stranger = start("");
  const auto guesser = start(std::string(64, 'b'));
  const auto line = start(proof);
  stranger->Tell("killed by a stranger");
  guesser->Tell("killed by a guess");
  const auto friendly = start(proof);
  friendly->Tell("rank 3 ended");
  EXPECT_EQ(NextReports(*line), std::vector<std::string>{"rank 3 ended"});
}

}  // namespace
}  // namespace drydock::launcher
