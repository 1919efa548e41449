"""Strategies of operators that are written to a file and taken from it."""
import json
import os
import tempfile
import unittest

from helper import TraceTest

NET = """
import json
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor as executor
from mindspore.parallel import set_op_strategy_config
from mindspore.parallel.auto_parallel import AutoParallel
ms.communication.init()
class Net(nn.Cell):
    def __init__(self, cuts=None, out=None):
        super().__init__()
        self.matmul = ops.MatMul().shard(cuts, out)
        self.unused = ops.Exp()
        self.exp = ops.Exp()
        self.w = Parameter(Tensor(shape=(64, 32), dtype=ms.float32), "w")
    def construct(self, x):
        self.unused(x)
        return self.exp(self.matmul(x, self.w))
x = Tensor(shape=(32, 64), dtype=ms.float32)
def propagate():
    context.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="sharding_propagation",
                                      device_num=8, dataset_strategy="full_batch")
"""
CUTS = "((2, 4), (4, 1))"


class StrategyFile(TraceTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "deeper", "strategy.json")

    def configured(self, mode, then):
        return NET + "propagate()\nset_op_strategy_config(%r, %r)\n" % (mode, self.path) + then

    def save(self, net="Net(%s)" % CUTS):
        self.trace(self.configured("SAVE", "executor.compile(%s, x)\n" % net))

    def saved(self):
        with open(self.path) as file:
            return json.load(file)

    def write(self, text):
        os.makedirs(os.path.dirname(self.path))
        with open(self.path, "w") as file:
            file.write(text)

    def strategy_in_document(self, source):
        [node] = [node for node in self.trace(source).documents[0]["nodes"] if node["op"] == "MatMul"]
        return node.get("strategy")

    def test_what_was_propagated_is_saved(self):
        self.save()
        items = self.saved()["parallel_strategy_item"]
        self.assertEqual(items["Default/MatMul-op0"], {"stage": 0, "parallel_strategy": [[2, 4], [4, 1]]})
        self.assertIn("Default/Exp-op0", items)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["strategy.json"])

    def test_strategies_of_results_are_saved_and_loaded(self):
        self.save("Net(%s, ((8, 1),))" % CUTS)
        self.assertEqual(self.saved()["parallel_out_strategy_item"]["Default/MatMul-op0"]["parallel_strategy"], [[8, 1]])
        source = self.configured("LOAD", "Net()(x)\n")
        [node] = [node for node in self.trace(source).documents[0]["nodes"] if node["op"] == "MatMul"]
        self.assertEqual((node["strategy"], node["out_strategy"]), ([[2, 4], [4, 1]], [[8, 1]]))

    def test_loaded_strategies_are_those_of_the_file(self):
        self.save()
        run = self.trace(self.configured("LOAD", """
net = Net()
executor.compile(net, x, phase="train")
print(json.dumps(executor._get_shard_strategy(net)["Default/MatMul-op0"]))
"""))
        self.assertEqual(json.loads(run.output.splitlines()[-1]), [[2, 4], [4, 1]])

    def test_operators_that_are_not_needed_have_no_name(self):
        # The second Exp is the first one of what is compiled.
        self.write(json.dumps({"parallel_strategy_item": {
            "Default/Exp-op0": {"stage": 0, "parallel_strategy": [[4, 2]]}}}))
        run = self.trace(self.configured("LOAD", "Net()(x)\n"))
        self.assertEqual([node.get("strategy") for node in run.documents[0]["nodes"] if node["op"] == "Exp"], [None, [[4, 2]]])

    def test_scripts_that_call_the_network_save_and_load(self):
        self.trace(self.configured("SAVE", "Net(%s)(x)\n" % CUTS))
        self.assertEqual(self.strategy_in_document(self.configured("LOAD", "Net()(x)\n")), [[2, 4], [4, 1]])

    def test_settings_of_a_wrapper(self):
        wrapped = NET + "net = AutoParallel(Net(%s), 'sharding_propagation')\nnet.%s_operator_strategy_file(%r)\nnet(x)\n"
        self.trace(wrapped % (CUTS, "save", self.path))
        self.assertEqual(self.strategy_in_document(wrapped % ("", "load", self.path)), [[2, 4], [4, 1]])

    def test_other_modes_leave_the_file_alone(self):
        self.trace(NET + "context.set_auto_parallel_context(parallel_mode='semi_auto_parallel')\n"
                   "set_op_strategy_config('SAVE', %r)\nexecutor.compile(Net(%s), x)\n" % (self.path, CUTS))
        self.assertFalse(os.path.exists(self.path))

    def test_reset_forgets_the_file(self):
        self.trace(self.configured("SAVE", "context.reset_auto_parallel_context()\npropagate()\n"
                                           "executor.compile(Net(%s), x)\n" % CUTS))
        self.assertFalse(os.path.exists(self.path))

    def test_bad_settings_are_key_errors(self):
        for settings, reason in (("'READ', '/a.json'", "mode"), ("'LOAD', 'a.json'", "path"),
                                 ("'SAVE', '/a.yaml'", "extension"), ("'SAVE', 7", "path")):
            with self.subTest(settings):
                error = self.error(NET + "set_op_strategy_config(%s)\n" % settings)
                self.assertEqual((error["type"], error["reason"]), ("KeyError", "op-strategy:" + reason))

    def refused(self, text, word):
        if text is not None:
            self.write(text)
        error = self.error(self.configured("LOAD", "executor.compile(Net(), x)\n"))
        self.assertEqual((error["family"], error["type"]), ("user", "RuntimeError"))
        self.assertIn(word, error["message"])

    def test_file_that_is_not_there(self):
        self.refused(None, "cannot be loaded")

    def test_files_that_hold_something_else(self):
        self.refused("[1, 2]", "is not a file of operator strategies")

    def test_no_json(self):
        self.refused("\0\1", "cannot be loaded")

    def test_strategy_that_is_none(self):
        self.refused('{"parallel_strategy_item": {"a": {"parallel_strategy": [["2"]]}}}', "is not a list of lists")

    def test_illegal_strategy_is_refused_as_if_the_script_gave_it(self):
        self.refused('{"parallel_strategy_item": {"Default/MatMul-op0": {"parallel_strategy": [[3, 1], [1, 1]]}}}',
                     "cuts dimension 0")

    def test_layouts_are_a_limit(self):
        self.write('{"parallel_strategy_item": {}, "parallel_layout_value_item": {"a": []}}')
        error = self.error(self.configured("LOAD", "executor.compile(Net(), x)\n"))
        self.assertEqual(error["family"], "unsupported")
        self.assertIn("set_op_strategy_config", error["reason"])

    def test_folder_that_cannot_be_written(self):
        self.path = "/proc/none/strategy.json"
        error = self.error(self.configured("SAVE", "executor.compile(Net(%s), x)\n" % CUTS))
        self.assertEqual(error["reason"], "op-strategy:file")


if __name__ == "__main__":
    unittest.main()
