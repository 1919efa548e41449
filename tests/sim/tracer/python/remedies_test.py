"""Mistakes of the first minutes that Python reports: each has a remedy."""
import importlib.util
import sys
import unittest

from helper import TraceTest

HEAD = "import os\nimport mindspore as ms\nfrom mindspore import nn, ops, Tensor\n"


class Remedies(TraceTest):
    def hint(self, source, kind=None):
        error = self.error(HEAD + source)
        if kind:
            self.assertEqual(error["type"], kind)
        self.assertEqual(error["family"], "user")
        return error["hint"]

    @unittest.skipIf(sys.version_info < (3, 10), "Python names the class of a method from 3.10 on")
    def test_arguments_that_are_not_there(self):
        self.assertEqual(self.hint("ops.MatMul().shard(in_strategies=((2, 1), (1, 4)))\n", "TypeError"), "did you mean 'in_strategy'?")

    @unittest.skipIf(sys.version_info < (3, 10), "Python names the class of a method from 3.10 on")
    def test_too_few_and_too_many_arguments(self):
        self.assertIn("(epoch, train_dataset, ", self.hint("ms.Model(nn.Dense(2, 2)).train(1)\n", "TypeError"))
        self.assertEqual(self.hint("def f(a, b=1):\n    pass\nf(1, 2, 3)\n", "TypeError"), "its arguments are (a, b=...)")
        self.assertEqual(self.hint("nn.Dense(2, 2).recompute(True)\n", "TypeError"), "give its settings by name: recompute(name=value)")
        self.assertEqual(self.hint("ms.set_context('GRAPH_MODE')\n", "TypeError"), "give its settings by name: set_context(name=value)")
        self.assertEqual(self.hint("def g():\n    pass\ng(1)\n", "TypeError"),
                         "it takes no arguments")

    @unittest.skipIf(sys.version_info < (3, 10), "Python names the class of a method from 3.10 on")
    def test_arguments_by_their_names_in_pytorch(self):
        for source, meant in (("nn.Softmax(dim=-1)", "axis"), ("nn.Dense(in_features=2, out_features=2)", "in_channels"),
                              ("nn.Dense(2, 2, bias=False)", "has_bias"), ("ops.cat((), dim=1)", "axis")):
            self.assertEqual(self.hint(source + "\n", "TypeError"), "did you mean '%s'?" % meant, source)

    def test_the_function_that_is_called_among_those_of_its_name(self):
        # mint.transpose(input, dim0, dim1) has the same name.
        hint = self.hint("from mindspore import mint\nops.transpose(Tensor([[1.]]), 0, 1)\n", "TypeError")
        self.assertRegex(hint, r"^its arguments are \(input\w*, ")
        self.assertNotIn("dim0", hint)

    def test_values_that_are_nearly_right(self):
        self.assertIn("p=...", self.hint("nn.Dropout(1.5)\n", "ValueError"))
        self.assertEqual(self.hint("ms.set_context(mode='GRAPH_MODE')\n", "TypeError"), "write mode=mindspore.GRAPH_MODE")
        self.assertEqual(self.hint("nn.AdamW([])\n", "AttributeError"), "that is PyTorch's name: did you mean 'AdamWeightDecay'?")

    def test_names_that_are_not_imported(self):
        for source, wanted in (("np.ones(3)", "write 'import numpy as np' above"), ("init()", "write 'from mindspore.communication import init' above"),
                               ("Parameter(1)", "write 'from mindspore import Parameter' above"), ("math.pi", "write 'import math' above"),
                               ("context.set_context()", "write 'from mindspore import context' above"),
                               ("images = 1\nprint(imagse)", "did you mean 'images'?"), ("print(nothing_of_the_kind)", "")):
            self.assertEqual(self.hint(source + "\n", "NameError"), wanted, source)

    def test_a_name_that_a_branch_on_zeros_leaves_out_is_our_limit(self):
        # The mean of ones is 1 in MindSpore, so that y is set there.
        error = self.error(HEAD + "x = Tensor(shape=(8, 4), dtype=ms.float32)\nif ops.exp(x).mean() > 0.5:\n    y = 1\nprint(y)\n")
        self.assertEqual(error["family"], "unsupported")
        self.assertIn("mindspore.utils.dryrun.mock", error["hint"])

    def test_devices_and_weights_by_their_names_elsewhere(self):
        self.assertEqual(self.hint("ms.set_context(device_target='NPU')\n", "ValueError"), "did you mean 'Ascend'?")
        self.assertEqual(self.hint("nn.Adam(nn.Dense(2, 2), 0.1)\n", "TypeError"), "give network.trainable_params()")

    @unittest.skipIf(sys.version_info < (3, 10), "Python keeps the object of an AttributeError from 3.10 on")
    def test_names_of_classes_that_are_nearly_right(self):
        self.assertEqual(self.hint("ms.ParallelMode.SEMI_AUTO_PARALEL\n", "AttributeError"), "did you mean 'SEMI_AUTO_PARALLEL'?")

    def test_strategies_of_functions_and_of_old_scripts(self):
        self.assertIn("ops.MatMul().shard(...)", self.hint("ops.matmul.shard(((2, 1), (1, 4)))\n", "AttributeError"))

    @unittest.skipIf(sys.version_info < (3, 10), "Python keeps the object of an AttributeError from 3.10 on")
    def test_strategies_by_their_old_name(self):
        self.assertEqual(self.hint("ops.MatMul().set_strategy(((2, 1), (1, 4)))\n", "AttributeError"), "did you mean 'shard'?")

    def test_what_tensors_have_in_pytorch(self):
        self.assertIn("value_and_grad", self.hint("Tensor([[1., 2.]]).backward()\n", "AttributeError"))

    def test_variables_of_other_launchers_and_of_the_user(self):
        self.assertIn("get_rank()", self.hint("rank = int(os.environ['SLURM_PROCID'])\n", "KeyError"))
        self.assertIn("get_rank()", self.hint("rank = int(os.getenv('SLURM_PROCID'))\n", "TypeError"))
        self.assertIn("MY_DATA=... in front of msrun", self.hint("open(os.environ['MY_DATA'])\n", "KeyError"))
        self.assertEqual(self.hint("x = {}['MY_DATA']\n", "KeyError"), "")

    @unittest.skipIf(sys.version_info < (3, 10), "Python names the character from 3.10 on")
    def test_signs_of_a_chinese_input_method(self):
        # U+FF0C is the wide form of U+002C, the comma.
        self.assertEqual(self.hint("x = (1\uff0c 2)\n", "SyntaxError"), "write ',' instead of '\uff0c'")
        self.assertEqual(self.hint("x = [(1)\uff0c 2]\n", "SyntaxError"), "write ',' instead of '\uff0c'")
        self.assertEqual(self.hint("x = \u201cAscend\u201d\n", "SyntaxError"), "write '\"' instead of '\u201c'")
        self.assertEqual(self.hint("x = 1\u3000+ 2\n", "SyntaxError"), "write an ordinary space instead")

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "this interpreter has no numpy")
    def test_numpy_inside_of_a_network(self):
        hint = self.hint("import numpy as np\nclass Net(nn.Cell):\n    def construct(self, x):\n        return np.maximum(x, 0)\n"
                         "Net()(Tensor([1., 2.]))\n", "TypeError")
        self.assertIn("mindspore.ops.maximum", hint)

    def test_number_of_ranks_that_a_script_insists_on(self):
        self.assertIn("--worker_num=N", self.hint("assert ms.communication.get_group_size() == 12345\n", "AssertionError"))

    def test_settings_of_the_other_function_and_values_in_quotes(self):
        for source, hint in (
                ("set_auto_parallel_context(device_target='Ascend')", "it is a setting of set_context()"),
                ("set_context(parallel_mode='semi_auto_parallel')", "it is a setting of set_auto_parallel_context()"),
                ("set_auto_parallel_context(gradients_mean='True')", "write gradients_mean=True"),
                ("set_auto_parallel_context(gradients_mean='true')", "write gradients_mean=True"),
                ("set_auto_parallel_context(pipeline_stages='2')", "write pipeline_stages=2"),
                ("set_auto_parallel_context(pipeline_stages=2.0)", "write pipeline_stages=2"),
                ("set_auto_parallel_context(pipeline_stages=2.5)", ""),
                ("set_auto_parallel_context(gradients_mean='perhaps')", ""),
                ("set_auto_parallel_context(dataset_strategy=[(8, 1), (8, 1)])", "write a tuple: dataset_strategy=((8, 1), (8, 1))")):
            self.assertEqual(self.hint("ms.%s\n" % source), hint, source)

    def test_what_a_machine_does_not_have(self):
        self.assertIn("mindspore.Tensor(shape=", self.hint("raise MemoryError('no room for an array')\n"))
        for source in ("import urllib.error\nraise urllib.error.URLError('no route')", "import socket\nraise socket.gaierror(-2, 'unknown')",
                       "raise ConnectionRefusedError(111, 'refused')"):
            self.assertIn("a dry run needs no data", self.hint(source + "\n"), source)

    def test_how_a_file_is_written(self):
        self.assertIn("indent with", self.hint("def f():\n\tx = 1\n        y = 2\n", "TabError"))
        # A byte of Latin-1 in a file that says it is UTF-8 is what Python meets where a file says nothing.
        text = "# -*- coding: ascii -*-\nname = '\u00e9'\n"
        self.assertIn("save the script as UTF-8", self.error(text)["hint"])

    def test_a_function_that_calls_itself(self):
        error = self.error(HEAD + "def f():\n    return f()\nf()\n")
        self.assertIn("calls itself without end", error["hint"])

    def test_main_that_is_not_called(self):
        error = self.error(HEAD + "def main():\n    nn.Dense(2, 2)(Tensor([[1., 2.]]))\n")
        self.assertEqual(error["reason"], "script:nothing-traced")
        self.assertIn("main() is defined but never called", error["hint"])

    def test_messages_hold_no_addresses(self):
        message = self.error(HEAD + "ms.Model(nn.Dense(2, 2)).train(object(), 1)\n")["message"]
        self.assertNotIn("0x", message)
        self.assertIn("object object>", message)


