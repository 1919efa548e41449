"""Every activation once between small cut products; semi_auto."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
B, H = 16, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ws = ms.ParameterTuple([Parameter(initializer("normal", [H, H], ms.float32), name="w%d" % i) for i in range(9)])
        self.mm = [ops.MatMul().shard(((2, 1), (1, 4)) if i % 2 == 0 else ((2, 4), (4, 1))) for i in range(9)]
        self.acts = [ops.Mish(), ops.Softplus(), ops.Softsign(), ops.HSwish(), ops.HSigmoid(), ops.SeLU(), ops.ReLU6(), ops.FastGeLU(), ops.Elu()]

    def construct(self, x):
        for i in range(9):
            x = self.acts[i](self.mm[i](x, self.ws[i]))
        return ops.reduce_mean(ops.log1p(ops.abs(x)) + ops.expm1(-ops.abs(x)) + ops.atan(x) * ops.cos(x) + ops.erf(x))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32))
print('done')
