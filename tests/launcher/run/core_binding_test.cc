#include "launcher/run/core_binding.h"

#include <sched.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

std::vector<WorkerSpec> Workers(std::int64_t count) {
  std::vector<WorkerSpec> workers;
  for (std::int64_t i = 0; i < count; ++i) {
    workers.push_back({.local_index = i});
  }
  return workers;
}

TEST(EqualShares, LastOneGetsTheRemainder) {
  // 7 / 3 = 2, remainder 1
  EXPECT_THAT(EqualShares({0, 1, 2, 3, 8, 9, 10}, 3),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(8, 9, 10)));
}

TEST(EqualShares, TooFewProcessorsGiveNone) {
  EXPECT_THAT(EqualShares({0, 1}, 3), IsEmpty());
}

TEST(CpusOfRange, BothEndsBelongToIt) {
  EXPECT_THAT(CpusOfRange("2-4"), Optional(ElementsAre(2, 3, 4)));
  EXPECT_THAT(CpusOfRange("4-4"), Optional(ElementsAre(4)));
  EXPECT_EQ(CpusOfRange("4-2"), std::nullopt);
  EXPECT_EQ(CpusOfRange("0-99999999999"), std::nullopt);
}

TEST(BindWorkers, EqualSharesAreShownAsRanges) {
  auto workers = Workers(2);
  std::vector<std::string> warnings;
  ASSERT_TRUE(BindWorkers({.enabled = true}, {0, 4, 1, 5}, {}, "", workers, warnings));
  // In the order of the machine: hardware threads 0 and 4 share a core.
  EXPECT_THAT(workers[0].cpus, ElementsAre(0, 4));
  EXPECT_EQ(workers[0].bound_ranges, "0,4");
  EXPECT_EQ(workers[1].bound_ranges, "1,5");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(BindWorkers, TooFewProcessorsAreAWarning) {
  auto workers = Workers(3);
  std::vector<std::string> warnings;
  ASSERT_TRUE(BindWorkers({.enabled = true}, {0, 1}, {}, "", workers, warnings));
  EXPECT_THAT(workers[0].cpus, IsEmpty());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("2 processors are fewer than 3 workers")));
}

TEST(BindWorkers, ListedProcessorsGoByTheVisibleDevice) {
  const CoreBinding binding = {
      .enabled = true, .ranges_of_device = {{"device5", {"0-1", "3-3"}}, {"device7", {"2-2"}}}};
  auto workers = Workers(2);
  std::vector<std::string> warnings;
  // Sorted: worker 0 uses device 5, worker 1 device 7.
  ASSERT_TRUE(BindWorkers(binding, {0, 1, 2, 3}, {}, "7,5", workers, warnings));
  EXPECT_THAT(workers[0].cpus, ElementsAre(0, 1, 3));
  EXPECT_EQ(workers[0].bound_ranges, "0-1,3");
  EXPECT_THAT(workers[1].cpus, ElementsAre(2));
}

TEST(BindWorkers, DeviceThatIsNotListedStaysUnbound) {
  const CoreBinding binding = {.enabled = true, .ranges_of_device = {{"device1", {"0-0"}}}};
  auto workers = Workers(1);
  std::vector<std::string> warnings;
  ASSERT_TRUE(BindWorkers(binding, {0}, {}, "", workers, warnings));
  EXPECT_THAT(workers[0].cpus, IsEmpty());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("device0")));
}

TEST(BindWorkers, ProcessorThatIsNotThereIsRefused) {
  const CoreBinding binding = {.enabled = true, .ranges_of_device = {{"device0", {"0-9"}}}};
  auto workers = Workers(1);
  std::vector<std::string> warnings;
  const Status status = BindWorkers(binding, {0, 1}, {}, "", workers, warnings);
  ASSERT_FALSE(status);
  EXPECT_EQ(CodeOf(status.error()), "USAGE");
  EXPECT_THAT(status.error().message, HasSubstr("processor 2 of device0"));
}

TEST(BindWorkers, SharesOfDevicesGoByTheVisibleDevice) {
  auto workers = Workers(2);
  std::vector<std::string> warnings;
  // Worker 0 uses device 1; worker 1 device 3, which is not there.
  ASSERT_TRUE(BindWorkers({.enabled = true}, {0, 1}, {{0}, {1}}, "3,1", workers, warnings));
  EXPECT_THAT(workers[0].cpus, ElementsAre(1));
  EXPECT_THAT(workers[1].cpus, IsEmpty());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("device 3")));
}

TEST(UsableCpus, AreThoseOfThisProcess) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::vector<int> expected;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) {
      expected.push_back(cpu);
    }
  }
  auto cpus = UsableCpus();
  ASSERT_TRUE(cpus) << cpus.error().message;
  std::ranges::sort(*cpus);
  EXPECT_EQ(*cpus, expected);
}

}  // namespace
}  // namespace drydock::launcher
