"""Run-time settings; the memory limit is kept for the report."""
from mindspore._drydock.lazy import module_getattr


def set_memory(init_size="2GB", increase_size="2GB", max_size="1024GB", optimize_level="O0",
               huge_page_reserve_size="0GB"):
    from mindspore import context
    context.set_context(max_device_memory=max_size, memory_optimize_level=optimize_level)


def synchronize():
    return None


def set_cpu_affinity(*args, **kwargs):
    return None


def set_kernel_launch_group(*args, **kwargs):
    return None


def memory_stats(*args, **kwargs):
    return {}


def _nothing(*args, **kwargs):
    return 0


def dispatch_threads_num(threads_num):
    """Branches of a network are graphs of their own with one thread."""
    from mindspore import context
    context.set_context(runtime_num_threads=threads_num)


max_memory_allocated = max_memory_reserved = memory_allocated = memory_reserved = empty_cache = _nothing
launch_blocking = set_kernel_launch_capture = _nothing

reset_peak_memory_stats = reset_max_memory_allocated = reset_max_memory_reserved = set_cur_stream = _nothing


class Stream:
    """A queue of kernels; a dry run launches none."""

    def __init__(self, priority=0, **kwargs):
        self.id = 0

    def synchronize(self):
        """Nothing runs that could be waited for."""

    def wait_event(self, event):
        """Nothing runs that could be waited for."""

    wait_stream = wait_event

    def record_event(self, event=None):
        return event

    def query(self):
        return True


class Event:
    """A mark between kernels; a dry run launches none."""

    def __init__(self, enable_timing=False, blocking=False):
        self._timed = enable_timing

    def record(self, stream=None):
        """Nothing runs that could be marked."""

    wait = record

    def synchronize(self):
        """Nothing runs that could be waited for."""

    def query(self):
        return True

    def elapsed_time(self, end_event):
        """A millisecond: a time that can be divided by."""
        return 1.0


class StreamCtx:
    """with StreamCtx(stream): kernels go into that queue; nothing changes here."""

    def __init__(self, ctx_stream):
        self.stream = ctx_stream

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return None


def memory_summary():
    """Nothing is allocated that could be summed up."""
    return ""


def set_device_limit(device, cube_num=-1, vector_num=-1):
    """Cores that kernels may use: no result depends on them."""


def set_stream_limit(stream, cube_num=-1, vector_num=-1):
    """Cores that kernels of a queue may use: no result depends on them."""


def reset_stream_limit(stream):
    """See set_stream_limit."""


def current_stream():
    return Stream()


default_stream = communication_stream = current_stream

__getattr__ = module_getattr(__name__)
