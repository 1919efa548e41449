"""`cmake --install` into an empty folder: what is there runs by itself and brings the bytecode of the stand-in package."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import command

BUILD = Path(command.MSRUN).resolve().parents[1]
CMAKE = shutil.which("cmake")


@unittest.skipUnless(CMAKE and (BUILD / "cmake_install.cmake").exists(), "no CMake, or no build folder to install from")
class InstalledTest(command.CommandTest):
    def install(self, prefix, **variables):
        subprocess.run([CMAKE, "--install", str(BUILD), "--prefix", str(prefix)], check=True, stdout=subprocess.DEVNULL,
                       env=dict(command.environment(self.temporary), **variables))

    def setUp(self):
        super().setUp()
        self.prefix = self.folder.parent / "prefix"

    def run_installed(self, *arguments):
        done = subprocess.run([str(self.prefix / "bin/msrun"), "--sim_level=1", "--python=" + sys.executable,
                               "--worker_num=8", "--log_dir=out", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=command.SECONDS,
                              env=command.environment(self.temporary))
        return command.Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    def bytecode(self, root):
        """{source file: compiled files of it} below share/drydock/python."""
        package = root / "share/drydock/python"
        compiled = [path for path in package.rglob("*.pyc")]
        return {source: [path for path in compiled if path.parent.parent == source.parent
                         and path.name.startswith(source.stem + ".")] for source in package.rglob("*.py")}

    def test_quick_start_runs(self):
        self.install(self.prefix)
        shutil.copy(command.EXAMPLES / "quickstart/net.py", self.folder)
        run = self.run_installed("net.py")
        self.assert_accepted(run)
        self.assertEqual(self.report("summary.json", "out")["verdict"], "ok")

    def test_refusals_name_no_line_of_the_package(self):
        # Compiled files know the path that they were compiled at; frames of the package are told by it.
        self.install(self.prefix)
        self.write("net.py", command.network("((2, 3), (3, 1))"))
        run = self.run_installed("net.py")
        self.assertEqual(run.status, 6, run.err)
        places = re.findall(r"([\w./]+\.py):\d+", run.err)
        self.assertEqual(set(places), {"net.py"}, run.err)

    def test_every_source_has_its_bytecode(self):
        self.install(self.prefix)
        found = self.bytecode(self.prefix)
        self.assertTrue(found)
        self.assertEqual([source for source, compiled in found.items() if len(compiled) != 1], [])

    def test_bytecode_of_a_staged_installation_names_the_final_folder(self):
        stage = self.folder.parent / "stage"
        self.install("/opt/drydock", DESTDIR=str(stage))
        found = self.bytecode(stage / "opt/drydock")
        self.assertTrue(found)
        for source, compiled in found.items():
            final = os.fsencode("/" + str(source.relative_to(stage)))
            text = compiled[0].read_bytes()
            self.assertIn(final, text)
            self.assertNotIn(os.fsencode(str(stage)), text)


if __name__ == "__main__":
    unittest.main()
