"""Names: those of MindSpore that are missing here are our limit, others are mistakes of the script."""
import unittest

from helper import TraceTest

HEAD = "import mindspore as ms\nfrom mindspore import nn, ops, mint, Tensor\nrow = Tensor(shape=(4, 4), dtype=ms.float32)\n"
RUN = "nn.Dense(4, 4)(row)\n"


class Mistakes(TraceTest):
    def test_attributes_of_modules(self):
        for name, hint in (("nn.CrossEntropyLos", "CrossEntropyLoss"), ("ops.relluu", "relu"), ("ms.Tensro", "Tensor"),
                           ("mint.matmull", "matmul"), ("ms.dataset.vision.Resise", "Resize"), ("ms.numpy.arrange", "arange")):
            error = self.error(HEAD + name + "\n")
            self.assertEqual((error["family"], error["type"], error["place"]["line"]), ("user", "AttributeError", 4), name)
            self.assertIn(hint, error["hint"], name)

    def test_operators(self):
        error = self.error(HEAD + "ops.Matmul()\n")
        self.assertEqual((error["family"], error["type"]), ("user", "AttributeError"))
        self.assertEqual(error["hint"], "did you mean 'MatMul'?")  # not the function `matmul`

    def test_attribute_of_a_cell(self):
        """The cell's own attributes come first, then what every cell has."""
        net = "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.dense = nn.ReLU()\nnet = Net()\n"
        for line, hint in (("net.dens", "did you mean 'dense'?"), ("net.trainable_parameters()", "did you mean 'trainable_params'?"),
                           ("net.eval()", "use set_train(False)"),
                           ("nn.SGD([ms.Parameter([1.0])]).step(1)", "an optimizer is called with the gradients: optimizer(gradients)")):
            error = self.error(HEAD + net + line + "\n")
            self.assertEqual((error["family"], error["hint"]), ("user", hint), line)

    def test_names_of_other_modules(self):
        """hasattr() of MindSpore 2.10.0: it has SiLU in auto_generate and _inner_ops, FlashAttentionScore in nn_ops, neither in ops."""
        for line, hint in (("ops.SiLU", "silu"), ("from mindspore.ops import SiLU", "silu"), ("ops.operations.FlashAttentionScore", ""),
                           ("ops.functional.sum_ext", ""), ("mint.gelu", ""), ("ms.numpy.gelu", ""), ("nn.ZeroPad1d", "ZeroPad2d"),
                           ("row.detach()", "stop_gradient"), ("row.element_size()", "")):
            error = self.error(HEAD + line + "\n")
            self.assertEqual((error["family"], error["place"]["line"]), ("user", 4), line)
            self.assertIn(error["type"], ("AttributeError", "ImportError"), line)
            self.assertIn(hint, error["hint"], line)
        run = self.trace(HEAD + """
from mindspore.ops.auto_generate import SiLU, MatMulExt
from mindspore.ops.operations.nn_ops import FlashAttentionScore
from mindspore.ops.operations._inner_ops import SiLU as same
print(same is SiLU, hasattr(ops, "SiLU"), hasattr(ops.operations, "FlashAttentionScore"), hasattr(mint.nn, "ZeroPad1d"))
mint.nn.SiLU()(row)  # the stand-in's own use gives a script nothing
print(hasattr(ops, "SiLU"), hasattr(ops.auto_generate, "silu"))
""" + RUN)
        self.assertIn("True False False True\nFalse True", run.output)

    def test_names_of_pytorch(self):
        error = self.error(HEAD + "class Net(nn.Module): pass\n")
        self.assertEqual((error["family"], error["hint"]), ("user", "that is PyTorch's name: did you mean 'Cell'?"))

    def test_imports(self):
        for line, kind in (("import mindspore.nnn", "ModuleNotFoundError"), ("from mindspore.nnn import x", "ModuleNotFoundError"),
                           ("from mindspore.nn import CrossEntropyLos", "ImportError")):
            error = self.error(HEAD + line + "\n")
            self.assertEqual((error["family"], error["type"]), ("user", kind), line)
            self.assertNotIn("install", error["hint"])
            self.assertNotIn("site", error["message"])

    def test_idioms_that_look_for_a_release(self):
        run = self.trace(HEAD + """
for text in ("from mindspore.nn.transformer.layers import _Linear", "from mindspore._checkparam import Validator",
             "from mindspore.no.such.thing import x", "from mindspore import NoSuchName"):
    try:
        exec(text)
        print("THERE")
    except ImportError:
        print("NOT THERE")
print(hasattr(ms, "no_such_name"), hasattr(row, "no_such_name"), hasattr(nn, "LPPool1d"), hasattr(row, "argmin"))
""" + RUN)
        self.assertNotIn("\nTHERE", "\n" + run.output)
        self.assertIn("False False True True", run.output)

    def test_older_releases_may_have_had_them(self):
        error = self.error(HEAD + "nn.ProbabilityThing()\n", environment={"DRYDOCK_TRACE_COMPAT": "2.3"})
        self.assertEqual(error["family"], "unsupported")

    def test_tensors(self):
        error = self.error(HEAD + "row.reshpe((2, 8))\n")
        self.assertEqual((error["family"], error["type"], error["hint"]), ("user", "AttributeError", "did you mean 'reshape'?"))


