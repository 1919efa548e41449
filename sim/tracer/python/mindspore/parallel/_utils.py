"""Internal helpers that user code imports."""
from mindspore import context
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


def _get_parallel_mode():
    return context.get_auto_parallel_context("parallel_mode")


def _get_device_num():
    return context.get_auto_parallel_context("device_num")


def _get_gradients_mean():
    return context.get_auto_parallel_context("gradients_mean")


def _get_pipeline_stages():
    return context.get_auto_parallel_context("pipeline_stages")


def _get_enable_parallel_optimizer():
    return context.get_auto_parallel_context("enable_parallel_optimizer")


def _is_sharding_propagation():
    return context.get_auto_parallel_context("search_mode") == "sharding_propagation"


def _is_in_auto_parallel_mode():
    return context.cuts_operators()


def _get_global_rank():
    return session.rank


def _reset_op_id():
    return None


def _reset_op_id_with_offset():
    return None


__getattr__ = module_getattr(__name__)
