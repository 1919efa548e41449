"""Runs a user's script with the stand-in `mindspore` package and writes down what it recorded.

    python drydock_run.py RESULT_FOLDER [-m] SCRIPT [ARGUMENT ...]

Result: RESULT_FOLDER/result.json, written last and in one step, and one graph document per recorded
program beside it. Without result.json the script did not come to an end.
"""
import json
import os
import re
import sys

RESULT_VERSION = 1
NO_SUCH_NAME = re.compile(r"cannot import name '(\w+)' from '(mindspore[\w.]*)'")
ADDRESS = re.compile(r" at 0x[0-9a-f]+>")  # another one in each run
TENSOR_GIVEN_TO_TORCH = re.compile(r"(must be|expected) Tensor\b.*\b(not|got) (Tensor|Parameter)\b")


def installed_release():
    """Release of a real MindSpore that this interpreter has, from the names of its metadata folders."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        if os.path.abspath(folder) == here or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            stem, extension = os.path.splitext(name)
            base, _, release = stem.partition("-")
            if extension in (".dist-info", ".egg-info") and release and base.lower().startswith("mindspore"):
                if base.lower() in ("mindspore", "mindspore_gpu", "mindspore_ascend", "mindspore_cpu"):
                    return release.split("-")[0]
    return ""


def bytecode_folder(package):
    """Where to keep the package's bytecode: None for the usual place, which is there already or can be written."""
    compiled = os.path.join(package, "__pycache__", "__init__.%s.pyc" % sys.implementation.cache_tag)
    if os.path.exists(compiled) or os.access(package, os.W_OK):
        return None
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "drydock", "bytecode") if os.path.isabs(cache) else None