class Gaps(TraceTest):
    def test_use_is_unsupported_with_the_full_name(self):
        for line, name in (("nn.MSSSIM()", "mindspore.nn.MSSSIM"), ("ms.hal.get_arch_list()", "mindspore.hal.get_arch_list"),
                           ("row.put_(row, row)", "mindspore.Tensor.put_"), ("nn.Dense(2, 2).bprop_debug_()", None)):
            error = self.error(HEAD + line + "\n")
            if name is None:
                self.assertEqual(error["type"], "AttributeError")
                continue
            self.assertEqual(error["family"], "unsupported", line)
            self.assertIn(name, error["message"])

    def test_operators_without_an_entry_can_be_made(self):
        self.trace(HEAD + "ops.FusedAdaFactor()\nops.Pull()\n" + RUN)
        error = self.error(HEAD + "ops.FusedAdaFactor()(row, row, row, 1.0)\n")
        self.assertEqual(error["family"], "unsupported")

    def test_methods_that_follow_from_a_function(self):
        run = self.trace(HEAD + "class N(nn.Cell):\n    def construct(self, x):\n        return x.argmin(1)\nN()(row)\n")
        self.assertEqual(len(self.ops(run)), 1)


class Surface(TraceTest):
    LINES = {
        "from mindspore._extends import cell_attr_register\nclass A(nn.Cell):\n    @cell_attr_register(attrs='')\n"
        "    def __init__(self): super().__init__()\nA()": None,
        "from mindspore._c_expression.typing import Float, BFloat\nprint(isinstance(ms.float32, Float), isinstance(ms.bfloat16, "
        "BFloat), isinstance(ms.int32, Float))": "True True False",
        "print(ms.get_context('dataset_broadcast_opt_level'))": "0",
        "print(ms.get_auto_parallel_context('pipeline_interleave'))": "False",
        "from mindspore.profiler import ProfilerLevel\nprint(len(ProfilerLevel.__members__))": "4",
        "from mindspore._c_expression import MSContext\nprint(MSContext.get_instance().get_ascend_soc_version())": "ascend910b",
        "class O(nn.Cell):\n    def __init__(self):\n        print(self.cls_name)\n        super().__init__()\nO()": "O",
        "import mindspore._checkparam as v\nv.check_float(1e-8, 0.0, v.GT, 'eps', 'AdamW')\n"
        "v.check_number('clip', 1.0, 0.0, v.GT, 'Clip')\nv.check_int(3, 2, v.GE)\nv.check_is_number(1.0, float, 'x')": None,
        "c = ms.ModelCheckpoint('a', './x', ms.CheckpointConfig())\nprint(c._directory, c._config.async_save)": "./x False",
        "from mindspore.ops import composite as C\nprint(C.ones_like(row).shape)": "(4, 4)",
        "n = nn.Dense(2, 2)\ns = nn.TrainOneStepCell(n, nn.SGD(n.trainable_params()))\n"
        "print(s.grad_reducer((1,)), s.parallel_mode)": "(1,) stand_alone",
        "print(ops.clip_by_value(row, clip_value_min=0.0, clip_value_max=1.0).shape)": "(4, 4)",
        "from mindspore.common.generator import Generator\nGenerator().manual_seed(1)": None,
        "from mindspore.amp import FixedLossScaleManager\nprint(FixedLossScaleManager(1024).get_loss_scale())": "1024",
        "print(ops.all(row).dtype, ops.any(row, 1).shape)": "Bool (4,)",
        "print(nn.EmbeddingLookup.TABLE_ROW_SLICE, nn.EmbeddingLookup.BATCH_SLICE)": "table_row_slice batch_slice",
        "print(nn.Dense(2, 2, has_bias=False).bias, nn.Conv2d(1, 1, 1).bias)": "None None",
        "print(len(nn.SequentialCell(nn.ReLU(), nn.ReLU()).cell_list))": "2",
        "from mindspore.train.model import ParallelMode\nprint(ParallelMode.DATA_PARALLEL)": "data_parallel",
        "from mindspore.communication import init\ninit('nccl')\nprint(ms.get_context('device_target'))": "GPU",
        "print(ms.__version__)": "2.10.0",
    }

    def test_names_that_scripts_use(self):
        for line, expected in self.LINES.items():
            run = self.trace(HEAD + line + "\n" + RUN)
            self.assertIn(expected or "", run.output, line)

    def test_tensors_become_arrays(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("numpy is not installed")
        run = self.trace(HEAD + "import numpy as np\ny = nn.Dense(4, 4)(row).mean()\n"
                         "print(np.array([y, y]).dtype, np.isnan(np.array([y])).any())\n")
        self.assertIn("float32 False", run.output)


if __name__ == "__main__":
    unittest.main()
