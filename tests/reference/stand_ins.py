"""Builds stand-ins for the vendor's libraries, so that MindSpore's wheel can do its own dry run for Ascend anywhere.

    stand_ins.py PYTHON FOLDER        PYTHON: interpreter that has the wheel

The wheel's Ascend plug-in is linked with libraries that only a machine with accelerators has. What it needs from them is
read from its own symbol tables; every name that has no body in stand_ins/libraries.cc becomes a stub of two
instructions. FOLDER gets latest/lib64/ (for LD_LIBRARY_PATH), any_symbol.so (for LD_PRELOAD) and python/ (for PYTHONPATH).
Needs g++ and nm; about ten seconds.
"""

import subprocess
import sys
from pathlib import Path

import wheel

HERE = Path(__file__).resolve().parent / "stand_ins"
MAIN = "libascendcl.so"
# Other names under which parts of the same are asked for; each leads to the one above.
OTHERS = ("libge_runner.so", "libgraph.so", "libmsprofiler.so", "libhccl.so", "libascend_hal.so", "libruntime.so",
          "libplatform.so", "libc_sec.so", "libnnopbase.so", "libregister.so", "libprofapi.so", "libexe_graph.so",
          "libmmpa.so", "libascendalog.so", "libmf_hybm_core.so", "libmf_smem.so", "libopapi.so",
          "libacl_op_compiler.so", "libdummy_tls.so")
SYSTEM = ("libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libgomp.so.1")
# Names of Python and of the wheel itself, and tables of types, are never stood in for.
NOT_THE_VENDORS = ("Py", "_Py", "_ZTI", "_ZTV", "_ZTS", "_ZN2at", "_ZN9mindspore", "_ZNK9mindspore", "_ZN3c10")


def _run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def _symbols(path, kind):
    """(type letter, name) of the dynamic symbols; `kind` is an option of nm."""
    lines = subprocess.run(["nm", "-D", kind, str(path)], capture_output=True, text=True, check=False).stdout.splitlines()
    return [tuple(line.split()[-2:]) for line in lines if len(line.split()) >= 2]


def _defined(paths):
    return {name.split("@")[0] for path in paths for _, name in _symbols(path, "--defined-only")}


def wanted_names(package):
    """Names that the Ascend plug-in of the package needs and that neither it nor the system defines."""
    libraries = [path for path in sorted(package.glob("lib/**/*.so*"))
                 if not path.is_symlink() and "/gpu" not in str(path) and "_gpu" not in str(path)]
    libraries += sorted(package.glob("_c_expression*"))
    there = _defined(libraries) | _defined(_run("g++", "-print-file-name=" + name).strip() for name in SYSTEM)
    plugin = [path for path in libraries if "/plugin/" in str(path) or "ge_backend" in str(path)]
    needed = {name for path in plugin for letter, name in _symbols(path, "--undefined-only")
              if letter == "U" and "@" not in name}
    return sorted(name for name in needed - there if not name.startswith(NOT_THE_VENDORS))


def assembly(names):
    """Stubs that hand the first argument and their own name to StandIn."""
    code = [".intel_syntax noprefix", '.section .note.GNU-stack,"",@progbits', ".text"]
    for number, name in enumerate(names):
        code += [".globl " + name, ".type %s,@function" % name, name + ":", " lea rsi,[rip+.Lname%d]" % number,
                 " jmp StandIn@PLT"]
    code.append(".section .rodata")
    code += ['.Lname%d: .asciz "%s"' % one for one in enumerate(names)]
    return "\n".join(code) + "\n"


def build(package, folder):
    libraries = folder / "latest/lib64"  # the wheel looks at the name of the folder
    libraries.mkdir(parents=True, exist_ok=True)
    bodies = folder / "libraries.o"
    _run("g++", "-std=c++17", "-O1", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", "-c", "-o", bodies, HERE / "libraries.cc")
    own = {line.split()[-1] for line in _run("nm", "--defined-only", bodies).splitlines()}
    stubs = folder / "stubs.S"
    stubs.write_text(assembly([name for name in wanted_names(package) if name not in own]), encoding="utf-8")
    _run("g++", "-shared", "-Wl,-soname," + MAIN, "-o", libraries / MAIN, bodies, stubs)
    for name in OTHERS:
        _run("g++", "-shared", "-fPIC", "-Wl,-soname," + name, "-Wl,--no-as-needed", "-x", "c++", "/dev/null", "-o",
             libraries / name, "-L", libraries, "-lascendcl", "-Wl,-rpath,$ORIGIN")
    _run("g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-o", folder / "any_symbol.so", HERE / "any_symbol.cc")
    module = folder / "python/hccl"
    module.mkdir(parents=True, exist_ok=True)
    (module / "__init__.py").write_text("", encoding="utf-8")
    (module / "sys_version.py").write_text('__sys_version__ = "8.5.0"\n', encoding="utf-8")


if __name__ == "__main__":
    build(wheel.package_of(sys.argv[1]), Path(sys.argv[2]))
