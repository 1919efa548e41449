"""Runs in an interpreter of its own: one file of the suite (--child), or a look at the stand-in alone (--probe).

    python3 peer_child.py --child|--probe CONFIG
"""
from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import types

from peer_errors import describe_exception
from peer_evidence import EventLog, Hook
from peer_recorder import Recorder, TestTimeout, make_plugin
from peer_substitutes import install_substitutes

HERE = os.path.dirname(os.path.abspath(__file__))


def set_child_path(config):
    keep = [p for p in sys.path if p and os.path.abspath(p) != HERE]
    first = [config["tracer"], config["suite"], os.path.join(config["suite"], "tests", "ut", "python")]
    sys.path[:] = first + [p for p in keep if os.path.abspath(p) not in first]


def child_main(config_path):
    """Runs one file; everything of interest goes to the event log."""
    with open(config_path, encoding="utf-8") as stream:
        config = json.load(stream)
    set_child_path(config)
    log = EventLog(config["events"])
    import pytest  # pylint: disable=import-error

    try:
        importlib.import_module("mindspore")
    except BaseException as exc:  # pylint: disable=broad-except
        fact = describe_exception(exc, types.SimpleNamespace(unsupported=None), config["suite"])
        log.write("collect-error", error=fact)
        return 0
    hook = Hook()
    install_substitutes(config["suite"])

    def on_alarm(signum, frame):
        raise TestTimeout("no result within %s s" % config["timeout"])

    signal.signal(signal.SIGALRM, on_alarm)
    recorder = Recorder(config, log, hook)
    recorder.instruments.wrap_raises(pytest)
    recorder.instruments.wrap_re()
    recorder.instruments.wrap_subprocess()
    pytest.register_assert_rewrite(
        "parallel.utils.utils", "parallel.auto_parallel_interface._utils")
    arguments = [
        "-p", "no:cacheprovider", "-p", "no:warnings", "-q", "--tb=short", "-c", config["ini"],
        "--rootdir", config["suite"], "--confcutdir", config["suite"],
        os.path.join(config["suite"], config["file"]),
    ]
    status = pytest.main(arguments, plugins=[make_plugin(recorder, pytest)])
    log.write("finished", status=int(status))
    return 0


def probe_main(config_path):
    """Looks at the stand-in alone: where it lies, the hook, and the canary."""
    with open(config_path, encoding="utf-8") as stream:
        config = json.load(stream)
    set_child_path(config)
    answer = {"error": None, "file": None, "hook": False, "taxonomy": [], "canary": []}
    try:
        module = importlib.import_module("mindspore")
        answer["file"] = getattr(module, "__file__", None)
        hook = Hook()
        answer["hook"] = hook.present
        if hook.present:
            if hook.unsupported is None:
                answer["taxonomy"].append("mindspore._drydock.Unsupported is missing")
            else:
                for kind in (RuntimeError, ValueError, TypeError, KeyError, IndexError,
                             AttributeError, ImportError):
                    if issubclass(hook.unsupported, kind):
                        answer["taxonomy"].append("Unsupported derives from " + kind.__name__)
        answer["canary"] = canary()
    except BaseException as exc:  # pylint: disable=broad-except
        answer["error"] = "%s: %s" % (type(exc).__name__, exc)
    with open(config["events"], "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    return 0


def canary():
    """Names that cannot exist must not work; otherwise no result means anything."""
    complaints = []
    for owner_name in ("mindspore", "mindspore.nn", "mindspore.ops", "mindspore.common.api"):
        name = "PeerSuiteNoSuchName"
        try:
            owner = importlib.import_module(owner_name)
            thing = getattr(owner, name)
        except Exception:  # pylint: disable=broad-except
            continue
        try:
            thing()
        except Exception:  # pylint: disable=broad-except
            pass
        else:
            complaints.append("%s.%s() returned a value" % (owner_name, name))
        try:
            equal = bool(thing == 4711)
        except Exception:  # pylint: disable=broad-except
            equal = False
        if equal:
            complaints.append("%s.%s equals any number" % (owner_name, name))
    return complaints


if __name__ == "__main__":
    sys.exit(child_main(sys.argv[2]) if sys.argv[1] == "--child" else probe_main(sys.argv[2]))
