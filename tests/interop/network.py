"""The start-up network of MindSpore's msrun page on generated data of the shape of MNIST."""

import numpy as np

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()
ms.set_seed(1)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(28 * 28, 10, weight_init="normal", bias_init="zeros")
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.fc(self.flatten(x)))


random = np.random.default_rng(7)
images = random.random((256, 1, 28, 28), dtype=np.float32)
labels = random.integers(0, 10, 256).astype(np.int32)
# Not a dataset of MindSpore: those of some releases do not work with the NumPy of today.
own = slice(get_rank(), None, get_group_size())
batches = [(Tensor(images[own][i:i + 32]), Tensor(labels[own][i:i + 32]))
           for i in range(0, len(images[own]), 32)]
net = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(net.trainable_params(), 1e-2)


def forward(image, label):
    return loss_fn(net(image), label)


grad_fn = ms.value_and_grad(forward, None, net.trainable_params())
all_reduce = ops.AllReduce()
size = get_group_size()


@ms.jit
def mean(gradient):
    return all_reduce(gradient) / size


for image, label in batches:
    loss, gradients = grad_fn(image, label)
    optimizer(tuple(mean(gradient) for gradient in gradients))
weights = float(np.abs(net.fc.weight.asnumpy()).sum())
print("RESULT", get_rank(), "%.6f" % weights, flush=True)
print("END OF SCRIPT", flush=True)
