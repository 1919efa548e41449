import unittest

import check_python_imports
import tree_fixture

CORE = "sim/tracer/python/mindspore/_drydock/"


class CheckPythonImportsTest(tree_fixture.TreeTest):
    def setUp(self):
        super().setUp()
        for path, text in (("__init__.py", ""), ("ops/__init__.py", ""), ("_drydock/__init__.py", ""), ("_drydock/errors.py", "import os\n"),
                           ("_drydock/session.py", "from mindspore._drydock import errors\n"),
                           ("nn.py", "from mindspore import ops\nfrom mindspore._drydock.session import session\n")):
            self.write("sim/tracer/python/mindspore/" + path, text)

    def problems(self, path, text):
        self.write(path, text)
        return check_python_imports.check(self.root)

    def test_downwards_is_allowed(self):
        self.assertEqual(check_python_imports.check(self.root), [])

    def test_the_core_imports_nothing_of_mindspore_in_any_form(self):
        for text in ("import mindspore.ops\n", "from mindspore import ops\n", "from mindspore.ops import Add\n", "import mindspore as ms\n",
                     "from ..ops import Add\n", "from .. import ops\n", "try:\n    pass\nfinally:\n    import mindspore.nn\n"):
            problems = self.problems(CORE + "frames.py", text)
            self.assertEqual(len(problems), 1, text)
            self.assertTrue(problems[0].startswith(CORE + "frames.py:"), problems)

    def test_nor_inside_of_functions(self):
        problems = self.problems(CORE + "frames.py", "import sys\n\n\ndef late():\n    from mindspore import nn\n    return nn\n")
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith(CORE + "frames.py:5: 'mindspore.nn'"), problems)

    def test_no_circle_in_the_core_even_inside_of_functions(self):
        problems = self.problems(CORE + "errors.py", "def late():\n    from mindspore._drydock.session import session\n    return session\n")
        self.assertEqual([one.split(":")[0] for one in problems], [CORE + "errors.py", CORE + "session.py"])

    def test_elsewhere_no_circle_when_modules_are_loaded(self):
        late = "def late():\n    import mindspore.nn\n    return mindspore.nn\n"
        self.assertEqual(self.problems("sim/tracer/python/mindspore/ops/__init__.py", late), [])
        for text in ("import mindspore.nn\n", "class Op:\n    from mindspore import nn\n", "if True:\n    from mindspore import nn\n"):
            self.assertEqual(len(self.problems("sim/tracer/python/mindspore/ops/__init__.py", text)), 2, text)


if __name__ == "__main__":
    unittest.main()