class Configurations(TraceTest):
    SCRIPT = "open('job.yaml', 'w').write('parallel:\\n  data_parallel: 1\\n  model_parallel: 4\\nvocab_file: /not/there/words.model\\n')\n"

    def test_a_contradiction_names_the_lines_of_its_settings(self):
        error = self.error(self.SCRIPT + "raise ValueError('data_parallel * model_parallel = 4, but device_num is 8')\n",
                           arguments=["--config", "job.yaml", "--parallel.model_parallel", "4"])
        self.assertEqual([note for note in error["notes"] if "says so" in note],
                         ["the configuration says so at job.yaml:2: data_parallel: 1", "an argument says so: --parallel.model_parallel 4"])
        self.assertIn("--worker_num=8 says how many ranks", error["hint"])

    def test_a_file_that_is_not_there_names_its_line(self):
        error = self.error(self.SCRIPT + "raise ValueError('the file /not/there/words.model is not exist.')\n", arguments=["config=job.yaml"])
        self.assertIn("the configuration says so at job.yaml:4: vocab_file: /not/there/words.model", error["notes"])
        self.assertIn("put 'words.model' there", error["hint"])

    def test_weights_may_be_left_out(self):
        error = self.error("raise ValueError('/not/there/ckpt is not existed, please check load_checkpoint')\n",
                           arguments=["--load_checkpoint", "/not/there/ckpt"])
        self.assertIn("an argument says so: --load_checkpoint /not/there/ckpt", error["notes"])
        self.assertIn("needs no weights", error["hint"])

if __name__ == "__main__":
    unittest.main()
