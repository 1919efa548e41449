"""Numbers that a script computes before its network, and what layers know of themselves."""
import unittest

from helper import TraceTest

HEAD = """
import numpy as np
import mindspore as ms
from mindspore import mint, nn, ops, Parameter, Tensor
net = nn.Dense(4, 4)
"""
RUN = """
net(Tensor(np.zeros((2, 4), np.float32)))
"""


class Numbers(TraceTest):
    def printed(self, *lines):
        """What expressions print before the network runs."""
        return self.trace(HEAD + "".join("print(%s)\n" % line for line in lines) + RUN).output.splitlines()[:len(lines)]

    def test_operators_on_numbers_of_the_script(self):
        # Rates of a network with 4 layers: 0, 0.1, 0.2, 0.3.
        self.assertEqual(self.printed("[round(x.item(), 6) for x in ops.linspace(0.0, 0.3, 4)]", "(Tensor([1.0, 2.0]) * 2).asnumpy()",
                                      "ops.tril(ops.ones((2, 2))).asnumpy().tolist()", "ops.arange(6).reshape(2, 3).sum(0)",
                                      "int(ops.cumsum(Tensor(np.array([1, 2, 3])), 0)[-1])"),
                         ["[0.0, 0.1, 0.2, 0.3]", "[2. 4.]", "[[1.0, 0.0], [1.0, 1.0]]", "Tensor(shape=[3], dtype=Int64)", "6"])

    def test_float32_is_rounded_as_it_is_held(self):
        # The nearest float32 to 0.1 is 0.100000001490116...
        self.assertEqual(self.printed("(Tensor(0.05) + Tensor(0.05)).item()"), ["0.10000000149011612"])

    def test_chance_and_other_ranks_have_zeros(self):
        self.assertEqual(self.printed("ops.rand(2).asnumpy()"), ["[0. 0.]"])

    def test_what_follows_from_numbers_is_no_verdict_about_zeros(self):
        error = self.error(HEAD + "assert ops.ones((2,)).sum() * 2 > 5, 'too small'\n" + RUN)
        self.assertEqual((error["family"], error["type"]), ("user", "AssertionError"))

    def test_a_value_that_is_only_printed_decides_nothing(self):
        error = self.error(HEAD + "print('rows %d' % 3, ops.rand(1))\nassert net.in_channels == 5\n" + RUN)
        self.assertEqual(error["family"], "user")

    def test_a_value_that_decides_is_told(self):
        error = self.error(HEAD + "assert float(ops.rand(1)) > 0\n" + RUN)
        self.assertEqual(error["family"], "unsupported")
        self.assertIn("mock", error["hint"])

    def test_whole_numbers_divided_by_zero_are_not_known(self):
        self.assertEqual(self.printed("(Tensor([5]) // Tensor([0])).asnumpy()", "(Tensor([1.0]) / Tensor([0.0])).asnumpy()"),
                         ["[0]", "[inf]"])

    def test_first_values_of_parameters(self):
        self.assertEqual(self.printed("Parameter(Tensor([8, 16, 32])).asnumpy()", "[int(x) for x in Parameter(Tensor([8, 16, 32]))]"),
                         ["[ 8 16 32]", "[8, 16, 32]"])

    def test_a_parameter_that_is_written_is_not_followed(self):
        run = self.trace(HEAD + "p = Parameter(Tensor([8.0]))\nops.assign(p, Tensor([9.0]))\nprint(p.asnumpy())\n"
                         "p.set_data(Tensor([7.0]))\nprint(p.asnumpy())" + RUN)
        self.assertEqual(run.output.splitlines()[:2], ["[0.]", "[7.]"])


class Layers(TraceTest):
    def test_arguments_of_layers_are_their_attributes(self):
        # As MindSpore's: strides and kernels of convolutions are pairs, other arguments as they were given.
        self.trace(HEAD + """
conv = nn.Conv2d(4, 8, 3, stride=2, pad_mode="pad", padding=1, group=2, has_bias=True)
assert (conv.kernel_size, conv.stride, conv.dilation) == ((3, 3), (2, 2), (1, 1))
assert (conv.group, conv.padding, conv.pad_mode, conv.data_format) == (2, 1, "pad", "NCHW")
class Mine(nn.Conv2d):
    def __init__(self, width):
        super().__init__(width, width, 1, group=width)
assert Mine(6).group == 6 and Mine(6).in_channels == 6
pool = nn.MaxPool2d(kernel_size=2, stride=2)
assert (pool.kernel_size, pool.stride) == (2, 2)
assert nn.LeakyReLU(0.1).alpha == 0.1 and nn.GroupNorm(2, 4).num_channels == 4
assert not hasattr(conv, "nothing")
try:
    conv.grup
except AttributeError:
    pass
else:
    raise SystemExit("no error")
""" + RUN)

    def test_rates_of_groups_are_listed(self):
        run = self.trace(HEAD + """
groups = [{"params": [net.weight], "lr": [0.1, 0.2]}, {"params": [net.bias], "lr": [0.3, 0.4]}]
opt = nn.SGD(groups, 0.5)
print(len(opt.learning_rate), opt.learning_rate[0](Tensor(1, ms.int32)).shape)
print(float(nn.SGD(net.trainable_params(), 0.5).learning_rate.asnumpy()))
""" + RUN)
        self.assertEqual(run.output.splitlines()[:2], ["2 ()", "0.5"])

    def test_blocks_of_a_plane_stay_a_plane(self):
        # 30 x 30, blocks of 3 x 3 with steps of 2: (30 - 3) // 2 + 1 = 14 a side, 5 * 9 = 45 channels; "same": 30 / 2 = 15.
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.valid = nn.Unfold([1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1])
        self.same = nn.Unfold([1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], padding="same")
    def construct(self, x):
        a, b = self.valid(x), self.same(x)
        print(a.shape, b.shape)
        return a.sum() + b.sum()
Net()(Tensor(np.zeros((2, 5, 30, 30), np.float32)))
""")
        self.assertIn("(2, 45, 14, 14) (2, 45, 15, 15)", run.output)

    def test_other_names_of_functions(self):
        self.trace(HEAD + """
from mindspore.ops.function.nn_func import softmax
assert ops.function.silu is ops.silu and ops.function.nn_func.relu is ops.relu and softmax is ops.softmax
ms.set_recursion_limit(2000)
assert ms.get_context("max_call_depth") == 2000
""" + RUN)
        error = self.error(HEAD + "ms.set_recursion_limit(0)" + RUN)
        self.assertIn("recursion_limit", error["message"])


if __name__ == "__main__":
    unittest.main()
