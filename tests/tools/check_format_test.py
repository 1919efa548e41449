import shutil
import unittest

import check_format
import tree_fixture


@unittest.skipUnless(shutil.which(check_format.PROGRAM), "clang-format-14 is not installed")
class CheckFormatTest(tree_fixture.TreeTest):
    def test_each_misformatted_file_is_named_once(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("base/good.cc", "int a = 0;\n")
        self.write("base/bad.cc", "int  a=0;\nint  b=0;\n")
        self.write("sim/bad.h", "int  a=0;\n")
        problems = check_format.check(self.root)
        self.assertEqual([problem.split(":")[0] for problem in problems], ["base/bad.cc", "sim/bad.h"])


if __name__ == "__main__":
    unittest.main()
