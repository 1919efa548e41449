import unittest

import check_includes
import tree_fixture


class CheckIncludesTest(tree_fixture.TreeTest):
    def problems(self, path, text):
        for header in ("base/result.h", "strategies/a.h", "sim/memory/pool.h", "reports/r.h", "launcher/l.h"):
            self.write(header, "#pragma once\n")
        self.write(path, text)
        return check_includes.check(self.root)

    def test_downwards_is_allowed(self):
        text = '#include <vector>\n#include "base/result.h"\n#include "sim/memory/pool.h"\n'
        self.assertEqual(self.problems("reports/x.cc", text), [])

    def test_upwards_is_refused_with_its_line(self):
        problems = self.problems("sim/x.cc", '#include "base/result.h"\n\n#include "reports/r.h"\n')
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("sim/x.cc:3: "), problems)

    def test_base_includes_nobody(self):
        self.assertEqual(len(self.problems("base/x.h", '#include "strategies/a.h"\n')), 1)

    def test_tests_may_include_everything(self):
        self.assertEqual(self.problems("tests/x.cc", '#include "launcher/l.h"\n#include "base/result.h"\n'), [])

    def test_path_from_the_file_is_refused(self):
        self.assertEqual(len(self.problems("sim/memory/x.cc", '#include "../memory/pool.h"\n')), 1)
        self.assertEqual(len(self.problems("sim/memory/y.cc", '#include "pool.h"\n')), 2)

    def test_missing_file_is_refused(self):
        self.assertEqual(len(self.problems("sim/x.cc", '#include "base/no.h"\n')), 1)

    def test_json_library_only_in_sources(self):
        self.assertEqual(len(self.problems("reports/x.h", "#include <nlohmann/json.hpp>\n")), 1)
        (self.root / "reports/x.h").unlink()
        self.assertEqual(self.problems("reports/x.cc", "#include <nlohmann/json.hpp>\n"), [])
        self.assertEqual(self.problems("reports/y.h", "#include <nlohmann/json_fwd.hpp>\n"), [])

    def test_comments_do_not_count(self):
        self.assertEqual(self.problems("base/x.h", '// #include "sim/memory/pool.h"\n/*\n#include "sim/a.h"\n*/\n'), [])


if __name__ == "__main__":
    unittest.main()
