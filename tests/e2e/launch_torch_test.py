"""Unmodified PyTorch scripts (gloo) on one node and on two. PyTorch comes with Debian's own Python."""

import shutil
import subprocess
import sys
import unittest

import command
import launch

PYTHON = "/usr/bin/python3"
TRAIN = command.EXAMPLES / "torch/train.py"
STEPS = 5
SECONDS = 300  # importing PyTorch alone takes many seconds on a busy machine


def reason_without_torch():
    if not shutil.which(PYTHON):
        return "there is no " + PYTHON
    found = subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"],
                           stdin=subprocess.DEVNULL, check=False).returncode == 0
    return "" if found else PYTHON + " has no torch (package python3-torch)"


def losses(text):
    return [float(line.split()[-1]) for line in text.splitlines() if line.startswith("loss ")]


REASON = reason_without_torch()


@unittest.skipIf(REASON, REASON)
class TorchTest(launch.LaunchTest):
    def train(self, ranks):
        shutil.copy(TRAIN, self.folder / "train.py")
        # The last --python counts.
        done = subprocess.run(self.words(ranks, "--python=" + PYTHON, "--log_dir=out%d" % ranks, "train.py"),
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.variables(), timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(self.marked(), [])
        return [losses(self.log("out%d/worker_%d.log" % (ranks, rank))) for rank in range(ranks)]

    def test_four_ranks_train_as_one_does(self):
        """Equal shares of a batch: the mean of the ranks' gradients is the gradient of the whole batch."""
        together = self.train(4)
        alone = self.train(1)[0]
        self.assertEqual(len(alone), STEPS)
        self.assertLess(alone[-1], alone[0])
        for own in together:
            self.assertEqual(own, together[0])
            for ours, whole in zip(own, alone, strict=True):
                self.assertAlmostEqual(ours, whole, places=5)


if __name__ == "__main__":
    sys.exit(unittest.main())
