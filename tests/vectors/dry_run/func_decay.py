"""A training function in data parallel: Adam with decay, smoothed labels."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='data_parallel', gradients_mean=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(64, 128, activation="sigmoid"), nn.Dense(128, 10)

    def construct(self, x):
        return self.b(self.a(x))


net = Net()
net.set_train()
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
opt = nn.Adam(net.trainable_params(), 1e-3, weight_decay=0.01)
reducer = nn.DistributedGradReducer(opt.parameters)


def forward(x, y):
    logits = net(x)
    return loss_fn(logits, y), logits


grad = ms.value_and_grad(forward, None, opt.parameters, has_aux=True)


@ms.jit
def train(x, y):
    (loss, _), grads = grad(x, y)
    grads = reducer(grads)
    return ops.depend(loss, opt(grads))


for _ in range(2):
    train(Tensor(np.ones([32, 64]).astype(np.float32)), Tensor(np.ones([32]).astype(np.int32)))
print('done')
