"""Strategies in graph files that are not legal: one diagnostic with a place, and a remedy that works when tried.

The network is x (2 rows per rank) times w (32, 16), on 8 ranks: x is (16, 32) in all.
"""

import ast
import json
import re

import command
from command import line_of, suggested

MODEL = {
    "schema": "drydock.graph/1",
    "job": {"world_size": 8, "mode": "semi_auto_parallel", "dataset_strategy": "data_parallel"},
    "inputs": [{"name": "x", "shape": [2, 32], "dtype": "float32"}],
    "parameters": [{"name": "w", "shape": [32, 16], "dtype": "float32"}],
    "nodes": [{"op": "MatMul", "inputs": ["x", "w"], "outputs": ["y"], "strategy": [[2, 4], [4, 1]]}],
    "outputs": ["y"],
}


def model(strategy, **changes):
    """The same network as a graph file; the strategy stands in a line of its own."""
    node = dict(MODEL["nodes"][0], **changes)
    del node["strategy"]
    text = json.dumps(dict(MODEL, nodes=[node]), indent=1)
    return text.replace('"op"', '"strategy": %s,\n   "op"' % strategy)


class BadStrategyInGraphTest(command.CommandTest):
    def check_model(self, strategy, words, ranks=8):
        text = model(strategy)
        run = self.reject(self.write("model.json", text), words, ranks)
        self.assertRegex(run.errors()[0], r"^model\.json:(%d|%d):\d+: error: " %
                         (line_of(text, '"strategy"'), line_of(text, '"strategy"') - 1))
        self.write("model.json", model(json.dumps(ast.literal_eval(suggested(run.hint())))))
        self.assert_accepted(self.msrun("--worker_num=%d" % ranks, "model.json"))

    def test_cut_that_does_not_divide(self):
        self.check_model("[[2, 3], [3, 1]]", ["'MatMul'", "dimension 1 of input 0", "into 3", "32"])

    def test_product_that_does_not_divide_the_ranks(self):
        self.check_model("[[2, 8], [8, 1]]", ["'MatMul'", " 16 ", " 8 "])

    def test_too_few_entries(self):
        self.check_model("[[2, 4]]", ["'MatMul'", "has 1 entr", "takes 2"])

    def test_wrong_rank(self):
        self.check_model("[[2, 4], [4]]", ["'MatMul'", "entry 1", "(32, 16)", "2 dimensions"])

    def test_float_entry(self):
        self.check_model("[[2.0, 4], [4, 1]]", ["'strategy'", "integer"])

    def test_string_entry(self):
        self.check_model('[["2", 4], [4, 1]]', ["'strategy'", "string"])

    def test_string_instead_of_a_strategy(self):
        self.check_model('"all"', ["'strategy'", "string"])

    def test_zero_cut(self):
        self.check_model("[[0, 4], [4, 1]]", ["'MatMul'", "into 0", "at least 1"])

    def test_negative_cut(self):
        self.check_model("[[-2, 4], [4, 1]]", ["'MatMul'", "into -2", "at least 1"])

    def test_no_ranks(self):
        text = model("[[2, 4], [4, 1]]").replace('"world_size": 8', '"world_size": 0')
        run = self.msrun("--log_dir=out", self.write("model.json", text))
        self.assert_rejected(run, 6)
        (flag,) = re.findall(r"--worker_num=\d+", run.hint())
        self.assert_accepted(self.msrun(flag, "model.json"))


    def test_negative_number_of_ranks(self):
        text = model("[[2, 4], [4, 1]]").replace('"world_size": 8', '"world_size": -4')
        run = self.msrun("--log_dir=out", self.write("model.json", text))
        self.assert_rejected(run, 6)
        self.assertRegex(run.errors()[0], r"^model\.json:\d+:\d+: error: world_size is -4")

    def test_flags_behind_the_document(self):
        self.write("model.json", model("[[2, 4], [4, 1]]"))
        run = self.msrun("model.json", "--worker_num=16")
        self.assertEqual(run.status, 2, run.err)
        self.assertIn("'--worker_num=16' stands behind model.json", run.err)


class UnknownOperatorTest(command.CommandTest):
    def test_misspelt_name(self):
        text = model("[[2, 4], [4, 1]]", op="MatMull")
        run = self.msrun("--log_dir=out", self.write("model.json", text))
        self.assert_rejected(run, 8)  # not in our table: our limit
        self.assertRegex(run.errors()[0], r"^model\.json:\d+:\d+: unsupported: operator 'MatMull'")
        name = re.search(r"did you mean '(\w+)'", run.hint()).group(1)
        self.write("model.json", model("[[2, 4], [4, 1]]", op=name))
        self.assert_accepted(self.msrun("model.json"))

    def test_name_like_no_other(self):
        run = self.msrun("--log_dir=out", self.write("model.json", model("[[2, 4], [4, 1]]", op="Foo")))
        self.assert_rejected(run, 8)
        self.assertNotIn("did you mean", run.err)
        self.assertNotEqual(run.hint(), "")

    def test_result_types_let_an_unknown_operator_through_and_strict_does_not(self):
        types = [{"shape": [16, 16], "dtype": "float32"}]
        for strategy in ("[[2, 4], [4, 1]]", "null"):
            with self.subTest(strategy=strategy):
                text = model(strategy, op="Foo", output_types=types)
                run = self.msrun("--log_dir=out", self.write("model.json", text))
                self.assertEqual(run.status, 0, run.err)
                self.assertIn("unknown-operator: 'Foo'", run.out)
                run = self.msrun("--strict", "--log_dir=out", "model.json")
                self.assertEqual(run.status, 8, run.err)
                self.assertRegex(run.errors()[0], r"^model\.json:\d+:\d+: unsupported: 'Foo'")
