"""docs/examples/reports: reports that people read before they install anything keep to today's schemas and belong together."""

import json
import unittest

import command

try:
    import jsonschema
except ImportError:
    jsonschema = None

SAMPLES = command.SOURCE / "docs/examples/reports"
PICTURE = command.SOURCE / "docs/pictures/report.png"


class ReportSamplesTest(unittest.TestCase):
    def test_samples_are_of_one_run_and_keep_to_the_schemas(self):
        runs = set()
        files = sorted(SAMPLES.glob("*.json"))
        self.assertEqual([file.name for file in files], ["communication.json", "memory.json", "summary.json", "timeline.json"])
        for file in files:
            report = json.loads(file.read_text(encoding="utf-8"))
            runs.add(report["run"]["id"])
            if jsonschema is not None:
                schema = json.loads((command.SOURCE / ("docs/schema/%s.schema.json" % file.stem)).read_text(encoding="utf-8"))
                jsonschema.validate(report, schema)
        (run,) = runs
        page = (SAMPLES / "report.html").read_text(encoding="utf-8")
        self.assertIn(run, page)
        self.assertIn(json.loads((SAMPLES / "summary.json").read_text(encoding="utf-8"))["verdict_text"], page)

    def test_the_answer_on_the_terminal_is_that_of_the_summary(self):
        text = (SAMPLES / "terminal.txt").read_text(encoding="utf-8")
        summary = json.loads((SAMPLES / "summary.json").read_text(encoding="utf-8"))
        self.assertIn("%s: %s" % (summary["verdict"], summary["verdict_text"]), " ".join(text.split()))
        for trial in summary["trials"]:
            self.assertIn(trial["change"], " ".join(text.split()))
        self.assertEqual([line for line in text.splitlines()[1:] if len(line) > 80], [])

    def test_pictures_are_small(self):
        self.assertLess(PICTURE.stat().st_size, 150_000)
        self.assertEqual(PICTURE.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
