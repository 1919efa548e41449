#include "launcher/exit_code.h"

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

TEST(ErrorText, ControlCharactersOfAFileDoNotReachTheTerminal) {
  const Error error = FailInput("graph:unknown-field", "no field '\x1b[31m'", "a\tb\x7f").value();
  EXPECT_EQ(ErrorText(error, "msrun"),
            "msrun: error[STRATEGY]: no field '\\x1b[31m'; hint: a\tb\\x7f\n");
}

}  // namespace
}  // namespace drydock::launcher
