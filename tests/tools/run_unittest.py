"""Runs one unittest file: exit status 0 passed, 1 failed, 77 every test in it was skipped.

    run_unittest.py FILE [unittest arguments...]

The file's own folder and tests/tools are on the module path.
"""

import importlib.util
import os
import sys
import unittest

SKIPPED = 77


def main(arguments):
    path = os.path.abspath(arguments[0])
    sys.path[:0] = [os.path.dirname(path), os.path.dirname(os.path.abspath(__file__))]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    result = unittest.main(module=module, argv=[path, *arguments[1:]], verbosity=2, exit=False).result
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    return SKIPPED if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
