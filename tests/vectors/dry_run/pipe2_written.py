"""Two stages whose graph writes parameters in each micro batch: a counter is set to zero, read twice and counted up."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2)
B, H, DP, MP = 64, 128, 2, 2


class Dense(nn.Cell):
    """Product with a weight, counted."""
    def __init__(self, h):
        super().__init__()
        self.weight = Parameter(initializer("normal", [h, h], ms.float32), name="weight")
        self.count = Parameter(initializer("zeros", [1], ms.float32), name="count", requires_grad=False)
        self.zero, self.one = Tensor([0.0], ms.float32), Tensor([1.0], ms.float32)
        self.product = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.times = ops.Mul().shard(((DP, MP), (1,)))
        self.set = ops.Assign()
        self.add_to = ops.AssignAdd()

    def construct(self, x):
        x = ops.depend(x, self.set(self.count, self.zero))
        y = self.times(self.product(x, self.weight), ops.relu(self.count))
        y = ops.depend(y, self.add_to(self.count, self.one))
        return self.times(y, ops.relu(self.count))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Dense(H) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i // 2
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


class Step(nn.Cell):
    """The loss, then the gradients of the same call, divided by a scale."""
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
        self.weights = self.optimizer.parameters
        self.scale = Parameter(Tensor(1024.0, ms.float32), name="scale", requires_grad=False)
        self.grad = ops.GradOperation(get_by_list=True)
        self.reducer = nn.PipelineGradReducer(self.weights)
        self.divide = ops.RealDiv()

    def construct(self, x):
        loss = self.network(x)
        grads = self.reducer(self.grad(self.network, self.weights)(x))
        parts = ()
        for one in grads:
            parts += (self.divide(one, self.scale),)
        return ops.depend(loss, self.optimizer(parts))


step = Step(nn.PipelineCell(Net(), 4))
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32))
print('done')
