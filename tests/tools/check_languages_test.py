"""The check of translations sees a section or an output that is not followed."""

import tempfile
import unittest
from pathlib import Path

import check_languages

ORIGINAL = "# A\n\n## B\n\n```\nls\n```\n"


class CheckLanguagesTest(unittest.TestCase):
    def faults(self, translation, original=ORIGINAL):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs/zh").mkdir(parents=True)
            for source, target in check_languages.PAGES.items():
                (root / source).write_text(original)
                (root / target).write_text(translation)
            return list(check_languages.check(root))

    def test_same_outline_and_code_are_in_step(self):
        self.assertEqual(self.faults("# 甲\n\n## 乙\n\n```\nls\n```\n"), [])

    def test_missing_section_is_told(self):
        self.assertEqual(len(self.faults("# 甲\n\n```\nls\n```\n")), len(check_languages.PAGES))

    def test_other_output_is_told(self):
        self.assertIn("block of code 1", self.faults("# 甲\n\n## 乙\n\n```\nls -l\n```\n")[0])

    def test_a_comment_in_code_is_no_heading(self):
        code = "# A\n\n```\n# no heading\n```\n"
        self.assertEqual(self.faults(code, code), [])

    def test_indented_code_and_rows_of_tables_count(self):
        page = "# A\n\ntext\n\n    ls\n\n    pwd\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        self.assertEqual(self.faults(page.replace("text", "文"), page), [])
        self.assertIn("block of code 1", self.faults(page.replace("pwd", "cd"), page)[0])
        self.assertIn("2 rows of tables", self.faults(page.replace("| 1 | 2 |\n", ""), page)[0])

    def test_what_a_program_wrote_is_not_translated(self):
        self.assertEqual(self.faults("# 甲\n", "# A\n\n<!-- fields: from a program -->\n\n## B\n"), [])


if __name__ == "__main__":
    unittest.main()
