"""Two stages that pass on two values, as experts pass on the balance of their use."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2)
B, H, F, DP, MP = 64, 128, 256, 2, 2


class Ffn(nn.Cell):
    """Two products with GeLU between them; the input is added."""
    def __init__(self, h, f):
        super().__init__()
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

        self.balance = ops.ReduceMean(keep_dims=True).shard(((DP, 1),))
        self.add_aux = ops.Add().shard(((1, 1), (1, 1)))

    def construct(self, x, aux):
        wide = self.act(self.first(x, self.up))
        y = self.add(x, self.second(wide, self.down))
        return y, self.add_aux(aux, self.balance(x, 0))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.zero = Tensor(np.zeros([1, H]).astype(np.float32))
        self.mean_of_aux = ops.ReduceMean().shard(((1, 1),))
        self.sum_of_losses = ops.Add().shard(((), ()))
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i * 2 // 4
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        aux = self.zero
        for c in self.blocks:
            x, aux = c(x, aux)
        return self.sum_of_losses(self.mean(self.square(x)), self.mean_of_aux(aux))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
