"""Scripts that ask for their rank: run once per outcome, every outcome compiled for its ranks, groups compared."""

import subprocess
import unittest

import command

# One product of (4, 8) and (8, 16) per rank; what the ranks do with it depends on the case.
SCRIPT = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import create_group, get_rank, init
init()
rank = get_rank()
{before}
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(8, 16), dtype=ms.float32), "w")
        self.reduce = {collective}
    def construct(self, x):
        y = ops.matmul(x, self.w)
        if {condition}:
            y = {special}
        return {end}
Net()(Tensor(shape=(4, 8), dtype=ms.float32))
'''

# A training step and a network that evaluates, each with an AllReduce over all ranks: (4, 16) and (2, 16) float32.
TWO_PROGRAMS = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import get_rank, init
init()
rank = get_rank()
class Net(nn.Cell):
    def __init__(self, reduces=True):
        super().__init__()
        self.w = Parameter(Tensor(shape=(8, 16), dtype=ms.float32), "w")
        self.reduces = reduces
    def construct(self, x):
        y = ops.matmul(x, self.w)
        return ops.AllReduce()(y) if self.reduces else y
net = Net()
def train():
    ms.value_and_grad(net, None, net.trainable_params())(Tensor(shape=(4, 8), dtype=ms.float32))
def evaluate(reduces=True):
    Net(reduces)(Tensor(shape=(2, 8), dtype=ms.float32))
{steps}
'''


