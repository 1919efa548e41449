"""Context parallel, optimizer sharded over the replicas."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0})
B, S, H, NH, DP, CP, MP = 1024, 256, 512, 8, 2, 2, 2


class Attention(nn.Cell):
    """Queries cut along the sequence, keys and values gathered."""
    def __init__(self, h):
        super().__init__()
        self.h, self.size = h, h // NH
        for name in ("wq", "wk", "wv", "wo"):
            setattr(self, name, Parameter(initializer("normal", [h, h], ms.float32), name=name))
        self.column = ops.MatMul(transpose_b=True).shard(((DP * CP, 1), (MP, 1)))
        self.row = ops.MatMul(transpose_b=True).shard(((DP * CP, MP), (1, MP)))
        self.reshape = ops.Reshape()
        self.turn = ops.Transpose().shard(((DP, CP, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, CP, 1),))
        self.flash = ops.operations.nn_ops.FlashAttentionScore(head_num=NH, input_layout="BNSD", scale_value=0.125).shard(((DP, MP, CP, 1), (DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.add = ops.Add().shard(((DP * CP, 1), (DP * CP, 1)))

    def heads(self, x, w):
        x = self.column(x, ops.cast(w, ms.float16))
        return self.turn(self.reshape(x, (-1, S, NH, self.size)), (0, 2, 1, 3))

    def construct(self, x):
        y = ops.cast(x, ms.float16)
        _, _, _, a = self.flash(self.heads(y, self.wq), self.heads(y, self.wk), self.heads(y, self.wv))
        a = self.reshape(self.back(a, (0, 2, 1, 3)), (-1, self.h))
        return self.add(x, ops.cast(self.row(a, ops.cast(self.wo, ms.float16)), ms.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Attention(H) for _ in range(2)])
        self.square = ops.Square().shard(((DP * CP, 1),))
        self.mean = ops.ReduceMean().shard(((DP * CP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
