"""Variables of MindSpore that change what a run does, read when a network is recorded: scripts may set them.

Source: mindspore/core/utils/ms_context.cc, mindspore/ccsrc/include/common/runtime_conf/runtime_conf.h (names and values).
"""
import itertools
import os

from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session

_dumps = itertools.count()

# Settings of MS_ALLOC_CONF; those with True are not followed where they are switched on.
_ALLOC = {"acl_allocator": False, "somas_whole_block": True, "enable_vmm": True, "vmm_align_size": True, "memory_recycle": True,
          "memory_tracker": False, "simple_tracker": False, "memory_tracker_path": False, "defrag_memory_step_freq": True,
          "older_pool": True}


def graph_dumps(level, path):
    """save_graphs and its folder: those of the variables win over those of set_context."""
    text = os.environ.get("MS_DEV_SAVE_GRAPHS", "")
    if text:
        if text not in ("0", "1", "2", "3"):
            raise user_error(RuntimeError, "context:save_graphs",
                             "MS_DEV_SAVE_GRAPHS must be 0, 1, 2 or 3, not %r" % text)
        level = int(text)
    return {"save_graphs": level, "save_graphs_path": os.environ.get("MS_DEV_SAVE_GRAPHS_PATH") or path}


def write_dumps(folder, rank, files):
    """The dumps of one compile, in the folder of its rank; numbers count the files of this process, as MindSpore's do."""
    if rank is not None:
        folder = os.path.join(folder, "rank_%d" % rank)
    os.makedirs(folder, exist_ok=True)
    for file in files:
        with open(os.path.join(folder, "%s_%04d.ir" % (file["name"], next(_dumps))), "w", encoding="utf-8") as stream:
            stream.write(file["text"])


def run_settings(jit_level, exec_order, memory_level="O0"):
    """How kernels are made, ordered and given memory."""
    if os.environ.get("PIPELINE_SLICE_SKIP_REDISTRIBUTION") == "1":
        session.warn_limit("PIPELINE_SLICE_SKIP_REDISTRIBUTION: micro batches are cut from the gathered batch")
    return {"jit_level": "O1" if jit_level == "O1" else "O0", "exec_order": exec_order,
            "alloc_conf": ",".join(filter(None, (_alloc_conf(), "memory_optimize_level:O1" if memory_level == "O1" else "")))}


def _alloc_conf():
    text = os.environ.get("MS_ALLOC_CONF", "")
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = item.partition(":")
        if key not in _ALLOC:
            raise user_error(ValueError, "environment:MS_ALLOC_CONF", "MS_ALLOC_CONF has no setting %r" % key,
                             "known: " + ", ".join(_ALLOC))
        if _ALLOC[key] and value.lower() not in ("false", "0"):
            session.warn_limit("MS_ALLOC_CONF=%s: the pool of device memory is the one without it" % item)
    return text
