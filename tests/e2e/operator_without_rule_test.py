"""Operators that no rule cuts: every rank computes all of them, which is said and counted, and an error under --strict."""

import unittest

import command

# Two losses without a rule per step.
SCRIPT = '''import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel")
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(32, 16)
        self.loss = nn.BCELoss(reduction="mean")
    def construct(self, x, y):
        guess = ops.sigmoid(self.dense(x))
        return self.loss(guess, y) + self.loss(1 - guess, y)
Net()(Tensor(shape=(8, 32), dtype=ms.float32), Tensor(shape=(8, 16), dtype=ms.float32))
'''


class OperatorWithoutRuleTest(command.CommandTest):
    def run_script(self, *flags):
        self.write("net.py", SCRIPT)
        return self.msrun("--worker_num=4", "--log_dir=out", *flags, "net.py")

    def diagnostics(self):
        return [item for item in self.report("summary.json", "out")["diagnostics"]
                if item["code"] == "operator-without-rule"]

    def test_it_is_counted_with_its_first_place(self):
        run = self.run_script()
        self.assert_accepted(run)
        [item] = self.diagnostics()
        self.assertEqual((item["count"], item["unsupported"]), (2, True))
        self.assertEqual(item["place"]["line"], command.line_of(SCRIPT, "return self.loss"))
        self.assertIn("operator-without-rule (2 times, first at net.py:13)", run.out)
        self.assertIn("'BinaryCrossEntropy' has no sharding rule; every rank computes all of it", run.out)
        # It takes the whole of what ranks hold in parts: 8 rows of 4 ranks, 16 columns, float32.
        gathers = [item for item in self.report("communication.json", "out")["collectives"] if item["kind"] == "AllGather"]
        self.assertIn(8 * 16 * 4, [item["payload_bytes"] for item in gathers])

    def test_strict_makes_it_an_error(self):
        run = self.run_script("--strict")
        self.assertEqual(run.status, 8, run.err)
        self.assertRegex(run.errors()[0], r"^net\.py:13(:\d+)?: unsupported: 'BinaryCrossEntropy' has no sharding rule")
        self.assertIn("leave --strict out", run.hint())
        self.assertEqual(len(self.diagnostics()), 1)  # the reports are there all the same


if __name__ == "__main__":
    unittest.main()
