"""User mistakes are reported with the reference's classes; our limits are a class of their own."""
import unittest

from helper import TraceTest

HEAD = "import mindspore as ms\nfrom mindspore import nn, ops, Parameter, Tensor\nimport mindspore.dataset as ds\n"

MISTAKES = (
    ("ops.MatMul().shard([(2, 4), (4, 1)])", "TypeError", "MatMul:strategy-type"),
    ("ops.MatMul().shard(((2, 4), [4, 1]))", "TypeError", "MatMul:strategy-entry"),
    ("ops.MatMul().shard(((2, 4.0), (4, 1)))", "TypeError", "MatMul:strategy-element"),
    ("ops.MatMul().shard(None, ((2, 4),))", "ValueError", "MatMul:out-without-in"),
    ("ops.MatMul(transpose_a=1)", "TypeError", "MatMul:transpose_a-type"),
    ("ops.MatMul(nonsense=True)", "TypeError", "MatMul:arguments"),
    ("ms.Layout((2, 4), ('dp',))", "ValueError", "Layout:alias-length"),
    ("ms.Layout([2, 4], ('dp', 'mp'))", "TypeError", "Layout:device-matrix-type"),
    ("ms.Layout((2, 4), ('dp', 'mp'))('dp', 'dp')", "ValueError", "Layout:repeated-alias"),
    ("ms.Layout((2, 4), ('dp', 'mp')).to_dict()", "ValueError", "Layout:no-map"),
    ("ms.set_context(device_traget='GPU')", "ValueError", "context:unknown-key"),
    ("ms.set_context(save_graphs=4)", "ValueError", "context:save_graphs-range"),
    ("ms.set_context(device_id=-1)", "ValueError", "context:device_id-range"),
    ("ms.set_device('Ascend', 4096)", "ValueError", "context:device_id-range"),
    ("ms.set_context(runtime_num_threads=-1)", "ValueError", "context:runtime_num_threads-range"),
    ("ms.set_auto_parallel_context(device_num=0)", "ValueError", "auto-parallel-context:device_num-range"),
    ("ms.set_auto_parallel_context(parallel_mode='auto')", "ValueError", "auto-parallel-context:parallel_mode"),
    ("ms.set_auto_parallel_context(full_batch=1)", "TypeError", "auto-parallel-context:full_batch-type"),
    ("ms.set_auto_parallel_context(dataset_strategy=[(1,)])", "TypeError",
     "auto-parallel-context:dataset_strategy-type"),
    ("ms.set_algo_parameters(fully_use_devices=1)", "TypeError", "algo-parameters:fully_use_devices-type"),
    ("Parameter('w')", "TypeError", "Parameter:data-type"),
    ("Parameter(Tensor([1.0]), name=3)", "ValueError", "Parameter:name-type"),
    ("ms.common.initializer.initializer('no', [1])", "ValueError", "initializer:name"),
    ("ms.Model(3)", "TypeError", "Model:network-type"),
    ("nn.Momentum([], 0.1, 0.9)", "ValueError", "Momentum:no-params"),
    ("nn.Dense('3', 4)", "TypeError", "Dense:in_channels-type"),
    ("nn.Dropout(p=1.5)", "ValueError", "Dropout:rate-range"),
    ("ms.set_context(device_target='Ascend'); ms.communication.init('nccl')", "RuntimeError", "communication:backend-target"),
    ("ms.train.ModelCheckpoint(config=3)", "TypeError", "ModelCheckpoint:config"),
    ("ds.GeneratorDataset(lambda: iter([]), ['a'])", "RuntimeError", "GeneratorDataset:empty"),
    ("ds.GeneratorDataset([(1, 2)], ['a'])", "RuntimeError", "dataset:column-count"),
    ("ops.GradOperation(get_all=1)", "TypeError", "GradOperation:get_all"),
    ("nn.CellList([3])", "TypeError", "CellList:item"),
    ("ms.set_seed(-1)", "ValueError", "set_seed:range"),
    ("nn.ClipByNorm('0')", "TypeError", "ClipByNorm:axis-type"),
    ("nn.SyncBatchNorm(4, process_groups=3)", "TypeError", "SyncBatchNorm:groups-type"),
    ("ms.context.set_offload_context({'offload_param': 'gpu'})", "ValueError", "set_offload_context:offload_param"),
    ("ms.context.set_offload_context({'offload_cpu_size': '1'})", "ValueError", "set_offload_context:offload_cpu_size"),
    ("ms.context.set_offload_context({'enable_aio': 1})", "TypeError", "set_offload_context:enable_aio-type"),
    ("ms.context.set_offload_context({'offlaod': 1})", "ValueError", "set_offload_context:unknown-key"),
    ("nn.Cell()()", "AttributeError", "Cell:no-construct"),
)


