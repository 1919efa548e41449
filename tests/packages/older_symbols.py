#!/usr/bin/env python3
"""Lets a program or library run with an older C library than the one it was linked with.

    older_symbols.py FILE... [--limit 2.17] [--libraries FOLDER]

A function that glibc moved or changed in a later release ("pthread_create@GLIBC_2.34") has its old version there, too
("pthread_create@GLIBC_2.2.5"), for programs that were linked before. Files that name the newer one are told to ask for
the oldest instead, if the C library of FOLDER has that of every function concerned. What has no old version is reported:
the program has to bring it (cmake/portable_symbols.cc). Only the table of needed versions changes; running twice is
running once.
"""

import argparse
import re
import struct
import subprocess
import sys
from pathlib import Path

OLDEST = {62: "GLIBC_2.2.5", 183: "GLIBC_2.17"}  # by e_machine: x86-64, 64-bit Arm


def number(version):
    return tuple(int(part) for part in version.split(".")) if re.fullmatch(r"[0-9.]+", version) else (0,)


def elf_hash(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


class Elf:
    """The sections of a 64-bit little-endian file that tell which versions of which functions it needs."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no 64-bit little-endian ELF file")
        self.data = bytearray(data)
        self.machine = struct.unpack_from("<H", data, 18)[0]
        start, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        self.sections = {self.text_at(headers[names][4] + header[0]): header for header in headers}
        self.strings = self.sections[".dynstr"][4]

    def text_at(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def needed_versions(self):
        """(index, offset of the record, version) of every needed version of every library."""
        if ".gnu.version_r" not in self.sections:
            return
        need = self.sections[".gnu.version_r"][4]
        while True:
            _, count, _, aux, more = struct.unpack_from("<HHIII", self.data, need)
            at = need + aux
            for _ in range(count):
                _, _, index, name, following = struct.unpack_from("<IHHII", self.data, at)
                yield index, at, self.text_at(self.strings + name)
                at += following
            if more == 0:
                return
            need += more

    def functions_by_version(self):
        """Names of the functions that need each version, by its index."""
        symbols, versions = self.sections[".dynsym"], self.sections[".gnu.version"]
        found = {}
        for i in range(symbols[5] // 24):
            name, _, _, section = struct.unpack_from("<IBBH", self.data, symbols[4] + 24 * i)
            index, = struct.unpack_from("<H", self.data, versions[4] + 2 * i)
            if section == 0:
                found.setdefault(index & 0x7FFF, []).append(self.text_at(self.strings + name))
        return found


def versions_of(libraries):
    """{function: versions} of the C library in a folder."""
    versions = {}
    for name in ("libc.so.6", "libm.so.6"):
        listing = subprocess.run(["readelf", "--dyn-syms", "-W", str(libraries / name)], capture_output=True, text=True, check=True)
        for function, version in re.findall(r" (\w+)@@?(GLIBC_[0-9.]+)", listing.stdout):
            versions.setdefault(function, set()).add(version)
    return versions


def age(path, limit, known):
    """Makes the file at `path` older; lines that say what hinders."""
    elf = Elf(path.read_bytes())
    oldest = OLDEST[elf.machine]
    functions = elf.functions_by_version()
    needed = list(elf.needed_versions())
    name = next((elf.data.find(b"\0" + oldest.encode() + b"\0") + 1 - elf.strings
                 for _, _, version in needed if version == oldest), None)
    problems = []
    for index, at, version in needed:
        if not version.startswith("GLIBC_") or number(version[6:]) <= limit:
            continue
        without = [function for function in functions.get(index, []) if oldest not in known.get(function, ())]
        if without:
            problems.append("%s: %s of %s has no version for %s" % (path.name, ", ".join(sorted(without)), version, oldest))
        elif name is None:
            problems.append("%s: needs nothing of %s yet, so its name is not there" % (path.name, oldest))
        else:
            struct.pack_into("<I", elf.data, at, elf_hash(oldest))
            struct.pack_into("<I", elf.data, at + 8, name)
    path.write_bytes(elf.data)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", default="2.17")
    parser.add_argument("--libraries", type=Path, default=Path("/lib/x86_64-linux-gnu"))
    arguments = parser.parse_args()
    known = versions_of(arguments.libraries)
    problems = [line for path in arguments.files for line in age(path, number(arguments.limit), known)]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
