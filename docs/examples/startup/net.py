"""Data-parallel training of a small MNIST classifier with a hand-written loop.

    msrun --sim_level=1 --worker_num=8 net.py

DATA_PATH names the folder with the MNIST files (train-images-idx3-ubyte, ...). A dry run needs no
files: without DATA_PATH it makes up rows of the same form.
"""
import os
import sys

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
init()
ms.set_seed(1)


class Network(nn.Cell):
    """One dense layer on the flattened image."""

    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(28 * 28, 10, weight_init="normal", bias_init="zeros")
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.fc(self.flatten(x)))


def data_folder():
    """DATA_PATH, checked: a folder that exists must hold the training files."""
    folder = os.getenv("DATA_PATH")
    if folder and os.path.isdir(folder) and not any(n.startswith("train-images") for n in os.listdir(folder)):
        sys.exit("DATA_PATH: folder '%s' holds no MNIST files (train-images-idx3-ubyte ...)" % folder)
    return folder


def create_dataset(batch_size):
    """This rank's share of MNIST, in batches."""
    dataset = ds.MnistDataset(data_folder(), num_shards=get_group_size(), shard_id=get_rank())
    to_float = [ds.vision.Rescale(1.0 / 255.0, 0),
                ds.vision.Normalize(mean=(0.1307,), std=(0.3081,)),
                ds.vision.HWC2CHW()]
    dataset = dataset.map(to_float, "image")
    dataset = dataset.map(ds.transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size)


net = Network()
data_set = create_dataset(32)
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(net.trainable_params(), 1e-2)


def forward_fn(data, label):
    logits = net(data)
    return loss_fn(logits, label), logits


grad_fn = ms.value_and_grad(forward_fn, None, net.trainable_params(), has_aux=True)
grad_reducer = nn.DistributedGradReducer(optimizer.parameters)

for epoch in range(10):
    for step, (data, label) in enumerate(data_set):
        (loss, _), grads = grad_fn(data, label)
        grads = grad_reducer(grads)
        optimizer(grads)
        if step % 10 == 0:
            print("epoch: %s, step: %s, loss is %s" % (epoch, step, loss))