class Mistakes(TraceTest):
    """Each mistake in one interpreter; the script prints class and reason."""

    def test_classes_and_reasons(self):
        lines = [HEAD]
        for expression, _, _ in MISTAKES:
            lines.append("try:\n    %s\n    print('none')\nexcept Exception as e:\n"
                         "    print(type(e).__name__, getattr(e, 'drydock_reason', '-'))\n" % expression)
        run = self.trace("".join(lines))
        found = run.output.strip().splitlines()
        self.assertEqual(len(found), len(MISTAKES), run.output)
        for (expression, kind, reason), line in zip(MISTAKES, found):
            with self.subTest(expression):
                self.assertEqual(line, "%s %s" % (kind, reason))


class Offload(TraceTest):
    def test_settings_are_kept_as_numbers_and_small_letters(self):
        run = self.trace(HEAD + "ms.context.set_offload_context({'offload_param': 'CPU', 'aio_block_size': '0.5GB'})\n"
                         "kept = ms.context.get_offload_context()\n"
                         "print(kept['offload_param'], kept['aio_block_size'] == 2 ** 29, kept['offload_disk_size'] > 0)\n")
        self.assertEqual(run.output.strip(), "cpu True True")


class Limits(TraceTest):
    def test_unsupported_is_no_kin_of_the_users_errors(self):
        run = self.trace(HEAD + "from mindspore._drydock import Unsupported\n"
                         "print(issubclass(Unsupported, (RuntimeError, ValueError, TypeError, KeyError, IndexError,"
                         " AttributeError, ImportError)))\n")
        self.assertEqual(run.output.strip(), "False")

    def test_names_that_are_missing_import_and_fail_when_called(self):
        run = self.trace("""
from mindspore.nn import MSSSIM
from mindspore.parallel._transformer.moe import MoE
import mindspore.experimental.optim.adagrad as r
from mindspore import ops
class Mine(MSSSIM):
    pass
@MSSSIM
def decorated():
    return 7
print(decorated(), Mine() is not None)
for f in (MSSSIM, MoE, r.Thing, ops.LuUnpack, ops.lu_unpack):
    try:
        f(1)
        f()(1)
    except Exception as e:
        print(type(e).__name__, e.name)
""")
        self.assertEqual(run.output.splitlines(), [
            "7 True", "Unsupported mindspore.nn.MSSSIM",
            "Unsupported mindspore.parallel._transformer.moe.MoE",
            "Unsupported mindspore.experimental.optim.adagrad.Thing",
            "Unsupported mindspore.ops.LuUnpack", "Unsupported mindspore.ops.lu_unpack"])

    def test_import_needs_no_numpy_and_is_quick(self):
        run = self.trace("import sys, time\nt = time.process_time()\nimport mindspore\n"
                         "print('numpy' in sys.modules)\n")
        self.assertEqual(run.output.strip(), "False")

    def test_one_object_per_operator(self):
        run = self.trace("""
from mindspore import ops
import mindspore.ops.operations as P
from mindspore.ops.operations.math_ops import MatMul
from mindspore.ops.auto_generate import MatMul as Generated
import mindspore.ops.functional as F
print(ops.MatMul is P.MatMul is MatMul is Generated, ops.TensorAdd is ops.Add, F.relu is ops.relu)
import mindspore as ms
from mindspore.parallel.shard import Layout
import mindspore.parallel.shard as module
print(callable(ms.parallel.shard), Layout is ms.Layout)
""")
        self.assertEqual(run.output.splitlines()[0], "True True True")


