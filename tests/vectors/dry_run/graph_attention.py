"""Graph convolution: gather of senders, unsorted_segment_sum to receivers, degree by tensor_scatter_add, leaky ReLU, attention by segment max."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
N, E, H = 512, 2048, 64


class Layer(nn.Cell):
    def __init__(self, h_in, h_out):
        super().__init__()
        self.lin = nn.Dense(h_in, h_out)
        self.att = Parameter(initializer("normal", [h_out], ms.float32))

    def construct(self, x, src, dst):
        y = self.lin(x)
        m = ops.gather(y, src, 0)
        e = ops.leaky_relu((m * self.att).sum(-1), 0.2)
        top = ops.unsorted_segment_max(e, dst, N)
        w = ops.exp(e - ops.gather(top, dst, 0))
        total = ops.unsorted_segment_sum(w, dst, N)
        a = w / (ops.gather(total, dst, 0) + 1e-6)
        return ops.unsorted_segment_sum(m * a.expand_dims(-1), dst, N)


class Gat(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = Layer(H, 128), Layer(128, H)
        self.deg = Tensor(np.zeros([N]), ms.float32)

    def construct(self, x, src, dst, y):
        deg = ops.tensor_scatter_add(self.deg, dst.expand_dims(-1), ops.ones_like(dst).astype(ms.float32))
        h = ops.elu(self.a(x, src, dst))
        h = self.b(h, src, dst) * ops.rsqrt(deg + 1.0).expand_dims(-1)
        return ops.cross_entropy(h, y)


net = Gat()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2, weight_decay=5e-4))
step.set_train()
e = Tensor(np.zeros([E]), ms.int32)
for _ in range(2):
    step(Tensor(np.ones([N, H]), ms.float32), e, e, Tensor(np.zeros([N]), ms.int32))
print('done')
