"""Vision transformer: patches by a convolution, class token, learned places, nn.Dense attention; AdamWeightDecay; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

B, H, N, P = 4, 128, 4, 16


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Dense(H, 3 * H), nn.Dense(H, H)
        self.drop = nn.Dropout(p=0.1)

    def construct(self, x):
        b, s, _ = x.shape
        qkv = self.qkv(x).reshape(b, s, 3, N, H // N).transpose(2, 0, 3, 1, 4)
        q, k, v = ops.unstack(qkv, 0)
        p = ops.softmax(ops.matmul(q, k.transpose(0, 1, 3, 2)) * (H // N) ** -0.5, -1)
        y = ops.matmul(self.drop(p), v).transpose(0, 2, 1, 3).reshape(b, s, H)
        return self.out(y)


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.att = nn.LayerNorm((H,)), nn.LayerNorm((H,)), Attention()
        self.mlp = nn.SequentialCell(nn.Dense(H, 4 * H), nn.GELU(), nn.Dense(4 * H, H))

    def construct(self, x):
        x = x + self.att(self.n1(x))
        return x + self.mlp(self.n2(x))


class Vit(nn.Cell):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, H, P, stride=P, pad_mode="valid", has_bias=True)
        self.token = Parameter(initializer("normal", [1, 1, H], ms.float32), name="token")
        self.place = Parameter(initializer("normal", [1, 17, H], ms.float32), name="place")
        self.blocks = nn.SequentialCell(*[Block() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm((H,)), nn.Dense(H, 100)

    def construct(self, x):
        b = x.shape[0]
        y = self.patch(x).reshape(b, H, -1).transpose(0, 2, 1)
        y = ops.concat((ops.tile(self.token, (b, 1, 1)), y), 1) + self.place
        return self.head(self.norm(self.blocks(y))[:, 0])


def rows():
    for _ in range(2):
        yield np.ones([B, 3, 64, 64]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Vit()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3, weight_decay=0.05)
Model(net, loss_fn=nn.CrossEntropyLoss(label_smoothing=0.1), optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