class CInterface(TraceTest):
    def test_bad_pointers_answer_errors(self):
        run = self.trace("""
import json, os
from mindspore._drydock import native
library = native._load()
def reason(handle, method, request, length):
    return json.loads(library.drydock_trace_call(handle, method, request, length))["error"]["reason"]
handle = library.drydock_trace_open()
print(reason(None, b"begin", b"{}", 2), reason(handle, None, b"{}", 2), reason(handle, b"begin", None, 2),
      reason(handle, b"begin", None, 0), reason(handle, b"begin", b"{}", 1))
library.drydock_trace_close(None)
library.drydock_trace_close(handle)
""")
        self.assertEqual(run.output.strip(), "trace:handle trace:request trace:request trace:request trace:request")


class Ranks(TraceTest):
    def covered(self, body, rank=0):
        run = self.trace("from mindspore.communication import get_rank, get_group_size\n" + body, rank=rank)
        return run.result["covered_ranks"]

    def test_text_and_arithmetic_are_no_guards(self):
        self.assertEqual(self.covered("a = get_rank() * 2 + 1\nprint('%s' % a, f'{a:04d}', str(a // 3))\n"), [[0, 7]])

    def test_comparison(self):
        self.assertEqual(self.covered("if get_rank() < 4:\n    x = 1\n"), [[0, 3]])
        self.assertEqual(self.covered("if get_rank() // 2 == 3:\n    x = 1\n", rank=2), [[0, 5]])

    def test_value(self):
        self.assertEqual(self.covered("x = [0] * 8\nx[get_rank()] = 1\n", rank=3), [[3, 3]])
        self.assertEqual(self.covered("for i in range(get_rank() % 2):\n    x = 1\n"), [[0, 0], [2, 2], [4, 4], [6, 6]])

    def test_environment(self):
        self.assertEqual(self.covered("import os\nint(os.environ['RANK_ID'])\n", rank=5), [[0, 7]])
        self.assertEqual(self.covered("import os\n[0] * int(os.environ['RANK_ID'])\n", rank=5), [[5, 5]])
        self.assertEqual(self.covered("import os\nprint(os.getenv('RANK_ID'))\n", rank=5), [[0, 7]])
        self.assertEqual(self.covered("import os\nif os.getenv('RANK_ID') == '0':\n    x = 1\n"), [[0, 0]])

    def test_isinstance_and_dictionary(self):
        self.assertEqual(self.covered("assert isinstance(get_rank(), int)\n"), [[0, 7]])
        self.assertEqual(self.covered("{0: 'a'}.get(get_rank())\n"), [[0, 0]])


class Datasets(TraceTest):
    HEAD = "import mindspore as ms\nimport mindspore.dataset as ds\nfrom mindspore.dataset import vision, transforms\n"

    def output(self, body, **settings):
        return self.trace(self.HEAD + body, **settings).output.strip().splitlines()

    def test_mnist_shapes_and_length(self):
        # 60,000 rows over 8 ranks are 7,500; batches of 32: 234.375, rounded up or down.
        out = self.output("""
from mindspore.communication import get_rank
d = ds.MnistDataset(None, num_shards=8, shard_id=get_rank())
d = d.map([vision.Resize((32, 16)), vision.Rescale(1 / 255.0, 0), vision.HWC2CHW()], 'image')
d = d.map(transforms.TypeCast(ms.int32), 'label')
print(d.batch(32).get_dataset_size(), d.batch(32, drop_remainder=True).get_dataset_size())
for image, label in d.batch(32):
    print(image.shape, image.dtype, label.shape, label.dtype)
""")
        self.assertEqual(out, ["235 234", "(32, 1, 32, 16) Float32 (32,) Int32"])

    def test_folder_without_the_files_is_an_error(self):
        error = self.error(self.HEAD + "ds.MnistDataset('.')\n")
        self.assertEqual(error["reason"], "MnistDataset:no-files")

    def test_python_function_in_map_sees_a_row(self):
        out = self.output("""
d = ds.NumpySlicesDataset([[1.0, 2.0, 3.0]] * 4, ['a'])
d = d.map(lambda row: (row, [0.0] * 5), 'a', ['a', 'b'])
print(d.output_shapes(), d.column_names)
""")
        self.assertEqual(out, ["[[3], [5]] ['a', 'b']"])

    def test_unknown_column(self):
        error = self.error(self.HEAD + "ds.MnistDataset(None).map(lambda x: x, 'img')\n")
        self.assertEqual(error["reason"], "dataset:unknown-column")


if __name__ == "__main__":
    unittest.main()
