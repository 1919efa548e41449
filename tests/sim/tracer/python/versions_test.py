"""The stand-in package under every Python from 3.8 to 3.13 that the machine has, with and without numpy."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from helper import PACKAGES, TOOLS

sys.path.append(TOOLS)
import python_versions  # noqa: E402

NETWORK = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(6, 4)
    def construct(self, x, s):
        y = self.dense(x)
        return ops.relu(y) if s > 0 else ops.tanh(y)
Net()(Tensor([[0.5] * 6] * 2, ms.float32), Tensor(1.0))
try:
    import numpy
    print("numpy", numpy.__version__)
    assert Tensor(numpy.ones((2, 3), numpy.float32)).shape == (2, 3)
except ImportError:
    print("no numpy")
"""


def interpreters():
    """{minor version: path} of what is installed."""
    found = {minor: python_versions.interpreter(minor) for minor in python_versions.MINORS}
    found[sys.version_info[1]] = sys.executable
    return {minor: path for minor, path in found.items() if path}


class Versions(unittest.TestCase):
    def test_every_python_records_the_same_network(self):
        documents = {}
        variables = dict(os.environ, RANK_SIZE="8", RANK_ID="0")
        if os.environ.get("DRYDOCK_TRACE_PRELOAD"):
            variables.update(LD_PRELOAD=os.environ["DRYDOCK_TRACE_PRELOAD"], ASAN_OPTIONS="detect_leaks=0")
        found = interpreters()
        print("tried: " + ", ".join("3.%d" % minor for minor in sorted(found)))
        for minor, path in sorted(found.items()):
            with self.subTest("3.%d" % minor), tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "net.py"), "w") as file:
                    file.write(NETWORK)
                done = subprocess.run([path, "-B", "-W", "error::SyntaxWarning", os.path.join(PACKAGES, "drydock_run.py"),
                                       folder, "net.py"], cwd=folder, env=variables,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                with open(os.path.join(folder, "result.json")) as file:
                    self.assertIsNone(json.load(file)["error"], done.stdout.decode())
                with open(os.path.join(folder, "program-0.json")) as file:
                    documents[minor] = [node["op"] for node in json.load(file)["nodes"]]
        self.assertEqual(len({tuple(ops) for ops in documents.values()}), 1, documents)


if __name__ == "__main__":
    unittest.main()
