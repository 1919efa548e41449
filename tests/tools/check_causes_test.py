import unittest

import check_causes
import tree_fixture

TABLE = 'constexpr auto kCodes = {{FailureCode::kLogDir, "LOG_DIR", ExitCode::kPreflight}};\n'


class CheckCausesTest(tree_fixture.TreeTest):
    def problems(self, text, path="launcher/x.cc"):
        self.write("launcher/exit_code.cc", TABLE)
        self.write(path, "int a;\n" + text + "\n")
        return check_causes.check(self.root)

    def test_texts_of_errors_are_not_compared(self):
        for line in ('if (error.reason == "script:killed") {',
                     "if (error.reason != meaning.reason) {",
                     "if (kReason == error.reason) {",
                     'if (error.reason.starts_with("script:")) {',
                     'if (sharding.error().reason.ends_with(":entries")) {',
                     'if (answer.error().message\n    .find("401") != npos) {',
                     'if (error->hint.find("docs") != npos) {'):
            problems = self.problems(line)
            self.assertGreaterEqual(len(problems), 1, line)
            self.assertTrue(problems[0].startswith("launcher/x.cc:2: "), problems)

    def test_codes_are_not_compared_by_name(self):
        for line in ('if (CodeOf(error) == "STOPPED") {', "if (CodeOf(entries.error()) != kGone) {", 'if (code == "LOG_DIR") {',
                     'if (diagnostic.code == "not-modelled") {', "if (item.code == kScriptFailed) {"):
            self.assertEqual(len(self.problems(line)), 1, line)

    def test_warnings_are_not_taken_apart(self):
        self.assertEqual(len(self.problems('if (warning.starts_with("unsupported: ")) {')), 1)
        self.assertEqual(len(self.problems('if (warning.text.starts_with(kLimit)) {')), 1)

    def test_types_and_printing_are_fine(self):
        for line in ("if (error.code == ErrorCode::kTimeout) {", "if (node.reason == CommReason::kPartialSum) {",
                     "if (IsCausedBy(error, ScriptCause::kUnreadable)) {", "out << error.reason << error.message;",
                     "if (error.hint.empty()) {", "if (FailureCodeOf(error) == FailureCode::kLogDir) {",
                     "return known.code == more.code && known.text == more.text;", 'error.reason = "script:killed";',
                     '// error.reason == "x"'):
            self.assertEqual(self.problems(line), [], line)

    def test_the_reader_of_the_driver_and_tests_may(self):
        line = 'if (reason == "script:unreadable") {'
        self.assertEqual(self.problems(line, "sim/tracer/trace_result.cc"), [])
        self.assertEqual(self.problems(line, "tests/x.cc"), [])
        self.assertEqual(len(self.problems(line, "sim/tracer/run_script.cc")), 1)

    def test_a_table_of_another_form_is_a_problem(self):
        self.write("launcher/exit_code.cc", "")
        self.assertEqual(len(check_causes.check(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
