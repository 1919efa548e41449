"""Gradients clipped one by one by norm with ClipByNorm-like code of model zoo (ops.clip_by_value mapped by HyperMap); own step cell with loss scale."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 16, 256
clip = ops.MultitypeFuncGraph("clip")


@clip.register("Number", "Tensor")
def _clip(value, grad):
    t = ops.dtype(grad) if hasattr(ops, "dtype") else grad.dtype
    return ops.clip_by_value(grad, ops.cast(ops.tuple_to_array((-value,)), t), ops.cast(ops.tuple_to_array((value,)), t))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 512, activation="tanh"), nn.Dense(512, H)

    def construct(self, x, y):
        return nn.MSELoss()(self.b(self.a(x)), y)


class Step(nn.TrainOneStepCell):
    def __init__(self, net, opt, scale=1024.0):
        super().__init__(net, opt, scale)
        self.hyper = ops.HyperMap()

    def construct(self, x, y):
        loss = self.network(x, y)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(x, y, sens)
        grads = self.hyper(ops.partial(clip, 1.0), grads)
        grads = self.grad_reducer(grads)
        return ops.depend(loss, self.optimizer(grads))


net = Net()
step = Step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
x = Tensor(np.ones([B, H]), ms.float32)
step(x, x)
print('done')
