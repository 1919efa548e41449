"""A script that fails after its network: what was recorded stands, the failure is one line with its place."""
import unittest

from helper import Trace, TraceTest

NET = """
import sys
import mindspore as ms
from mindspore import nn, ops, Tensor
row = Tensor(shape=(16, 16), dtype=ms.float32)
net = nn.Dense(16, 16)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt)
"""
LAST = NET.count("\n") + 2


def failures(run):
    return run.warnings_of("failure")


class Late(TraceTest):
    def late(self, line):
        run = self.trace(NET + "loss = step(row, row)\n" + line + "\n")
        self.assertEqual((len(run.documents), run.result["exit_code"]), (1, 0))
        return run

    def test_exception(self):
        for line, kind in (("raise ValueError('too bad')", "ValueError: too bad"), ("1 / float(loss)", "ZeroDivisionError"),
                           ("assert loss.asnumpy() > 0", "AssertionError"), ("import no_such_module", "ModuleNotFoundError"),
                           ("loss.nothing", "AttributeError")):
            found = failures(self.late(line))
            self.assertEqual(len(found), 1, line)
            self.assertIn("net.py:%d" % LAST, found[0])
            self.assertIn(kind, found[0])

    def test_zeros_are_explained(self):
        found = failures(self.late("1 / float(loss)"))[0]
        self.assertIn("mindspore.utils.dryrun.mock", found)
        self.assertEqual(found.count("ZeroDivisionError"), 1, found)

    def test_the_remedy_works(self):
        run = self.late("from mindspore.utils.dryrun import mock\n1 / mock(2.0, float, loss)")
        self.assertEqual(failures(run), [])

    def test_exit_status(self):
        for line, text in (("sys.exit(3)", "exit status 3"), ("sys.exit('no data')", "no data")):
            self.assertIn(text, failures(self.late(line))[0])

    def test_exit_status_zero_is_no_failure(self):
        self.assertEqual(failures(self.late("sys.exit(0)")), [])

    def test_gap_of_the_stand_in_is_a_limit(self):
        run = self.late("ms.hal.get_arch_list()")
        self.assertTrue(any("net.py:%d" % LAST in text for text in run.warnings_of("limit")))


class NotLate(TraceTest):
    def test_a_step_whose_optimizer_never_ran(self):
        """Gradients alone are no training step: its memory would lack the optimizer's states."""
        start = NET.replace("step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt)",
                            "step = ms.value_and_grad(nn.WithLossCell(net, nn.MSELoss()), None, opt.parameters)")
        error = self.error(start + "loss, gradients = step(row, row)\nopt.zzz(gradients)\n")
        self.assertEqual((error["family"], error["type"], error["place"]["line"]), ("user", "AttributeError", LAST))
        self.assertEqual(error["hint"], "")
        self.trace(start + "loss, gradients = step(row, row)\nopt(gradients)\nopt.stepp(gradients)\n")

    def test_exception_of_a_network(self):
        error = self.error(NET + "step(row, row)\nnn.Dense(8, 8)(row)\n")
        self.assertEqual((error["family"], error["place"]["line"]), ("user", LAST))

    def test_training_step_was_still_to_come(self):
        error = self.error(NET + "net(row)\nraise ValueError('too early')\nstep(row, row)\n")
        self.assertEqual(error["message"], "too early")

    def test_zeros_before_the_training_step_are_our_limit(self):
        error = self.error(NET + "y = net(row)\n1 / float(y.sum())\nstep(row, row)\n")
        self.assertEqual((error["family"], error["place"]["line"]), ("unsupported", LAST))
        self.assertIn("mock", error["hint"])

    def test_loop_that_waits_for_a_value_is_our_limit(self):
        error = self.error(NET + "while float(step(row, row)) < 0.5:\n    pass\n")
        self.assertEqual(error["family"], "unsupported")
        self.assertIn("100000 times", error["message"])
        self.assertIn("mock", error["hint"])

    def test_exit_before_anything(self):
        run = Trace(NET + "sys.exit(3)\n")
        self.assertEqual((run.result["exit_code"], run.result["programs"]), (3, []))

    def test_cause_of_an_exception_is_named(self):
        error = self.error("def inner():\n    return {}['missing']\ntry:\n    inner()\nexcept Exception as error:\n"
                           "    raise type(error)('Builder: %s' % error)\n")
        self.assertEqual(error["place"]["line"], 6)
        self.assertTrue(any("net.py:2" in note for note in error["notes"]), error["notes"])

    def test_half_recorded_network_is_left_out(self):
        run = self.trace(NET + "try:\n    nn.Dense(8, 8)(row)\nexcept Exception:\n    pass\nstep(row, row)\n")
        self.assertEqual(len(run.documents), 1)
        self.assertTrue(run.result["programs"][0]["training"])


class OtherFrameworks(TraceTest):
    def test_script_of_another_framework_is_told(self):
        for source in ("import sys\nsys.modules['torch'] = sys\nimport torch\n", "import os\nfrom torch import nn\n"):
            error = self.error(source)
            self.assertIn("torch and not mindspore", error["message"])
            self.assertIn("--sim_level", error["hint"])

    def test_beside_mindspore_it_is_none(self):
        error = self.error("import mindspore\nimport torch_that_is_missing\n")
        self.assertEqual(error["type"], "ModuleNotFoundError")


if __name__ == "__main__":
    unittest.main()
