"""Strategies in scripts that are not legal: one diagnostic with a place, and a remedy that works when tried.

The network is x (2 rows per rank) times w (32, 16), on 8 ranks unless stated: x is (16, 32) in all.
"""

import re

import command
from command import line_of, suggested


class BadStrategyTest(command.CommandTest):
    def check_script(self, strategy, words, ranks=8, line_part="self.mm"):
        """Rejected at a line that holds `line_part`; the strategy of the hint is accepted."""
        text = command.network(strategy)
        run = self.reject(self.write("net.py", text), words, ranks)
        place = re.match(r"net\.py:(\d+)(?::\d+)?: error: ", run.errors()[0])
        self.assertTrue(place, run.err)
        self.assertIn(line_part, text.splitlines()[int(place.group(1)) - 1])
        self.write("net.py", command.network(suggested(run.hint())))
        self.assert_accepted(self.msrun("--worker_num=%d" % ranks, "net.py"))

    def test_cut_that_does_not_divide(self):
        self.check_script("((2, 3), (3, 1))", ["'MatMul'", "dimension 1 of input 0", "into 3", "32"])

    def test_cut_of_the_data(self):
        text = command.network().replace('dataset_strategy="data_parallel"', "dataset_strategy=((3, 1),)")
        run = self.reject(self.write("net.py", text), ["'_VirtualDataset'", "into 3", "8 devices"], 8)
        self.assertRegex(run.errors()[0], r"^net\.py:%d(:\d+)?: error: " % line_of(text, "return self.mm"))  # where the data go in
        self.assertIn("in dataset_strategy, use", run.hint())
        self.write("net.py", text.replace("((3, 1),)", suggested(run.hint())))
        self.assert_accepted(self.msrun("--worker_num=8", "net.py"))

    def test_product_that_does_not_divide_the_ranks(self):
        # 2 * 8 = 16 devices.
        self.check_script("((2, 8), (8, 1))", ["'MatMul'", " 16 ", " 8 "])

    def test_contracted_dimensions_cut_differently(self):
        self.check_script("((2, 4), (2, 1))", ["'MatMul'", "into 4", "into 2"])

    def test_too_few_entries(self):
        self.check_script("((2, 4),)", ["'MatMul'", "has 1 entr", "takes 2"])

    def test_too_many_entries(self):
        self.check_script("((2, 4), (4, 1), (1,))", ["'MatMul'", "has 3 entries", "takes 2"])

    def test_wrong_rank(self):
        self.check_script("((2, 4), (4,))", ["'MatMul'", "entry 1", "(32, 16)", "2 dimensions"])

    def test_float_entry(self):
        self.check_script("((2.0, 4), (4, 1))", ["'MatMul'", "2.0"])

    def test_string_entry(self):
        self.check_script("(('2', 4), (4, 1))", ["'MatMul'", "'2'"])

    def test_string_instead_of_a_strategy(self):
        self.check_script("'all'", ["'MatMul'", "str"])

    def test_one_tuple_instead_of_one_per_input(self):
        self.check_script("(2, 4)", ["'MatMul'", "tuple"])

    def test_zero_cut(self):
        self.check_script("((0, 4), (4, 1))", ["'MatMul'", "into 0", "at least 1"])

    def test_negative_cut(self):
        self.check_script("((-2, 4), (4, 1))", ["'MatMul'", "into -2", "at least 1"])

    def test_cut_of_20_digits(self):
        run = self.reject(self.write("net.py", command.network("((10 ** 19, 1), (1, 1))")), ["64 bits"], 8)
        self.assertRegex(run.errors()[0], r"^net\.py:\d+")

    def test_product_of_cuts_beyond_64_bits(self):
        run = self.reject(self.write("net.py", command.network("((2 ** 62, 2 ** 62), (2 ** 62, 1))")), ["'MatMul'"], 8)
        self.assertRegex(run.errors()[0], r"^net\.py:\d+")

    def test_strategy_for_more_ranks_than_one(self):
        self.check_script("((2, 4), (4, 1))", ["'MatMul'", " 8 ", " 1 "], ranks=1)

    def test_name_of_no_operator(self):
        text = command.network().replace("ops.MatMul()", "ops.NoSuchOperator().shard(((2, 4), (4, 1)))")
        run = self.msrun("--log_dir=out", self.write("net.py", text))
        # MindSpore has no such name, either: the script is at fault (6), not the program that lacks an operator (8).
        self.assert_rejected(run, 6)
        self.assertRegex(run.errors()[0], r"^net\.py:%d(:\d+)?: error: AttributeError: .*NoSuchOperator" %
                         line_of(text, "NoSuchOperator"))


class WorldSizeTest(command.CommandTest):
    def test_zero_is_wrong_usage(self):
        run = self.msrun("--worker_num=0", "--log_dir=out", self.write("net.py", command.network()))
        self.assert_rejected(run, 2)
        self.assertIn("--worker_num", run.errors()[0])

    def test_one_is_legal(self):
        self.write("net.py", command.network("((1, 1), (1, 1))"))
        self.assert_accepted(self.msrun("--worker_num=1", "net.py"))
        # Nobody to talk to.
        self.assertEqual(self.report("communication.json")["collectives"], [])

    def test_seven_cannot_cut_operators(self):
        run = self.msrun("--worker_num=7", "--log_dir=out", self.write("net.py", command.network("((2, 4), (4, 1))")))
        self.assert_rejected(run, 6)
        self.assertIn("7 devices", run.errors()[0])
        self.try_worker_num(run, "net.py")

    def test_seven_is_legal_without_cuts(self):
        self.write("net.py", command.network(mode="data_parallel"))
        self.assert_accepted(self.msrun("--worker_num=7", "net.py"))

    def try_worker_num(self, run, program):
        (flag,) = re.findall(r"--worker_num=\d+", run.hint())
        self.assert_accepted(self.msrun(flag, program))
