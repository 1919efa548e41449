#include "launcher/exit_code.h"

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

TEST(ErrorText, ControlCharactersOfAFileDoNotReachTheTerminal) {
  const Error error = FailInput("graph:unknown-field", "no field '\x1b[31m'", "a\tb\x7f").value();
  EXPECT_EQ(ErrorText(error, "msrun"),
            "msrun: error[STRATEGY]: no field '\\x1b[31m'; hint: a\tb\\x7f\n");
}

TEST(ExitCodeOf, CausesOfScriptsAreToldApart) {
  const auto code = [](ScriptCause cause, ErrorCode kind) {
    return FailureCodeOf(Error{.code = kind, .cause = cause});
  };
  constexpr auto kUser = ErrorCode::kInvalidArgument;
  EXPECT_EQ(code(ScriptCause::kOther, kUser), FailureCode::kScript);
  EXPECT_EQ(code(ScriptCause::kOther, ErrorCode::kUnsupported), FailureCode::kUnsupported);
  EXPECT_EQ(code(ScriptCause::kOther, ErrorCode::kTimeout), FailureCode::kScript);
  EXPECT_EQ(code(ScriptCause::kOther, ErrorCode::kInternal), FailureCode::kInternal);
  EXPECT_EQ(code(ScriptCause::kNothingTraced, kUser), FailureCode::kNothingTraced);
  EXPECT_EQ(code(ScriptCause::kNoInterpreter, kUser), FailureCode::kNoInterpreter);
  EXPECT_EQ(code(ScriptCause::kUnreadable, kUser), FailureCode::kNoScript);
}

TEST(ExitCodeOf, WhatHasNoCauseGoesByItsKind) {
  EXPECT_EQ(CodeOf(FailInput("MatMul:strategy", "").value()), "STRATEGY");
  EXPECT_EQ(CodeOf(Error{.code = ErrorCode::kUnsupported}), "UNSUPPORTED");
  EXPECT_EQ(CodeOf(Error{.code = ErrorCode::kIo}), "REPORT_WRITE");
  EXPECT_EQ(CodeOf(Error{.code = ErrorCode::kProtocol}), "INTERNAL");
  EXPECT_EQ(CodeOf(Error{.code = ErrorCode::kInvalidArgument, .cause = StrategyCause::kEntries}),
            "STRATEGY");
}

// Reasons are printed only: a document may name an operator as it likes.
TEST(ExitCodeOf, TextsDecideNothing) {
  for (const char* const reason : {"LOG_DIR", "script:nothing-traced", "script:unknown-operator",
                                   "script:stopped-by-signal-15"}) {
    const Error error = FailInput(reason, "").value();
    EXPECT_EQ(CodeOf(error), "STRATEGY") << reason;
    EXPECT_EQ(StatusOf(error), 6) << reason;
  }
}

TEST(ExitCodeOf, SignalsAddTheirNumberTo128) {
  const Error stopped{.code = ErrorCode::kInvalidArgument, .cause = StopSignal{15}};
  EXPECT_EQ(CodeOf(stopped), "STOPPED");
  EXPECT_EQ(StatusOf(stopped), 143);
}

TEST(ExitCodeOf, CommandsGiveTheirCode) {
  const Error error = FailCommand(FailureCode::kLogDir, "no room").value();
  EXPECT_EQ(CodeOf(error), "LOG_DIR");
  EXPECT_EQ(error.reason, "LOG_DIR");
  EXPECT_EQ(error.hint, "choose another folder with --log_dir");
  EXPECT_EQ(StatusOf(error), 3);
  EXPECT_EQ(CodeOf(WithCode(FailInput("graph:unknown-field", "").value(), FailureCode::kHardware)),
            "HARDWARE");
}

TEST(ExitCodeOf, NamesOfAllCodesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(FailureCode::kInternal); ++i) {
    const auto code = static_cast<FailureCode>(i);
    EXPECT_EQ(CodeNamed(CodeOf(Error{.cause = code})), code) << i;
  }
  EXPECT_EQ(CodeNamed("NO_SUCH_CODE"), std::nullopt);
}

}  // namespace
}  // namespace drydock::launcher
