"""Scripts that use the real PyTorch beside mindspore, as those that convert checkpoints or compare results do."""

import unittest

import command
from launch_torch_test import PYTHON, REASON

# 8 rows and 32 columns cut (2, 2) on 4 ranks, times a weight that PyTorch initialised.
SCRIPT = '''import torch
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch"); ms.communication.init()
teacher = torch.nn.Linear(32, 16, bias=False)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(teacher.weight.detach().numpy().T, ms.float32), "w")
        self.mm = ops.MatMul().shard(((2, 2), (2, 1)))
    def construct(self, x):
        return {result}
y = Net()({argument})
'''
CHECKS = '''
whole = teacher(torch.ones(8, 32))
assert type(whole) is torch.Tensor and not isinstance(whole, Tensor)
assert isinstance(teacher.weight, torch.nn.Parameter) and not isinstance(teacher.weight, Parameter)
assert type(y) is Tensor and not isinstance(y, torch.Tensor)
assert torch.from_numpy(y.asnumpy()).shape == whole.shape == y.shape == (8, 16)
'''
NET_LINE = "net.py:%d" % command.line_of(SCRIPT, "        return ")
CALL_LINE = "net.py:%d" % command.line_of(SCRIPT, "y = Net()")


@unittest.skipIf(REASON, REASON)
class TwoFrameworksTest(command.CommandTest):
    def run_script(self, result="self.mm(x, self.w)", argument="Tensor(shape=(8, 32), dtype=ms.float32)", after=""):
        self.write("net.py", SCRIPT.format(result=result, argument=argument) + after)
        # The last --python counts.
        return self.msrun("--python=" + PYTHON, "--worker_num=4", "--log_dir=out", "net.py")

    def refused(self, place, text, hint, **parts):
        run = self.run_script(**parts)
        self.assert_rejected(run, 6)
        self.assertTrue(run.errors()[0].startswith(place), run.err)
        self.assertIn(text, run.errors()[0])
        self.assertIn(hint, run.hint())
        return run

    def test_each_framework_keeps_its_tensors(self):
        self.assert_accepted(self.run_script(after=CHECKS))
        # The sum over the 32 columns is cut in 2: one AllReduce of (8 / 2, 16) float32, 256 B; of 2 ranks each sends
        # 2 * 1 / 2 of that. Outside of training the output is whole: an AllGather of its 2 halves, each of 256 B.
        total = self.report("communication.json", "out")["total"]
        self.assertEqual((total["count"], total["sent_bytes"]), (2, 512))

    def test_tensor_of_torch_in_an_operator(self):
        self.refused(NET_LINE, "TypeError: a Tensor of torch is not a Tensor of mindspore", "Tensor(value.detach()",
                     result="self.mm(x, torch.zeros(32, 16))")

    def test_tensor_of_torch_on_either_side(self):
        for result in ("x + torch.zeros(8, 32)", "torch.zeros(8, 32) + x"):
            with self.subTest(result):
                self.refused(NET_LINE, "a Tensor of torch", "Tensor(value.detach()", result=result)

    def test_tensor_of_torch_as_input_of_the_network(self):
        run = self.refused(NET_LINE, "a Tensor of torch", "Tensor(value.detach()", argument="torch.zeros(8, 32)")
        self.assertIn("note: called at " + CALL_LINE, run.err)

    def test_parameter_of_torch_for_a_tensor(self):
        self.refused(CALL_LINE, "a Parameter of torch", "Tensor(value.detach()", argument="Tensor(teacher.weight)")

    def test_tensor_of_mindspore_in_a_function_of_torch(self):
        for result in ("torch.relu(x)", "torch.cat((x, x))", "torch.matmul(x, self.w)"):
            with self.subTest(result):
                self.refused(NET_LINE, "TypeError: ", "torch.from_numpy(tensor.asnumpy())", result=result)

    def test_value_for_torch_inside_of_a_network_is_a_limit(self):
        run = self.run_script("torch.from_numpy(x.asnumpy())")
        self.assert_rejected(run, 8)
        self.assertIn("the value of a tensor is needed", run.errors()[0])


if __name__ == "__main__":
    unittest.main()
