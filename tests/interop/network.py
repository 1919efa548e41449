"""The start-up network of MindSpore's msrun page on generated data of the shape of MNIST."""

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
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
data = ds.NumpySlicesDataset((images, labels), shuffle=False, num_shards=get_group_size(),
                             shard_id=get_rank()).batch(32)
net = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(net.trainable_params(), 1e-2)
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, net.trainable_params())
all_reduce = ops.AllReduce()


@ms.jit
def mean(gradient):
    return all_reduce(gradient) / get_group_size()


for image, label in data.create_tuple_iterator():
    loss, gradients = grad_fn(image, label)
    optimizer(tuple(mean(gradient) for gradient in gradients))
weights = float(np.abs(net.fc.weight.asnumpy()).sum())
print("RESULT", get_rank(), "%.6f" % weights, flush=True)
