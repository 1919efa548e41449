#include "launcher/stop_guard.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

TEST(StopGuardDeathTest, SignalEndsTheProcessWithItsNumber) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          const StopGuard guard;
          ::raise(number);
          while (true) {
            ::pause();
          }
        },
        ::testing::ExitedWithCode(128 + number), "");
  }
}

TEST(StopGuardDeathTest, FirstSignalWaitsForADelayedSection) {
  EXPECT_EXIT(
      {
        StopGuard guard;
        {
          const auto delay = guard.Delay();
          ::raise(SIGTERM);
          // Still here: what is written now must be complete.
          [[maybe_unused]] const auto written = ::write(STDERR_FILENO, "complete", 8);
        }
        while (true) {
          ::pause();
        }
      },
      ::testing::ExitedWithCode(143), "complete");
}

TEST(StopGuardDeathTest, SecondSignalDoesNotWait) {
  EXPECT_EXIT(
      {
        StopGuard guard;
        const auto delay = guard.Delay();
        ::raise(SIGTERM);
        ::raise(SIGINT);
        while (true) {
          ::pause();
        }
      },
      ::testing::ExitedWithCode(130), "");
}

// `ulimit -f`: a file that becomes too long is an error to be told, not the end of the process.
TEST(StopGuardDeathTest, AFileThatIsTooLongIsNoEnd) {
  EXPECT_EXIT(
      {
        const StopGuard guard;
        ::raise(SIGXFSZ);
        ::_exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(StopGuardDeathTest, IgnoredHangUpStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        const StopGuard guard;
        ::raise(SIGHUP);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(StopGuard, OldActionsComeBack) {
  const auto before = std::signal(SIGTERM, SIG_DFL);
  { const StopGuard guard; }
  EXPECT_EQ(std::signal(SIGTERM, before), SIG_DFL);
}

}  // namespace
}  // namespace drydock::launcher
