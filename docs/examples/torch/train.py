"""Data-parallel training of a small network, as any PyTorch script does it."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
net = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.manual_seed(2)
inputs = torch.randn(8, 4)
targets = inputs.sum(1, keepdim=True)
share = slice(rank * 8 // size, (rank + 1) * 8 // size)
for step in range(5):
    loss = torch.nn.functional.mse_loss(net(inputs[share]), targets[share])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    print("loss %.6f" % (mean.item() / size), flush=True)
dist.destroy_process_group()
