"""A Llama block, cut over 8 ranks as PyTorch's own tensor-parallel plans cut it; for `drydock from-torch`."""
import torch
from torch import nn

B, S, H, N, F = 4, 128, 512, 8, 1376


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(H))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = RmsNorm(), RmsNorm()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(H, H, bias=False) for _ in range(4))
        self.w1, self.w3 = (nn.Linear(H, F, bias=False) for _ in range(2))
        self.w2 = nn.Linear(F, H, bias=False)

    def heads(self, x):
        return x.view(B, S, N, H // N).transpose(1, 2)

    def forward(self, x):
        y = self.attention_norm(x)
        q, k, v = self.heads(self.wq(y)), self.heads(self.wk(y)), self.heads(self.wv(y))
        scores = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.125, -1)
        x = x + self.wo(torch.matmul(scores, v).transpose(1, 2).reshape(B, S, H))
        y = self.ffn_norm(x)
        return x + self.w2(nn.functional.silu(self.w1(y)) * self.w3(y))


def drydock_model():
    plan = {"wq": "colwise", "wk": "colwise", "wv": "colwise", "wo": "rowwise", "w1": "colwise", "w3": "colwise", "w2": "rowwise"}
    return Block(), (torch.ones(B, S, H),), plan