class RankDependentScriptTest(command.CommandTest):
    def run_script(self, condition, ranks=16, before="", collective="ops.AllReduce()", special="ops.relu(y)",
                   end="self.reduce(y)"):
        self.text = SCRIPT.format(before=before, condition=condition, collective=collective, special=special, end=end)
        self.write("net.py", self.text)
        return self.msrun("--worker_num=%d" % ranks, "--log_dir=out", "net.py")

    def runs(self, run):
        self.assert_accepted(run)
        return self.report("summary.json", "out")["script_runs"]

    def expect_fork(self, condition, first, second):
        runs = self.runs(self.run_script(condition))
        self.assertEqual([(item["ranks"], item["network"]) for item in runs], [(first, 0), (second, 1)])
        # Matmul and all-reduce; those for which the condition holds have one more.
        self.assertEqual(sorted(item["operators"] for item in runs), [2, 3])
        summary = self.report("summary.json", "out")
        self.assertEqual([item["ranks"] for item in summary["memory"]], [first, second])
        self.assertEqual(summary["rank_asks"], ["net.py:%d" % command.line_of(self.text, "        if ")])
        self.assertEqual(summary["ranks_checked"], 16)
        self.assertIn("rank-dependent-script", [item["code"] for item in summary["diagnostics"]])

    def test_parity(self):
        self.expect_fork("rank % 2 == 0", "0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15")

    def test_node(self):
        self.expect_fork("rank // 8 == 1", "0-7", "8-15")

    def test_stage(self):
        self.expect_fork("rank // 4 == 2", "0-7,12-15", "8-11")

    def test_ranks_that_differ_outside_of_the_network_compute_one(self):
        runs = self.runs(self.run_script("False", before="if rank == 0:\n    first = True"))
        self.assertEqual([(item["ranks"], item["network"]) for item in runs], [("0", 0), ("1-15", 0)])

    SPEAKS = ("if rank == 0:\n    print('hello', f'{rank} of {len(str(rank))}')",
              "import logging\nlog = logging.getLogger('x')\nif get_rank() % 8 == 0 and log:\n    log.info('%s' % rank)\nelse:\n    pass",
              "import pprint\nif not rank:\n    'says it'\n    pprint.pprint({'a': [1, 2]})",
              "if rank:\n    print('one', 'of {}'.format(rank), sep=' ')")
    ASKS = ("if rank == 0:\n    print(os.makedirs('folder'))",   # does something
            "if rank == 0:\n    first = print('hello')",           # leaves something behind
            "if rank == 0 and os.remove('x') is None:\n    pass",   # only rank 0 does it
            "if (first := rank == 0):\n    print('hello')",        # the answer is kept
            "def print(text):\n    pass\nif rank == 0:\n    print('a function of the script')")

    def test_branches_that_only_speak_cost_no_runs(self):
        python = subprocess.run(["python3", "-c", "import sys; print(*sys.version_info[:2])"], check=True, capture_output=True, text=True)
        shows_columns = tuple(map(int, python.stdout.split())) >= (3, 11)
        for before in self.SPEAKS:
            runs = self.runs(self.run_script("False", before=before))
            self.assertEqual(len(runs), 1 if shows_columns else 2, before)

    def test_branches_that_do_more_than_speak_are_run_both_ways(self):
        for before in self.ASKS:
            self.write("x", "")
            runs = self.runs(self.run_script("False", before="import os, shutil\nshutil.rmtree('folder', True)\n" + before))
            self.assertEqual([item["ranks"] for item in runs], ["0", "1-15"], before)

    def test_slices_of_the_rank_have_equal_collectives(self):
        runs = self.runs(self.run_script("True", ranks=4, special="y[rank * 1:rank * 1 + 1]"))
        self.assertEqual([item["ranks"] for item in runs], ["0", "1", "3", "2"])
        # (1, 16) float32 are 64 B; a ring of 4 sends 2 * 3 / 4 of them.
        self.assertEqual([item["sent_bytes"] for item in runs], [96] * 4)

    def expect_disagreement(self, run, *words):
        self.assertEqual(run.status, 6, run.err)
        for word in words + ("the ranks disagree", "net.py:14"):
            self.assertIn(word, run.err)
        self.assertEqual(self.report("summary.json", "out")["verdict"], "ranks-disagree")

    def test_collective_that_some_ranks_leave_out_is_a_deadlock(self):
        run = self.run_script("rank == 3", ranks=4, special="self.reduce(y)", end="y")
        self.expect_disagreement(run, "ranks 3 and 0", "group 0-1-2-3")

    def test_collective_of_another_size_is_named(self):
        run = self.run_script("rank == 0", ranks=4, special="y[:2]")
        self.expect_disagreement(run, "AllReduce of 128 B float32", "AllReduce of 256 B float32")

    def test_groups_of_the_script_are_followed(self):
        # 8 ranks in groups of 4 neighbours: AllReduce of (4, 16) float32, 256 B: 2 * 3 / 4 * 256 = 384 B.
        before = ("first = rank // 4 * 4\n"
                  "create_group('part-%d' % first, [first + i for i in range(4)])")
        runs = self.runs(self.run_script("False", ranks=8, before=before,
                                         collective="ops.AllReduce(group='part-%d' % first)"))
        self.assertEqual([(item["ranks"], item["network"], item["sent_bytes"]) for item in runs],
                         [("0-3", 0, 384), ("4-7", 0, 384)])
        patterns = self.report("communication.json", "out")["group_patterns"]
        self.assertEqual([pattern["size"] for pattern in patterns], [4])

    def test_groups_that_follow_from_the_rank_cost_no_runs(self):
        # The same groups; only texts that are made without %d say nothing about the rank.
        before = ("first = rank // 4 * 4\nname = 'part-' + str(first)\n"
                  "create_group(name, [first + i for i in range(4)])")
        runs = self.runs(self.run_script("False", ranks=8, before=before, collective="ops.AllReduce(group=name)"))
        self.assertEqual([(item["ranks"], item["sent_bytes"]) for item in runs], [("0-7", 384)])

    def test_group_used_by_a_rank_outside_of_it(self):
        run = self.run_script("False", ranks=8, before="create_group('half', [0, 1, 2, 3])",
                              collective="ops.AllReduce(group='half')")
        self.assert_rejected(run, 6)
        self.assertIn("rank 4 calls 'AllReduce' on group 'half', but is not one of its ranks", run.errors()[0])
        self.assertIn("the script was run as rank 4", run.err)

    def test_unevenly_spread_group_is_a_limit(self):
        run = self.run_script("rank in (0, 1, 3)", ranks=4, before="create_group('odd', [0, 1, 3])",
                              collective="ops.AllReduce(group='odd')", special="self.reduce(y)", end="y")
        self.assert_rejected(run, 8)
        self.assertIn("not evenly spread", run.errors()[0])

    def two_programs(self, steps):
        self.text = TWO_PROGRAMS.format(steps=steps)
        self.write("net.py", self.text)
        return self.msrun("--worker_num=4", "--log_dir=out", "net.py")

    def expect_deadlock(self, steps, *words):
        run = self.two_programs(steps)
        self.assertEqual(run.status, 6, run.err)
        for word in words + ("the ranks disagree", "group 0-1-2-3", "net.py:%d" % command.line_of(self.text, "if rank")):
            self.assertIn(word, run.err)
        self.assertEqual(self.report("summary.json", "out")["verdict"], "ranks-disagree")

    def test_collectives_of_an_evaluation_by_one_rank_are_a_deadlock(self):
        # The step: AllReduce and that of its gradient; the evaluation adds one.
        self.expect_deadlock("train()\nif rank == 0:\n    evaluate()", "ranks 0 and 1",
                             "3 collectives, the other 2")

    def test_programs_in_another_order_are_a_deadlock(self):
        # Rows of 16 float32 are 64 B: 2 of them in the evaluation, 4 in the step.
        self.expect_deadlock("if rank == 0:\n    evaluate()\n    train()\nelse:\n    train()\n    evaluate()",
                             "AllReduce of 128 B float32", "AllReduce of 256 B float32")

    def test_evaluation_by_one_rank_without_collectives_is_fine(self):
        run = self.two_programs("train()\nif rank == 0:\n    evaluate(False)")
        self.assertEqual([(item["ranks"], item["network"]) for item in self.runs(run)], [("0", 0), ("1-3", 0)])
        limits = [item["text"] for item in self.report("summary.json", "out")["diagnostics"]
                  if item["code"] == "not-modelled"]
        self.assertEqual(limits, ["'net.py' computes 2 programs; only the first training step is checked, of the others "
                                  "only that the ranks agree"])

    def test_later_program_with_an_error_says_whose_it_is(self):
        run = self.two_programs("ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel')\nevaluate(False)\n"
                                "if rank == 3:\n    cut = nn.ReLU()\n    cut.relu.shard(((3, 1),))\n"
                                "    cut(Tensor(shape=(4, 8), dtype=ms.float32))")
        self.assert_rejected(run, 6)
        self.assertIn("cuts dimension 0", run.errors()[0])
        self.assertIn("in what the script does as rank 3", run.err)

    def test_error_of_one_rank_says_which(self):
        run = self.run_script("rank == 5", ranks=8, special="ops.matmul(y, y)")
        self.assert_rejected(run, 6)
        self.assertIn("the script was run as rank 5, since it asks for its rank at net.py:14", run.err)


if __name__ == "__main__":
    unittest.main()
