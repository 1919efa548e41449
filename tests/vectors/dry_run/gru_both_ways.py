"""GRU cells, bidirectional by ops.flip, attention pooling; RMSProp."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, T, H = 16, 8, 64


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.f, self.b = nn.GRUCell(H, H), nn.GRUCell(H, H)
        self.score = nn.Dense(2 * H, 1)
        self.out = nn.Dense(2 * H, 5)

    def construct(self, x, y):
        r = ops.flip(x, (1,))
        hf = hb = ops.zeros((x.shape[0], H), ms.float32)
        a, b = (), ()
        for t in range(T):
            hf, hb = self.f(x[:, t], hf), self.b(r[:, t], hb)
            a += (hf,)
            b += (hb,)
        s = ops.concat((ops.stack(a, 1), ops.flip(ops.stack(b, 1), (1,))), -1)
        w = ops.softmax(self.score(s), 1)
        return ops.cross_entropy(self.out((s * w).sum(1)), y)


net = Net()
step = nn.TrainOneStepCell(net, nn.RMSProp(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, T, H]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
