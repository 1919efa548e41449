"""mindspore.hal: the devices of a dry run are those of the job."""
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import RANKS_PER_NODE, session


def is_initialized(device_target):
    return True


def is_available(device_target):
    from mindspore import context
    return device_target == context.get_context("device_target")


def device_count(device_target=None):
    return min(RANKS_PER_NODE, session.world_size)


def max_memory_allocated(device_target=None):
    """Nothing is allocated; what a job needs is in the reports."""
    return 0


max_memory_reserved = memory_allocated = memory_reserved = max_memory_allocated


def synchronize():
    """Nothing runs that could be waited for."""


def empty_cache():
    """Nothing is kept."""


def get_device_name(device_id=0, device_target=None):
    from mindspore import context
    return device_target or context.get_context("device_target")


def get_device_capability(device_id=0, device_target=None):
    return (0, 0)


class _Properties:
    """Name, memory and version of a device."""

    def __init__(self, name):
        self.name, self.major, self.minor = name, 0, 0
        self.total_memory = self.free_memory = 64 << 30
        self.is_integrated, self.is_multi_gpu_board, self.multi_processor_count, self.warp_size = False, False, 0, 0


def get_device_properties(device_id=0, device_target=None):
    """What a device says of itself; memory is that of a 64 GiB device."""
    return _Properties(get_device_name(device_id, device_target))


__getattr__ = module_getattr(__name__, {"current_stream": "mindspore.runtime", "Stream": "mindspore.runtime",
                                        **{name: "mindspore.runtime" for name in (
                                            "Event", "communication_stream", "memory_stats", "memory_summary", "set_cur_stream",
                                            "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats")},
                                        "StreamCtx": "mindspore.runtime", "default_stream": "mindspore.runtime"})
