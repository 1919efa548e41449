"""Checkpoints: nothing is written, missing files are empty."""
import os

from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


def save_checkpoint(save_obj, ckpt_file_name, *args, **kwargs):
    session.warn("checkpoints are not written in a dry run")


def export(net, *inputs, file_name="model", file_format="MINDIR", **kwargs):
    session.warn("models are not exported in a dry run")


def load_checkpoint(ckpt_file_name, net=None, *args, **kwargs):
    if not os.path.exists(ckpt_file_name):
        session.warn("checkpoint '%s' does not exist; the dry run goes on without it" % ckpt_file_name)
    return {}


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    return [], []


def load_distributed_checkpoint(network, *args, **kwargs):
    return None


__getattr__ = module_getattr("mindspore.train.serialization")
