"""Step of one's own: value_and_grad, exponential moving average of the weights by ops.assign, gradients clipped by the global norm."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(H, 512), nn.SiLU(), nn.Dense(512, H), nn.LayerNorm((H,)), nn.Dense(H, 10))

    def construct(self, x):
        return self.body(x)


net = Net()
loss_fn = nn.CrossEntropyLoss()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3, weight_decay=0.01)
ema = opt.parameters.clone(prefix="ema", init="same")
reduce = nn.DistributedGradReducer(opt.parameters)


def forward(x, y):
    return loss_fn(net(x), y)


grad_fn = ms.value_and_grad(forward, None, opt.parameters)


@ms.jit
def step(x, y):
    loss, grads = grad_fn(x, y)
    grads = reduce(grads)
    grads = ops.clip_by_global_norm(grads, 1.0)
    loss = ops.depend(loss, opt(grads))
    for e, p in zip(ema, opt.parameters):
        ops.assign(e, 0.99 * e + 0.01 * p)
    return loss


net.set_train()
for _ in range(2):
    step(Tensor(np.ones([B, H]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
