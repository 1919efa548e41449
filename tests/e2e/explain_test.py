"""Pages of error codes: there is one for each code, in both languages, and the examples of each end as it says."""

import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import command

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(command.MSRUN).parent / "drydock"
PAGE = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.S | re.M)
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```", re.S | re.M)
PLACED = {"STRATEGY", "SCRIPT", "CALIBRATE", "WORKSPACES"}  # have a place in a file where others have the code
LINE = re.compile(r"^(.*?)\s+# (\w+)$", re.M)


def pages(path):
    return dict(PAGE.findall((ROOT / path).read_text()))


class ExplainTest(command.CommandTest):
    def run_line(self, line):
        environment = dict(command.environment(self.temporary))
        tools = Path(self.temporary) / "tools"
        tools.mkdir(exist_ok=True)
        if not (tools / "python").exists():
            (tools / "python").symlink_to(sys.executable)
        environment["PATH"] = "%s:%s:%s" % (tools, PROGRAM.parent, environment["PATH"])
        return subprocess.run(["bash", "-c", line], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=command.SECONDS, check=False)

    def test_every_code_has_a_page_in_both_languages(self):
        codes = re.findall(r'^    \{FailureCode::\w+,\s+"([A-Z0-9_]+)",\s+ExitCode::', (ROOT / "launcher/exit_code.cc").read_text(), re.M)
        self.assertGreater(len(codes), 30)
        self.assertEqual(set(pages("docs/errors.md")), set(codes))
        self.assertEqual(list(pages("docs/zh/errors.md")), list(pages("docs/errors.md")))

    def test_examples_and_statuses_are_the_same_in_both_languages(self):
        chinese = pages("docs/zh/errors.md")
        for code, text in pages("docs/errors.md").items():
            self.assertEqual(BLOCK.findall(chinese[code]), BLOCK.findall(text), code)
            status = re.search(r"Exit status (\S+?)[.,]", text).group(1)
            self.assertRegex(chinese[code], "退出码 %s[。，]" % re.escape(status), code)

    def test_examples_end_as_they_say(self):
        count = 0
        for code, text in pages("docs/errors.md").items():
            shutil.copy(command.EXAMPLES / "quickstart/net.py", self.folder)
            for language, name, body in BLOCK.findall(text):
                if language != "sh":
                    self.write(name, body)
                    continue
                for line, end in LINE.findall(body):
                    with self.subTest(code=code, line=line):
                        count += 1
                        done = self.run_line(line)
                        errors = done.stderr.decode()
                        if end == "works":
                            self.assertEqual(done.returncode, 0, errors)
                            continue
                        self.assertEqual(end, code)
                        self.assertIn("Exit status %d" % done.returncode, text)
                        self.assertRegex(errors, r"\w+\.py:\d+(:\d+)?: error: " if code in PLACED else r"error\[%s\]" % code)
        self.assertGreater(count, 25)

    def test_the_program_prints_the_page(self):
        for arguments, words in ((["port_range"], ["## PORT_RANGE", "1024"]), (["--language=zh", "USAGE"], ["退出码 2"]),
                                 ([], ["STRATEGY", "INTERNAL"])):
            done = subprocess.run([PROGRAM, "explain", *arguments], stdout=subprocess.PIPE, check=True)
            for word in words:
                self.assertIn(word, done.stdout.decode())
        done = subprocess.run([PROGRAM, "explain", "STRATEGI"], stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'STRATEGY'?", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
