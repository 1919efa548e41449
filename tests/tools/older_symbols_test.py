"""A program asks an old C library only: tests/packages/older_symbols.py."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "packages/older_symbols.py"
LIBRARY = subprocess.run(["cc", "-print-file-name=libc.so.6"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip() \
    if shutil.which("cc") else ""
# pthread_create and exp have had old versions since 2.2.5 and got newer ones, getrandom came with 2.25.
OLD = "#include <math.h>\n#include <pthread.h>\nstatic void* f(void* p) { return p; }\n" \
      "int main(int n, char** v) { pthread_t t; pthread_create(&t, 0, f, v); pthread_join(t, 0); return exp(n - 1) != 1; }\n"
NEW = "#include <sys/random.h>\nint main(void) { char c; return getrandom(&c, 1, 0) != 1; }\n"


@unittest.skipUnless(LIBRARY and shutil.which("readelf"), "there is no C compiler, or no readelf")
class OlderSymbolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = Path(folder.name) / "program"

    def age(self, text, *options):
        source = self.program.with_suffix(".c")
        source.write_text(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", self.program, source, "-lm"], check=True)
        return subprocess.run([sys.executable, "-B", SCRIPT, self.program, "--libraries", Path(LIBRARY).resolve().parent, *options],
                              stderr=subprocess.PIPE, text=True, check=False)

    def newest(self):
        listing = subprocess.run(["readelf", "-VW", self.program], stdout=subprocess.PIPE, text=True, check=True).stdout
        return max(tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", listing))

    def test_functions_with_an_old_version_are_asked_for_by_it(self):
        done = self.age(OLD, "--limit", "2.17")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(self.newest(), (2, 17))
        before = self.program.read_bytes()
        subprocess.run([sys.executable, "-B", SCRIPT, self.program, "--libraries", Path(LIBRARY).resolve().parent], check=True)
        self.assertEqual(self.program.read_bytes(), before)

    def test_a_function_that_old_libraries_lack_is_named(self):
        done = self.age(NEW, "--limit", "2.17")
        self.assertEqual(done.returncode, 1)
        self.assertIn("getrandom of GLIBC_2.25 has no version for GLIBC_2.", done.stderr)


if __name__ == "__main__":
    unittest.main()
