"""CONTRIBUTING.md is true: the places it names exist, its examples apply to this tree, and what they touch compiles."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("DRYDOCK_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DRYDOCK_BUILD_DIR", SOURCE / "build/dev"))
TEXT = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")
TASKS = {title: body for title, body in re.findall(r"^## One more (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.S | re.M)}
FOLDERS = ("base", "launcher", "reports", "sim", "strategies", "tests")


def example_of(body):
    return re.search(r"^```diff\n(.*?)^```$", body, re.S | re.M).group(1)


class Contributing(unittest.TestCase):
    def test_the_five_tasks_are_there(self):
        self.assertEqual([title.split()[0] for title in TASKS], ["operator", "pass", "flag", "report", "message"])

    def test_places_exist(self):
        places = re.findall(r"`((?:%s|docs|cmake)/[^` <]*)" % "|".join(FOLDERS), TEXT)
        self.assertGreater(len(places), 20)
        for place in places:
            with self.subTest(place=place):
                self.assertTrue(list(SOURCE.glob(place.rstrip("/"))), place)

    def test_names_stand_where_the_text_says(self):
        for name, place in (("AddOwnFlags", "launcher/msrun_options.cc"), ("CheckRealStart", "launcher/msrun_options.cc"),
                            ("kShowingFlags", "launcher/msrun_options.cc"), ("struct MsrunOptions", "launcher/msrun_options.h")):
            self.assertIn(name, (SOURCE / place).read_text(encoding="utf-8"))

    def test_examples_apply_and_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for name in FOLDERS:
                shutil.copytree(SOURCE / name, copy / name, symlinks=True,
                                ignore=shutil.ignore_patterns("__pycache__", "vectors", "corpus", "web", "python"))
            touched = set()
            for title, body in TASKS.items():
                example = example_of(body)
                done = subprocess.run(["git", "apply", "-C1", "-"], cwd=copy, input=example, capture_output=True, text=True,
                                      env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(copy.parent)))
                self.assertEqual(done.returncode, 0, title + ": " + done.stderr)
                touched.update(re.findall(r"^\+\+\+ b/(\S+\.cc)$", example, re.M))
            self.assertGreaterEqual(len(touched), 9)
            for path in sorted(touched):
                if not path.startswith("tests/"):
                    with self.subTest(source=path):
                        self.assertEqual(complaints(copy, path), "")


def complaints(copy, path):
    """What the compiler says to `path` of the tree `copy`, with the options that the build has for it or its neighbour."""
    known = {entry["file"]: entry for entry in json.loads((BUILD / "compile_commands.json").read_text())}
    wanted = str(SOURCE / path)
    together = str(Path(path).parent).replace("/", "_")  # the folder's sources, where they are compiled together
    near = [name for name in known if Path(name).parent == Path(wanted).parent or re.fullmatch(together + r"_\d+", Path(name).stem)]
    entry = known.get(wanted) or known[near[0]]
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if re.search(r"(\+\+|clang|gcc)(-\d+)?$", word)):]
    kept = []
    for word, before in zip(words, [""] + words):
        if word not in ("-o", "-c", entry["file"]) and before != "-o":
            kept.append("-I" + str(copy) if word == "-I" + str(SOURCE) else word)
    done = subprocess.run(kept + ["-fsyntax-only", str(copy / path)], cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


if __name__ == "__main__":
    unittest.main()
