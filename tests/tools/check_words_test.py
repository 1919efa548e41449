import unittest

import check_words
import tree_fixture


class CheckWordsTest(tree_fixture.TreeTest):
    def problems(self, text, path="docs/x.md"):
        self.write(path, text)
        return check_words.check(self.root)

    def test_plain_text_is_fine(self):
        self.assertEqual(self.problems("see docs/architecture.md, /usr/bin/python3, $HOME/work, /home/user/net.py\n"), [])

    def test_every_kind_is_found_with_its_line(self):
        for text in ("/wo" "rk/main/x", "/ro" "ot/.cache/", "/ho" "me/jane/net.py", "https://py" "pi.org/simple",
                     "de" "b.debian.org", "../sha" "red/spec/x.md", "sha" "red/design.md", "is" "sue #12", "Is" "sue 7", "sp" "ec operators 3.11", "Sp" "ec section 2"):
            with self.subTest(text=text):
                problems = self.problems(f"first\n{text}\n")
                self.assertEqual(len(problems), 1, problems)
                self.assertTrue(problems[0].startswith("docs/x.md:2: "), problems)

    def test_data_collected_elsewhere_is_left_alone(self):
        self.assertEqual(self.problems("is" "sue 7", "tests/vectors/x.json"), [])


if __name__ == "__main__":
    unittest.main()
