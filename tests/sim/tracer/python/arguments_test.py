"""Functions take the arguments that MindSpore names, and every function of arguments.txt has a place for what it must be given.

Shapes are worked out by hand: a concatenation of two (4, 6) along 1 is (4, 12), a reduction of dimension 0 of it (12,), ...
"""
import unittest

from helper import TraceTest

HEAD = '''
import mindspore as ms
from mindspore import Parameter, Tensor, dataset as ds, mint, nn, numpy as mnp, ops
F = mint.nn.functional


def T(*shape, d=ms.float32):
    return Tensor(shape=shape, dtype=d)


m, whole, at = T(4, 6), T(4, d=ms.int64), Tensor([0, 1], ms.int32)
'''

ROWS = [
    ("mint.cat((m, m), dim=1)", (4, 12)), ("mint.cat(tensors=[m, m])", (8, 6)), ("mint.stack([m, m], dim=1)", (4, 2, 6)),
    ("mint.chunk(m, 2, dim=1)[0]", (4, 3)), ("mint.softmax(m, dim=0)", (4, 6)), ("mint.select(m, 1, 2)", (4,)),
    ("mint.narrow(m, dim=1, start=1, length=2)", (4, 2)), ("mint.prod(m, dim=0)", (6,)), ("mint.var(m, dim=1, keepdim=True)", (4, 1)),
    ("mint.all(m > 0, dim=1)", (4,)), ("mint.normal(0.0, 1.0, (2, 3))", (2, 3)), ("mint.ones(size=(2, 3))", (2, 3)),
    ("mint.matmul(input=m, other=T(6, 2))", (4, 2)), ("mint.maximum(other=m, input=m)", (4, 6)), ("mint.exp(input=m)", (4, 6)),
    ("F.linear(input=m, weight=T(3, 6), bias=T(3))", (4, 3)), ("F.leaky_relu(m, negative_slope=0.1)", (4, 6)),
    ("F.log_softmax(m, dim=-1)", (4, 6)), ("F.one_hot(whole, num_classes=9)", (4, 9)), ("F.relu(m, inplace=True)", (4, 6)),
    ("F.binary_cross_entropy(input=m, target=m)", ()), ("mint.nn.Softmax(dim=1)(m)", (4, 6)), ("mint.nn.SiLU(inplace=False)(m)", (4, 6)),
    ("mnp.concatenate(arrays=[m, m], axis=1)", (4, 12)), ("mnp.where(m > 0, x=m, y=m)", (4, 6)), ("mnp.sum(a=m, axis=0)", (6,)),
    ("mnp.add(x1=m, x2=m, dtype=ms.float32)", (4, 6)), ("mnp.transpose(a=m)", (6, 4)), ("mnp.cumsum(m)", (24,)),
    ("mnp.linspace(0, 1)", (50,)), ("mnp.eye(N=3, M=2)", (3, 2)), ("mnp.pad(m, ((1, 1), (0, 2)))", (6, 8)), ("mnp.pad(m, 1)", (6, 8)),
    ("mnp.take(m, Tensor([0, 1, 2]), axis=1)", (4, 3)), ("mnp.swapaxes(m, axis1=0, axis2=1)", (6, 4)), ("mnp.array([1, 2], ndmin=2)", (1, 2)),
    ("ops.mean(x=m, axis=0, keep_dims=True)", (1, 6)), ("ops.cast(input=m, dtype=ms.float16)", (4, 6)), ("ops.pow(m, exponent=2.0)", (4, 6)),
    ("nn.ELU(alpha=1.0)(m)", (4, 6)), ("m.add_(m)", (4, 6)), ("m.new_zeros((2, 2))", (2, 2)), ("T(1, 6).expand_as(m)", (4, 6)),
    # numpy's rules, each tried with numpy: np.ones((3, 4, 5, 6))[index].shape
    ("T(3, 4, 5, 6)[0, at, at]", (2, 6)), ("T(3, 4, 5, 6)[:, at, at]", (3, 2, 6)), ("T(3, 4, 5, 6)[at, :, at]", (2, 4, 6)),
    ("T(3, 4, 5, 6)[1:, :, at]", (2, 4, 2, 6)), ("T(3, 4, 5, 6)[:, 0, :, at]", (2, 3, 5)), ("T(3, 4, 5, 6)[..., [0, 1], at]", (3, 4, 2)),
    ("T(3, 4, 5, 6)[at, T(7, 1, d=ms.int32)]", (7, 2, 5, 6)), ("T(3, 4)[at, at]", (2,)),
    ("ops.Unstack(1)(m)[5]", (4,)), ("ops.Unstack(1, 6)(m)[5]", (4,)), ("F.softplus(m, 2, threshold=10)", (4, 6)),
    # mode 'same' with stride 2: 8 * 2 (the third argument is the mode of padding, the seventh the stride)
    ("ops.Conv2DTranspose(4, 3, 'same', 0, None, 1, 2)(T(1, 4, 8, 8), T(4, 3, 3, 3), (1, 3, 16, 16))", (1, 3, 16, 16)),
    ("nn.Linear(in_features=6, out_features=2, bias=False)(m)", (4, 2)), ("nn.Linear(6, 2, True)(T(3, 4, 6))", (3, 4, 2)),
    ("mnp.in1d(ar1=m, ar2=m)", (24,)), ("mint.linalg.qr(A=T(5, 3))[1]", (3, 3)), ("ops.logsumexp(m, dim=1)", (4,)),
    ("m.mT", (6, 4)), ("m.to(ms.float16).type_as(m)", (4, 6)), ("m.to('Ascend')", (4, 6)),
]

