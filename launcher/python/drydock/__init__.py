"""Dry runs of distributed MindSpore jobs from Python.

    import drydock
    result = drydock.dry_run("net.py", ranks=4096, args=["--layers", 96])
    result.verdict, result.memory.classes[0].actual_peak_bytes
    result.tensors()          # a pandas.DataFrame where pandas is installed, else a list of dicts

Nothing here models anything: the program `msrun` runs, and its JSON reports become objects. Their fields
are those of docs/reports.md.
"""

import base64
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["DryRunError", "Report", "Result", "dry_run", "program"]


class DryRunError(Exception):
    """The dry run could not be made: wrong usage, no script, no program. `status`, `code`, `hint`."""

    def __init__(self, status, document):
        self.status = status
        self.code = document.get("code", "")
        self.hint = document.get("hint", "")
        message = document.get("message", "msrun ended with status %d" % status)
        super().__init__(message + ("; hint: " + self.hint if self.hint else ""))


class Report(dict):
    """A JSON object whose fields are attributes as well: report.run.id. Fields that are not there are None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(self))


def _report_of(text):
    return json.loads(text, object_hook=Report)


def program():
    """Path of the program: DRYDOCK_MSRUN, else beside this interpreter (a wheel puts it there), else in PATH."""
    named = os.environ.get("DRYDOCK_MSRUN")
    if named:
        return [named]
    beside = Path(sys.executable).parent / "drydock"
    found = str(beside) if beside.is_file() else shutil.which("drydock")
    if not found:
        raise DryRunError(3, {"code": "NO_PROGRAM", "message": "the program drydock is not there",
                              "hint": "install it, put it in PATH, or set DRYDOCK_MSRUN to the path of msrun"})
    return [found, "msrun"]


def run_msrun():
    """The command `msrun` of the wheel drydock-msrun: this process becomes the program."""
    words = program() + sys.argv[1:]
    os.execv(words[0], words)


def _table(rows):
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _flat(row):
    """A row of a table: the place becomes file and line."""
    flat = {name: value for name, value in row.items() if name != "place"}
    place = row.get("place")
    flat["file"], flat["line"] = (place["file"], place["line"]) if place else (None, None)
    return flat


def _bytes(value):
    sign, value = ("-", -value) if value < 0 else ("", value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return sign + ("%d B" % value if unit == "B" else "%.1f %s" % (value, unit))
        value /= 1024


class Result:
    """What a dry run found: `summary`, `memory`, `communication`, `profile`, `timeline` (None where there is none)."""

    def __init__(self, status, reports, page, messages):
        self.status = status      # exit status of msrun: 0, 6 rejected, 7 limit, 8 unsupported
        self.summary = reports["summary"]
        self.memory = reports.get("memory")
        self.communication = reports.get("communication")
        self.profile = reports.get("profile")
        self.timeline = reports.get("timeline")
        self.messages = messages  # what was said on stderr
        self._page = page

    @property
    def verdict(self):
        return self.summary.verdict

    @property
    def ok(self):
        return self.verdict == "ok"

    def classes(self):
        """A row for each class of ranks: stage, peak, limit, head-room."""
        rows = []
        for item in self.memory.classes if self.memory else []:
            row = {name: item[name] for name in ("ranks", "rank_count", "stage", "used_peak_bytes", "actual_peak_bytes",
                                                 "limit_bytes", "head_room_bytes", "fits", "kept_for_backward_bytes")}
            row.update({part.part: part.bytes for part in item.breakdown})
            rows.append(row)
        return _table(rows)

    def tensors(self):
        """A row for each tensor: all of them with detail="full", else the largest."""
        rows = []
        for index, item in enumerate(self.memory.classes if self.memory else []):
            for tensor in item.tensors or (self.profile.classes[index].tensors if self.profile else item.largest):
                rows.append(dict(_flat(tensor), ranks=item.ranks))
        return _table(rows)

    def collectives(self):
        """A row for each collective of the step."""
        return _table([_flat(item) for item in self.communication.collectives] if self.communication else [])

    def causes(self):
        """A row for each cause of communication: line, reason, bytes; complete for jobs of any size."""
        return _table([_flat(item) for item in self.communication.causes] if self.communication else [])

    def trials(self):
        """What was tried because the job does not fit: a row for each change, with the peak it leads to."""
        return _table([dict(item) for item in self.summary.trials])

    def diagnostics(self):
        return _table([_flat(item) for item in self.summary.diagnostics])

    def html(self):
        """The page of the run as text; None unless dry_run(html=True)."""
        return self._page

    def _repr_html_(self):
        """For notebooks: the page itself, or what a terminal would show."""
        if self._page:
            data = base64.b64encode(self._page.encode()).decode()
            return ('<iframe src="data:text/html;base64,%s" style="width:100%%;height:720px;border:1px solid #ccc"'
                    ' title="Drydock"></iframe>' % data)
        colour = "#16794a" if self.ok else "#b42318"
        rows = "".join("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>" %
                       (html.escape(item.ranks), _bytes(item.actual_peak_bytes), _bytes(item.limit_bytes),
                        _bytes(item.head_room_bytes)) for item in self.summary.memory or [])
        table = ("<table><tr><th>ranks</th><th>peak with fragments</th><th>limit</th><th>head-room</th></tr>%s</table>" % rows
                 if rows else "")
        tried = "".join("<li>%s: %s, %s</li>" % (html.escape(item.change), item.problem and html.escape(item.problem) or
                                                 _bytes(item.peak_bytes), "fits" if item.fits else "does not fit")
                        for item in self.summary.trials)
        return '<b style="color:%s">%s</b> %s%s%s' % (colour, html.escape(self.verdict), html.escape(self.summary.verdict_text),
                                                      table, "<ul>%s</ul>" % tried if tried else "")

    def __repr__(self):
        return "<drydock.Result %s: %s>" % (self.verdict, self.summary.verdict_text)


def dry_run(script, ranks=8, args=(), level=1, html=False, detail=None, flags=(), env=None, cwd=None):
    """Dry-runs `script` for `ranks` ranks.

    args    arguments of the script
    level   0 compile, 1 and memory, 3 and time
    html    also make the page: result.html(), and what a notebook shows
    detail  "full": every tensor
    flags   further flags of msrun: ["--device_memory=32GB"]
    env     variables beside those of this process
    cwd     folder to run in

    A program that is rejected or not supported is an answer (`result.verdict`), not an exception.
    """
    with tempfile.TemporaryDirectory(prefix="drydock-") as folder:
        command = program() + ["--sim_level=%d" % level, "--worker_num=%d" % ranks, "--json", "--log_dir=" + folder]
        command += ["--html"] if html else []
        command += ["--detail=" + detail] if detail else []
        if not any(str(flag).startswith("--python") for flag in flags):
            command += ["--python=" + sys.executable]
        command += [str(word) for word in [*flags, script, *args]]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=cwd, env=dict(os.environ, **env) if env else None)
        messages = done.stderr.decode("utf-8", "replace")
        try:
            answer = _report_of(done.stdout.decode("utf-8", "replace"))
        except ValueError:
            raise DryRunError(done.returncode, {"message": messages.strip() or "no answer"}) from None
        if answer.schema != "drydock.summary/1":
            raise DryRunError(done.returncode, answer)
        reports = {"summary": answer}
        for name in ("memory", "communication", "profile", "timeline"):
            path = Path(folder) / (name + ".json")
            if path.is_file():
                reports[name] = _report_of(path.read_text(encoding="utf-8"))
        page = Path(folder) / "report.html"
        return Result(done.returncode, reports, page.read_text(encoding="utf-8") if page.is_file() else None, messages)
