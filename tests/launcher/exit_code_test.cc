#include "launcher/exit_code.h"

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

TEST(ErrorText, ControlCharactersOfAFileDoNotReachTheTerminal) {
  const Error error = FailInput("graph:unknown-field", "no field '\x1b[31m'", "a\tb\x7f").value();
  EXPECT_EQ(ErrorText(error, "msrun"),
            "msrun: error[STRATEGY]: no field '\\x1b[31m'; hint: a\tb\\x7f\n");
}

TEST(ErrorText, ScriptsAndStrategiesAreToldApart) {
  const Error exit = FailInput("script:exit", "the script ended").value();
  EXPECT_EQ(CodeOf(exit), "SCRIPT");
  EXPECT_EQ(ExitCodeOf(exit), ExitCode::kRejected);
  const Error late{.code = ErrorCode::kTimeout, .message = "", .reason = "script:timeout"};
  EXPECT_EQ(CodeOf(late), "SCRIPT");
  EXPECT_EQ(CodeOf(FailInput("MatMul:strategy", "").value()), "STRATEGY");
}

}  // namespace
}  // namespace drydock::launcher
