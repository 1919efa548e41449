"""Groups of parameters with own decay and rate; exponential rate; parameters frozen."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)

class Layer(nn.Cell):
    def __init__(self, i, o):
        super().__init__()
        self.weight = Parameter(initializer("normal", [i, o], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.mm, self.add, self.act = ops.MatMul().shard(((8, 1), (1, 1))), ops.Add().shard(((8, 1), (1,))), ops.ReLU().shard(((8, 1),))

    def construct(self, x):
        return self.act(self.add(self.mm(x, self.weight), self.bias))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer(128, 256), Layer(256, 256), Layer(256, 128)])
        self.layers[1].weight.requires_grad = False
        self.mean = ops.ReduceMean().shard(((8, 1),))

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.mean(x)


net = Net()
weights = [p for p in net.trainable_params() if "bias" not in p.name]
biases = [p for p in net.trainable_params() if "bias" in p.name]
rate = nn.ExponentialDecayLR(1e-2, 0.9, 10, is_stair=True)
opt = nn.AdamWeightDecay([{"params": weights, "weight_decay": 0.01, "lr": rate}, {"params": biases, "lr": 1e-3}, {"order_params": net.trainable_params()}], 1e-3)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([64, 128]), ms.float32))
print('done')
