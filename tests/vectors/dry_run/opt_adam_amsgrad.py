"""Two cut products, optimizer nn.Adam."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, DP, MP = 64, 256, 1024, 2, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.bias = Parameter(initializer("zeros", [H], ms.float32), name="bias")
        self.first, self.act = ops.MatMul().shard(((DP, 1), (1, MP))), ops.ReLU().shard(((DP, MP),))
        self.second, self.plus = ops.MatMul().shard(((DP, MP), (MP, 1))), ops.Add().shard(((DP, 1), (1,)))
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        return self.mean(self.square(self.plus(self.second(self.act(self.first(x, self.up)), self.down), self.bias)))


def rows():
    for _ in range(2):
        yield (np.ones([B, H]).astype(np.float32),)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3, use_amsgrad=True)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