def import_stand_in():
    """Imports the package so that the next run of this interpreter need not compile it."""
    saved = sys.pycache_prefix
    sys.pycache_prefix = saved or bytecode_folder(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mindspore"))
    try:
        import mindspore  # noqa: F401
    finally:
        sys.pycache_prefix = saved


def run_script(path, arguments, is_module=False):
    """Executes the script as the main program."""
    main = type(sys)("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [path] + arguments
    here = os.path.dirname(os.path.abspath(__file__))
    if is_module or not os.path.exists(path):
        return run_module(path, here)
    sys.path[:] = [here, os.path.dirname(os.path.abspath(path))] + [p for p in sys.path if p != here]
    with open(path, "rb") as file:
        source = file.read()
    if b"\0" in source:  # a ValueError before Python 3.12
        line = source.count(b"\n", 0, source.index(b"\0")) + 1
        raise SyntaxError("a script cannot contain null bytes", (path, line, 1, ""))
    from mindspore._drydock import rank_numbers
    exec(rank_numbers.code_of(source, path), main.__dict__)


def run_module(name, here):
    """`msrun pytest -s net.py`: a module of the interpreter runs the script."""
    import importlib.util
    import runpy
    sys.path[:] = [here, os.getcwd()] + [p for p in sys.path if p != here]
    try:
        found = importlib.util.find_spec(name)
    except ImportError:  # its package is missing
        found = None
    if found is None:
        error = FileNotFoundError("script '%s': no such file, and %s has no module of that name" % (name, sys.executable))
        error.drydock_reason = "script:unreadable"
        import difflib
        near = difflib.get_close_matches(name + ".py", [file for file in sorted(os.listdir()) if file.endswith(".py")], 1)
        if name in ("bash", "sh", "zsh", "source", "env", "numactl", "taskset", "mpirun", "torchrun"):
            error.drydock_hint = "give the path of a Python script, the one that '%s' starts in the end" % name
        else:
            error.drydock_hint = "did you mean '%s'?" % near[0] if near else "give the path of a Python script"
        raise error
    return runpy.run_module(name, run_name="__main__", alter_sys=True)


def error_fields(error):
    """An exception as the launcher reads it: family, text, place, the user's frames."""
    from mindspore._drydock import frames
    from mindspore._drydock.errors import TracerDefect, Unsupported
    places = frames.traceback_places(error.__traceback__)
    family = "unsupported" if isinstance(error, Unsupported) or of_zeros(error) else (
        "internal" if isinstance(error, TracerDefect) or not (places or hasattr(error, "drydock_reason") or
                                                             type(error).__name__ == "BdbQuit" or
                                                             isinstance(error, (SyntaxError, OSError)))
        else "user")
    fields = {"family": family, "type": type(error).__name__, "message": message_of(error),
              "hint": getattr(error, "drydock_hint", ""), "reason": getattr(error, "drydock_reason", ""),
              "notes": list(getattr(error, "drydock_notes", [])), "frames": places}
    if isinstance(error, SyntaxError):
        fields["place"] = {"file": frames.short_name(error.filename or sys.argv[0]), "line": error.lineno or 0,
                           "column": error.offset or 0, "text": (error.text or "").rstrip("\n")}
        fields["message"] = error.msg
    else:
        fields["place"] = getattr(error, "drydock_place", None) or (places[0] if places else None)
    if family != "internal":
        fields["notes"] += cause_notes(error, places)
    if family == "internal":
        import traceback
        fields["notes"] += traceback.format_exception(type(error), error, error.__traceback__)
    return fields


def cause_notes(error, places):
    """Where an exception came from that was raised while another one was handled."""
    from mindspore._drydock import frames
    notes = []
    while len(notes) < 4:
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is None:
            break
        first = (frames.traceback_places(error.__traceback__) or [None])[0]
        if first is not None and first not in places:
            notes.append("first raised at %s:%d: %s" % (first["file"], first["line"], one_line(error)))
    return notes


def one_line(error):
    text = message_of(error)
    return type(error).__name__ + (": " + text.splitlines()[0] if text.strip() else "")


def of_zeros(error):
    """True for exceptions that computed values cause, all of which are zeros, where the script looked at some."""
    from mindspore._drydock.session import session
    return session.read_zeros and (isinstance(error, (ZeroDivisionError, AssertionError, FloatingPointError)) or of_a_branch(error))


def of_a_branch(error):
    """True for a name that the script sets somewhere, but not on the way that it took."""
    if not isinstance(error, NameError):
        return False
    import linecache
    import re
    from mindspore._drydock import frames
    named, trace, file = re.search(r"'(\w+)'", str(error)), error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        file = code.co_filename if frames.is_user_file(code.co_filename) else file
        trace = trace.tb_next
    setting = re.compile(r"\b(?:for\s+)?%s\s*(?:=[^=]|,[^()]*=[^=]|in\b)" % named.group(1)) if named else None
    return setting is not None and any(setting.search(line) for line in linecache.getlines(file))


def message_of(error):
    if of_zeros(error):
        return "%s: %s" % (type(error).__name__, error) if str(error) else type(error).__name__
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    if isinstance(error, ImportError) and NO_SUCH_NAME.match(str(error)):
        return NO_SUCH_NAME.match(str(error)).group()  # without the path of the stand-in
    return ADDRESS.sub(">", str(error))


def _where_is(path):
    """Where a file that is not there was looked for, and where one of its name is."""
    name = os.path.basename(path)
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name)
    if name and os.path.exists(beside) and not os.path.isabs(path):
        return "'%s' is in the folder of the script, but is looked for in %s: start msrun there, or give the whole path" % (
            name, os.getcwd())
    if os.path.isabs(path):
        return "put the file there, or give the path of one that is there"
    return "it is looked for in %s, where msrun was started: give the whole path, or start msrun in its folder" % os.getcwd()


def add_hint(fields, error):
    """Remedies for what often goes wrong outside of the stand-in."""
    from mindspore._drydock import config_lines, remedies, script_kind
    from mindspore._drydock.errors import ZEROS_HINT
    from mindspore._drydock.packages import folder_with, interpreter_with, module_of
    package = error.name.split(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
    instead = script_kind.hint(sys.argv[0], error)
    if instead:
        fields["hint"] = instead
        fields["message"] = "%s is not a Python script (%s)" % (os.path.basename(sys.argv[0]), fields["message"])
        fields["type"] = "SyntaxError"
        fields["reason"] = "script:not-python"
    elif package == "mindspore":
        from mindspore._drydock import names
        fields["hint"] = names.nearest([error.name.rpartition(".")[0]], error.name.rpartition(".")[2])
        fields["reason"] = "script:no-such-name"
    elif isinstance(error, ImportError) and NO_SUCH_NAME.match(str(error)):
        from mindspore._drydock import names
        name, module = NO_SUCH_NAME.match(str(error)).groups()
        fields["hint"] = fields["hint"] or names.nearest([module], name)
        fields["reason"] = "script:no-such-name"
    elif isinstance(error, ImportError) and str(error).startswith("attempted relative import"):
        folder, module = module_of(sys.argv[0])
        fields["hint"] = "run it as a module of its package: %smsrun [flags] python3 -m %s" % (
            "" if folder == os.curdir else "cd %s; " % folder, module)
        fields["reason"] = "script:missing-module"
    elif package and not fields["hint"] and folder_with(package):
        folder = folder_with(package)
        fields["hint"] = "'%s' is in %s, which Python does not search: set PYTHONPATH=%s" % (
            package, "the current folder" if folder == os.curdir else "folder " + folder, folder)
        fields["reason"] = "script:missing-module"
    elif isinstance(error, ModuleNotFoundError) and not fields["hint"]:
        other = interpreter_with(package)
        fields["hint"] = "install '%s' for %s, or " % (error.name, sys.executable) + (
            "use an interpreter that has it: --python=%s" % other if other else "choose another interpreter with --python")
        fields["reason"] = "script:missing-module"
    elif isinstance(error, AttributeError) and hasattr(error, "drydock_missing"):
        from mindspore._drydock import names
        fields["hint"] = fields["hint"] or names.near_attribute(*error.drydock_missing)
    elif isinstance(error, (ImportError, AttributeError)) and script_kind.hidden_module(error):
        name = script_kind.hidden_module(error)
        fields["hint"] = "'%s.py' in the folder of the script hides Python's own module '%s': rename it" % (name, name)
        fields["reason"] = "script:circular-import"
    elif isinstance(error, (ImportError, AttributeError)) and "partially initialized module" in str(error):
        fields["hint"] = fields["hint"] or ("two modules import each other: move one of the imports into the function that needs it, "
                                            "or what both need into a third module")
        fields["reason"] = "script:circular-import"
    elif isinstance(error, FileNotFoundError) and error.filename and not fields["hint"]:
        fields["hint"] = _where_is(str(error.filename))
    elif isinstance(error, SyntaxError):
        fields["reason"] = "script:syntax"
    elif of_zeros(error):
        fields["hint"] = fields["hint"] or ZEROS_HINT
    elif isinstance(error, EOFError):
        fields["hint"] = fields["hint"] or "standard input is empty in a dry run: give what the script asks for as arguments"
        fields["reason"] = "script:no-input"
    elif type(error).__name__ == "BdbQuit":
        fields["message"], fields["hint"] = "the debugger was left before the script had ended", "continue with 'c' instead of 'q'"
        fields["reason"] = "script:no-input"
    elif isinstance(error, KeyboardInterrupt):
        fields["message"] = fields["message"] or "the script was interrupted"
        fields["hint"] = fields["hint"] or "Ctrl-C in the debugger and scripts that raise KeyboardInterrupt end a dry run"
    elif isinstance(error, RecursionError):
        fields["reason"] = "script:recursion"
    elif isinstance(error, TypeError) and "torch" in sys.modules and TENSOR_GIVEN_TO_TORCH.search(str(error)):
        fields["hint"] = ("PyTorch was given a tensor of mindspore: inside of networks use mindspore.ops, "
                          "outside convert it with torch.from_numpy(tensor.asnumpy())")
        fields["reason"] = "script:tensor-of-mindspore"
    if not fields["reason"]:
        fields["notes"] = fields["notes"] + config_lines.notes(str(error), sys.argv[1:])
    fields["reason"] = fields["reason"] or "script:exception"
    fields["hint"] = fields["hint"] or remedies.hint(error, (fields["place"] or {}).get("text", ""))


def complete_programs():
    """What was recorded to its end."""
    from mindspore._drydock.session import session
    whole = [program for program in session.programs if not program.failed]
    return [program for program in whole if program.node_count] \
        or [program for program in whole if program.results or program.constant_results]


def leaves_networks(error=None):
    """True if a failure of the script leaves whole networks behind: it was none of a network's and no loop without an end, and where
    the script has an optimizer, the training step is among them. A function without a weight that was called before (a sum over
    ranks to wait for each other) is no network yet, unless what it computed is what the script failed at."""
    import gc
    from mindspore._drydock.errors import ENDLESS, TracerDefect
    from mindspore._drydock.session import session
    from mindspore.nn import Optimizer
    programs = complete_programs()
    if not programs or isinstance(error, (TracerDefect, SyntaxError)) or getattr(
            error, "name", "") == ENDLESS or any(error is known for known in session.failures):
        return False
    if any(program.has_updates for program in programs):
        return True
    return (error is not None and of_zeros(error) or any(program.has_parameters() for program in programs)) and \
        not any(isinstance(thing, Optimizer) for thing in gc.get_objects())


def note_late_failure(result, text, kind="failure"):
    """The verdict on the networks stands; what came after them is one diagnostic."""
    from mindspore._drydock.session import session
    session.warn(text, kind)
    result["error"], result["exit_code"] = None, 0


def late_warning(fields):
    """One line about an exception behind the networks, with its place and a remedy; what it is: our limit or the script's failure."""
    place = fields["place"]
    where = " at %s:%d" % (place["file"], place["line"]) if place else ""
    if fields["family"] == "unsupported" and fields["reason"] != "script:exception":
        return "%s%s, after the network was recorded" % (fields["message"], where), "limit"
    what = fields["type"] + (": " + fields["message"] if fields["message"] else "")
    if fields["message"].startswith(fields["type"] + ":"):  # what zeros cause says its type itself
        what = fields["message"]
    text = "the script failed after its network was recorded%s: %s" % (where, what)
    return text + ("; " + fields["hint"] if fields["hint"] else ""), "failure"


def say_framework(result, script):
    """A script of another framework has no dry run: that, instead of what it fails at here."""
    from mindspore._drydock.script_kind import other_framework
    from mindspore._drydock.session import session
    name = "" if session.programs or not os.path.isfile(script) else other_framework(script)
    if name:
        error = result["error"]
        result["error"] = {
            "family": "user", "type": "ImportError", "message": "the script uses %s and not mindspore" % name,
            "hint": "only MindSpore programs have a dry run; without --sim_level msrun starts any program" + (
                "; 'drydock from-torch' makes a graph document of a torch model, which has one" if name == "torch" else ""),
            "reason": "script:not-mindspore", "notes": ["here it fails with %(type)s: %(message)s" % error] if error else [],
            "frames": [], "place": None}


def say_empty(result, script):
    """A script that gave nothing to compile: why, where more is known than that no network was called."""
    from mindspore._drydock import remedies, script_kind
    from mindspore._drydock.session import session
    if result["programs"] or result["error"] or result["exit_code"] != 0:
        return
    message, hint, reason = "", "", "script:nothing-traced"
    if any(not program.node_count and not program.results and not program.constant_results and not program.failed for program in session.programs):
        message = "the network that the script calls has no operators"
        hint = "nothing is computed or communicated: a network whose result an operator computes has something to report"
    elif not session.programs and script_kind.hint(script, None):  # "epochs: 3" is legal Python
        message, hint, reason = "%s is not a Python script" % os.path.basename(script), script_kind.hint(script, None), "script:not-python"
    elif not session.programs and remedies.is_main_forgotten(script):
        message, hint = "the script came to its end without calling a network", "main() is defined but never called: end the script with main()"
    if message:
        result["error"] = {"family": "user", "type": "", "message": message, "hint": hint, "reason": reason,
                           "notes": [], "frames": [], "place": None}


def collect(folder):
    """Writes the documents of all recorded programs; their file names and facts."""
    programs = []
    for program in complete_programs():
        name = "program-%d.json" % len(programs)
        try:
            program.write_document(os.path.join(folder, name))
        except Exception as error:
            program.fail(error)
            raise
        programs.append({"file": name, "nodes": program.node_count, "training": bool(program.losses), "layers": program.layers})
    return programs


def rank_facts():
    from mindspore._drydock import rank
    from mindspore._drydock.session import session
    covered = rank.covered_ranks(session.world_size) if rank.guards else [[0, session.world_size - 1]]
    return {"covered_ranks": covered, "guard_places": sorted(set(rank.guard_places))}


def settings():
    """What the script has set so far, as the job of a graph document; None if that is contradictory."""
    try:
        from mindspore import context
        return context.job_settings(may_compile=False)
    except Exception:  # noqa: B902 (it is about the settings, whose error the script has met already)
        return None


def trace(folder, script, arguments, is_module=False):
    """The whole run as a dictionary."""
    result = {"version": RESULT_VERSION, "programs": [], "exit_code": 0, "error": None}
    result["release"] = installed_release()
    os.environ["DRYDOCK_INSTALLED_RELEASE"] = result["release"]
    import_stand_in()
    from mindspore._drydock.errors import last_refusal
    from mindspore._drydock import debugger, rank_numbers
    from mindspore._drydock.session import session, watch_environment
    watch_environment()
    rank_numbers.install()
    say_where_it_stops(folder)
    debugger.install(os.path.join(folder, "debugger"))
    session.compile_at_once = False
    tell_progress(os.environ.pop("DRYDOCK_TRACE_PROGRESS", ""))
    try:
        try:
            run_script(script, arguments, is_module)
        except SystemExit as stop:
            result["exit_code"] = exit_code(stop.code)
            result["exit_text"] = "" if stop.code is None or isinstance(stop.code, int) else str(stop.code)
        if last_refusal and (result["exit_code"] != 0 or not complete_programs()):
            result["error"] = error_fields(last_refusal[0])
            add_hint(result["error"], last_refusal[0])
        elif result["exit_code"] != 0 and leaves_networks():
            note_late_failure(result, "the script ended with exit status %d after its network was recorded%s" % (
                result["exit_code"], ": " + result["exit_text"] if result["exit_text"] else ""))
        result["programs"] = collect(folder)
    except BaseException as error:  # noqa: B902 (whatever the script raised is its answer)
        result["error"] = error_fields(error)
        add_hint(result["error"], error)
        if leaves_networks(error):
            result["programs"] = collect(folder)
            note_late_failure(result, *late_warning(result["error"]))
    say_framework(result, script)
    say_empty(result, script)
    result["warnings"] = session.warnings
    from mindspore.nn import _recompute
    result["layers"] = _recompute.layers_text()
    result["job"] = settings()
    result.update(rank_facts())
    return result


def write_in_one_step(path, value):
    with open(path + ".part", "wb") as file:  # names of files may have bytes that are no text
        file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    os.rename(path + ".part", path)


def say_where_it_stops(folder):
    """The launcher ends a script by SIGTERM: after its time limit, or when it is itself told to stop. The line that runs is
    written down first, unless the script has a handler of its own."""
    import signal
    from mindspore._drydock import frames
    from mindspore._drydock.session import session
    own = os.getpid()

    def stop(number, frame):
        while frame is not None and not frames.is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        if os.getpid() == own:  # not a process that the script has forked
            place = frames.place_of(frame.f_code, frame.f_lineno, frame.f_lasti) if frame is not None else None
            write_in_one_step(os.path.join(folder, "stopped.json"), {"place": place, "read_zeros": session.read_zeros})
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, stop)


def tell_progress(path):
    """Writes which line of the script runs to a file that the launcher shows, five times a second; "": nobody looks."""
    import threading
    import time
    from mindspore._drydock import frames
    if not path:
        return
    main = threading.get_ident()

    def tell():
        with open(path, "r+b", buffering=0) as file:
            while True:
                time.sleep(0.2)
                frame = sys._current_frames().get(main)
                while frame is not None and not frames.is_user_file(frame.f_code.co_filename):
                    frame = frame.f_back
                if frame is not None:
                    text = "tracing line %d of %s" % (frame.f_lineno, os.path.basename(frame.f_code.co_filename))
                    os.pwrite(file.fileno(), text.encode("utf-8", "replace")[:150] + b"\n", 0)

    threading.Thread(target=tell, daemon=True, name="drydock-progress").start()


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def main():
    is_module = sys.argv[2] == "-m"
    folder, script, arguments = sys.argv[1], sys.argv[2 + is_module], sys.argv[3 + is_module:]
    open(os.path.join(folder, "began"), "w").close()  # whoever runs this is a Python that can
    sys.path[0] = os.path.dirname(os.path.abspath(__file__))  # as called, where Python follows links
    result = trace(folder, script, arguments, is_module)
    write_in_one_step(os.path.join(folder, "result.json"), result)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed by whoever started us, or by the script; a full disk
            pass
    os._exit(0)  # threads and exit handlers of the script must not keep us


if __name__ == "__main__":
    main()