SETS = '''
def rows(count, *shape):
    return ds.NumpySlicesDataset({"x": ms.ops.zeros((count,) + shape, ms.float32).asnumpy()})

both = rows(10, 3).concat(rows(6, 3))
assert (both.get_dataset_size(), len(both + both)) == (16, 32)
assert both.apply(lambda data: data.batch(5)).get_dataset_size() == 4
both.dataset_size = 6  # as trainers do that leave rows out
assert (both.dataset_size, both.get_dataset_size(), both.batch(4).get_dataset_size()) == (6, 6, 2)
filled = next(both.padded_batch(2, pad_info={"x": ([5], 0)}).create_dict_iterator())["x"]
assert filled.shape == (2, 5)
# rows of length 3 lie in the bucket [2, 5): batches of 4 rows, filled up to 4
bucket = both.bucket_batch_by_length(["x"], [2, 5], [8, 4, 2], pad_info={"x": ([None], 0)}, pad_to_bucket_boundary=True)
assert next(bucket.create_tuple_iterator())[0].shape == (4, 4)
for wrong in (lambda: both.concat(rows(2, 3).rename("x", "y")), lambda: both.apply(lambda data: 3)):
    try:
        wrong()
    except (RuntimeError, TypeError):
        continue
    raise AssertionError("taken")
'''

# Functions for which an argument that must be given has no place: they are ours to take or to refuse, in their own words.
WITHOUT = {"mindspore.ops.all_gather", "mindspore.ops.batch_norm", "mindspore.ops.reduce_scatter"}

LISTED = '''
import importlib
import types
from mindspore._drydock import arguments
from mindspore._drydock.lazy import Stub
checked = 0
for full_name in arguments.lines():
    module, _, name = full_name.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    if isinstance(function, Stub) or not isinstance(function, types.FunctionType):
        continue
    own = arguments._own(getattr(function, "drydock_wraps", function))
    if own is None or own[3]:
        continue
    checked += 1
    theirs = arguments.listed(full_name)
    words = {word for word, _, _ in theirs}
    for i, (word, default, _) in enumerate(theirs):
        placed = word in own[1] or (i < len(own[0]) and own[0][i] not in words)
        if default is arguments._ABSENT and not placed:
            print("without", full_name)
print("checked", checked)
'''


class ArgumentsTest(TraceTest):
    """Calls by name."""

    def test_expressions_have_the_expected_shapes(self):
        source = HEAD
        for i, (expression, _) in enumerate(ROWS):
            source += ("try:\n    made = %s\n    print('row', %d, tuple(made.shape))\nexcept Exception as error:\n    print('row', %d, repr(error))\n"
                       % (expression, i, i))
        source += "nn.ReLU()(m)\n"
        output = self.trace(source, ranks=1).output
        found = {int(line.split()[1]): line.split(None, 2)[2] for line in output.splitlines() if line.startswith("row ")}
        for i, (expression, shape) in enumerate(ROWS):
            with self.subTest(expression):
                self.assertEqual(found.get(i), str(shape))

    def test_data_sets(self):
        self.trace(HEAD + SETS + "nn.ReLU()(m)\n", ranks=1)

    def test_every_listed_function_has_a_place_for_what_it_must_be_given(self):
        output = self.trace(HEAD + LISTED + "nn.ReLU()(m)\n", ranks=1).output
        self.assertEqual({line.split()[1] for line in output.splitlines() if line.startswith("without ")}, WITHOUT)
        # 1,209 functions are listed; about 790 are there, and those that take any arguments are not counted
        self.assertGreater(int(next(line.split()[1] for line in output.splitlines() if line.startswith("checked "))), 350)

    def test_names_that_only_ours_has_are_mistakes(self):
        """Each was tried with MindSpore 2.10.0, which raises TypeError; an older release may have had them."""
        for call, hint in (("ops.logsumexp(m, axis=1)", "'dim'"), ("ops.std(m, dim=1)", "'axis'"), ("ops.sum(m, axis=1)", "'dim'"),
                           ("mint.sum(m, axis=1)", "'dim'"), ("mint.cat((m, m), axis=0)", "'dim'"), ("ops.mean(m, dim=1)", "'axis'"),
                           ("ops.argsort(m, dim=1)", "'axis'"), ("mnp.ones(size=(2, 3))", "'shape'"), ("ops.ones(size=(2,))", "'shape'"),
                           ("ops.repeat_interleave(m, 2, dim=1)", "'axis'"), ("ops.softmax(m, dim=1)", "")):
            error = self.error(HEAD + call + "\n", ranks=1)
            self.assertEqual((error["family"], error["type"]), ("user", "TypeError"), call)
            self.assertIn("unexpected keyword argument", error["message"], call)
            self.assertIn(hint, error["hint"], call)
        self.trace(HEAD + "nn.ReLU()(ops.logsumexp(m, axis=1))\n", ranks=1, environment={"DRYDOCK_TRACE_COMPAT": "2.3"})

    def test_element_types_of_positions(self):
        """Cummax counts in int64, Cummin in int32, Unique as its operand does (core/ops of MindSpore)."""
        run = self.trace(HEAD + "print(m.cummax(1)[1].dtype, m.cummin(1)[1].dtype)\n"
                         "print([ops.unique(T(4, d=d))[1].dtype for d in (ms.int64, ms.int32, ms.float32)])\nnn.ReLU()(m)\n", ranks=1)
        self.assertIn("Int64 Int32", run.output)
        self.assertIn("[mindspore.int64, mindspore.int32, mindspore.int32]", run.output)

    def test_what_has_no_place_is_our_limit(self):
        error = self.error(HEAD + "ops.amax(m, axis=0, initial=3.0)\n", ranks=1)
        self.assertEqual((error["family"], "initial" in error["message"]), ("unsupported", True), error)


if __name__ == "__main__":
    unittest.main()
