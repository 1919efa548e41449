"""What importing the stand-in costs: no slow modules, and bytecode that is kept."""
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from helper import PACKAGES

sys.path.insert(0, PACKAGES)
import drydock_run  # noqa: E402

# Each takes longer to import than a third of the stand-in; scripts that need them import them.
SLOW = ["ast", "asyncio", "dataclasses", "difflib", "importlib.abc", "importlib.resources", "inspect", "logging",
        "numpy", "pathlib", "tempfile", "typing", "unittest"]


class Import(unittest.TestCase):
    def test_slow_modules_are_left_alone(self):
        variables = dict(os.environ, PYTHONPATH=PACKAGES)
        for name in ("DRYDOCK_TRACE_LIBRARY", "PYTHONSTARTUP"):
            variables.pop(name, None)
        program = "import sys; before = set(sys.modules); import mindspore; print(*(set(sys.modules) - before))"
        done = subprocess.run([sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, check=True)
        loaded = done.stdout.decode().split()
        self.assertIn("mindspore.nn.cell", loaded)
        self.assertEqual([name for name in SLOW if name in loaded], [])


class ByHand(unittest.TestCase):
    """The stand-in on PYTHONPATH, without the launcher that says which rank of how many it is."""

    def init(self, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "RANK_SIZE"}
        environment.update(variables, PYTHONPATH=PACKAGES)
        program = "from mindspore.communication import init, get_group_size; init(); init(); print(get_group_size())"
        done = subprocess.run([sys.executable, "-B", "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=True)
        return done.stdout.decode().strip(), done.stderr.decode()

    def test_one_rank_is_not_taken_silently(self):
        ranks, said = self.init()
        self.assertEqual((ranks, said.count("RANK_SIZE is not set")), ("1", 1))
        self.assertIn("msrun --sim_level=1", said)

    def test_a_number_that_is_given_is_enough(self):
        self.assertEqual(self.init(RANK_SIZE="8"), ("8", ""))


class Bytecode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = os.path.join(folder.name, "mindspore")
        os.mkdir(self.package)
        variables = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": "/cache"})
        variables.start()
        self.addCleanup(variables.stop)

    def folder(self, writable):
        with mock.patch("os.access", lambda path, mode: writable):
            return drydock_run.bytecode_folder(self.package)

    def test_folder_that_can_be_written_keeps_its_own(self):
        self.assertIsNone(self.folder(True))

    def test_installed_package_keeps_it_with_the_user(self):
        self.assertEqual(self.folder(False), "/cache/drydock/bytecode")

    def test_bytecode_of_the_installation_is_used(self):
        os.mkdir(os.path.join(self.package, "__pycache__"))
        name = "__init__.%s.pyc" % sys.implementation.cache_tag
        open(os.path.join(self.package, "__pycache__", name), "wb").close()
        self.assertIsNone(self.folder(False))

    def test_cache_folder_that_is_no_absolute_path_is_not_used(self):
        os.environ["XDG_CACHE_HOME"] = "here"
        self.assertIsNone(self.folder(False))


if __name__ == "__main__":
    unittest.main()
