"""What MindSpore has: tells a mistake of the script from a gap of the stand-in.

`nn.CrossEntropyLos` is in no MindSpore: AttributeError, as there, with the nearest name. `nn.LSTM` is, and the stand-in does
not have it: Unsupported when it is used. names.txt (made by tests/peer/list_names.py) lists one release; where an older one
is asked for, nothing is taken for a mistake.
"""
import functools
import os
import sys

from mindspore._drydock.session import session

# What MindSpore calls the things that PyTorch has under these names.
_OF_TORCH = {"Module": "Cell", "ModuleList": "CellList", "ModuleDict": "CellDict", "Sequential": "SequentialCell", "BatchNorm": "BatchNorm2d",
             "ConvTranspose1d": "Conv1dTranspose", "ConvTranspose2d": "Conv2dTranspose", "ConvTranspose3d": "Conv3dTranspose",
             "no_grad": "stop_gradient", "cuda": "hal", "FloatTensor": "Tensor", "DataLoader": "GeneratorDataset", "AdamW": "AdamWeightDecay",
             "TensorDataset": "NumpySlicesDataset", "backward": "value_and_grad"}
_OLDEST = (2, 8)  # releases from here on have what is listed
_lists = {}       # "modules", "names", "methods" -> {name: set of words}


def _read():
    if not _lists:
        _lists.update(modules={}, names={}, methods={})
        words = set()
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.txt"), encoding="utf-8") as file:
            for line in file:
                head, _, rest = line.partition(":") if line[0] not in " #" else ("", "", line)
                if head:
                    kind, name = head.split()
                    words = _lists[kind].setdefault(name, set())
                if line[0] != "#":
                    words.update(rest.split())
    return _lists


def is_listed_release():
    """False where an older release is asked for than the one that is listed."""
    text = session.compat or session.release
    try:
        return not text or tuple(int(part) for part in text.split(".")[:2]) >= _OLDEST
    except ValueError:
        return True


def lacks_module(full_name):
    """True if MindSpore has no module of that name; private ones come and go with every release."""
    if any(part.startswith("_") for part in full_name.split(".")):
        return False
    package, _, name = full_name.rpartition(".")
    modules = _read()["modules"]
    return (package not in modules or name not in modules[package]) and is_listed_release()


def is_module(full_name):
    """True if MindSpore has a module of that name."""
    package, _, name = full_name.rpartition(".")
    return name in _read()["modules"].get(package, ())


def is_package(full_name):
    return full_name in _read()["modules"]


def lacks(places, name):
    """True if MindSpore has the name in none of these modules; False where the first is not listed."""
    lists = _read()
    known = [lists["names"].get(place) for place in places]
    generated = places[0].endswith("_pb2")  # such modules make their names when they are imported
    if name.startswith("_") or not known[0] or generated or not is_listed_release():
        return False
    return not any(name in (found or ()) or name in lists["modules"].get(place, ()) for place, found in zip(places, known))


def is_hidden(place, name):
    """True if a script asks a module for a name that MindSpore's does not have; the stand-in's own modules may have more.

    Called by the module's __getattr__.
    """
    if not lacks((place,), name):
        return False
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib."):
        frame = frame.f_back
    asker = frame.f_globals.get("__name__", "") if frame is not None else ""
    return asker != "mindspore" and not asker.startswith("mindspore.")


def has_name(place, name):
    """True if a module of MindSpore has a public name."""
    return not name.startswith("_") and name in _read()["names"].get(place, ())


def has_method(kind, name):
    return name in _read()["methods"][kind]


def nearest(places, name):
    """A hint with the nearest name of these modules or of this class; "" if none is near."""
    return _nearest(tuple(places), name)


@functools.lru_cache(maxsize=None)
def _nearest(places, name):  # scripts ask hasattr() of every tensor
    import difflib  # here, since it is slow to import and rarely needed
    lists = _read()
    known = set()
    for place in places:
        for kind in lists.values():
            known |= kind.get(place, set())
    spelt = sorted(other for other in known if other.lower() == name.lower())
    if spelt:
        return "did you mean '%s'?" % spelt[0]
    of_torch = _OF_TORCH.get(name)
    if of_torch in known:
        return "that is PyTorch's name: did you mean '%s'?" % of_torch
    found = difflib.get_close_matches(name, sorted(known), 5)
    found.sort(key=lambda other: (other.lower() != name.lower(), other[:1].isupper() != name[:1].isupper()))  # stable: else by nearness
    return "did you mean '%s'?" % found[0] if found else ""


# What PyTorch's modules and optimizers have under these names.
_OF_MODULES = {"forward": "construct() is what a Cell computes", "parameters": "did you mean 'get_parameters'?", "train": "use set_train()",
               "eval": "use set_train(False)", "cuda": "mindspore.set_device() says where networks run",
               "children": "did you mean 'cells'?", "modules": "did you mean 'cells_and_names'?",
               "named_parameters": "did you mean 'parameters_and_names'?", "step": "an optimizer is called with the gradients: optimizer(gradients)",
               "zero_grad": "gradients are results of value_and_grad(), nothing has to be set to zero"}


def near_attribute(owner, name):
    """A hint with the attribute of a cell that a missing one may have been meant for."""
    import difflib
    own = [known for known in list(owner._cells) + list(owner._params) + list(vars(owner)) if not known.startswith("_")]
    near = difflib.get_close_matches(name, own, 1)
    if near:
        return "did you mean '%s'?" % near[0]
    return _OF_MODULES.get(name) or nearest(("mindspore.nn.Cell", "mindspore.nn.Optimizer"), name)


def missing(places, name):
    """The error of a name that MindSpore does not have either."""
    error = AttributeError("module '%s' has no attribute '%s'" % (places[0], name))
    error.drydock_reason = "script:no-such-name"
    error.drydock_hint = nearest(places, name)
    return error
