"""CLIP: two towers, features gathered from all ranks by AllGather, symmetric cross entropy with a learned temperature; AdamWeightDecay."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.communication import init, get_rank

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H, D = 16, 192, 64


class Tower(nn.Cell):
    def __init__(self, inner):
        super().__init__()
        self.up, self.down = nn.Dense(H, inner), nn.Dense(inner, D, has_bias=False)
        self.norm = nn.LayerNorm((H,))
        self.act = nn.GELU(False)

    def construct(self, x):
        y = self.down(self.act(self.up(self.norm(x))))
        return y / ops.norm(y, dim=-1, keepdim=True)


class Clip(nn.Cell):
    def __init__(self):
        super().__init__()
        self.image, self.text = Tower(512), Tower(256)
        self.scale = Parameter(Tensor(np.log(1 / 0.07), ms.float32), name="scale")
        self.gather = ops.AllGather()
        self.rank = get_rank()
        self.labels = Tensor(np.arange(B) + B * self.rank, ms.int32)

    def construct(self, image, text):
        u, v = self.image(image), self.text(text)
        all_u, all_v = self.gather(u), self.gather(v)
        scale = ops.exp(self.scale)
        a = scale * ops.matmul(u, all_v.T)
        b = scale * ops.matmul(v, all_u.T)
        return (ops.cross_entropy(a, self.labels) + ops.cross_entropy(b, self.labels)) / 2


net = Clip()
opt = nn.AdamWeightDecay(net.trainable_params(), learning_rate=1e-3, weight_decay=0.1)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
x = Tensor(np.ones([B, H]), ms.float32)
step(x, x)
print('done')
