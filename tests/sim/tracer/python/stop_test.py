"""A script that is told to stop says which of its lines runs."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from helper import PACKAGES, recorder_environment

SECONDS = 60


class Stop(unittest.TestCase):
    def stopped(self, source):
        """stopped.json of a script that is ended once it has made the file `runs`."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "net.py"), "w") as file:
                file.write(source)
            child = subprocess.Popen([sys.executable, "-B", os.path.join(PACKAGES, "drydock_run.py"), folder, "net.py"], cwd=folder,
                                     env=recorder_environment(RANK_SIZE="8", RANK_ID="0"), stdin=subprocess.DEVNULL)
            limit = time.monotonic() + SECONDS
            while not os.path.exists(os.path.join(folder, "runs")) and time.monotonic() < limit:
                time.sleep(0.02)
            child.terminate()
            self.assertEqual(child.wait(SECONDS), 128 + signal.SIGTERM)
            with open(os.path.join(folder, "stopped.json")) as file:
                return json.load(file)

    def test_the_line_of_a_loop(self):
        said = self.stopped("open('runs', 'w').close()\nwhile True:\n    pass\n")
        self.assertIn(said["place"]["line"], (2, 3))
        self.assertFalse(said["read_zeros"])

    def test_a_loop_on_values_that_are_zeros(self):
        said = self.stopped("import mindspore as ms\nfrom mindspore import nn\nnet = nn.Dense(2, 2)\nfound = 0.0\n"
                            "while found < 0.9:\n    found = float(net(ms.Tensor([[1.0, 2.0]])).sum())\n"
                            "    open('runs', 'w').close()\n")
        self.assertIn(said["place"]["line"], (5, 6, 7))
        self.assertTrue(said["read_zeros"])


if __name__ == "__main__":
    unittest.main()
