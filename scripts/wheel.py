#!/usr/bin/env python3
"""Packs an installed Tern into a wheel, without network and without packages of others.

Usage: scripts/wheel.py PREFIX OUT
  PREFIX  what scripts/install.sh has installed (a place for this purpose alone)
  OUT     folder for tern_mpi-VERSION-py3-none-manylinux_X_Y_ARCH.whl; its path is printed

Everything goes into the folder of the environment that the wheel is installed into: bin, lib, include, share. Programs
and libraries find each other by their own place. A wheel has no links: small ones become copies, `libNAME.so` a line
that leads the linker to the library. The tag names the oldest C library that all programs and libraries run with.
"""

import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Date of all files in the archive, so that equal contents make equal archives.
DATE = (2026, 1, 1, 0, 0, 0)
MPIRUN = b'#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/mpiexec" "$@"\n'


def version():
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^version = "(.*)"', text, re.M).group(1)


def files(prefix):
    """Name, bytes and whether it is a program, of each file."""
    for path in sorted(prefix.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(prefix).as_posix()
        program = os.access(path, os.X_OK)
        if name.startswith("lib/tern/open/"):
            # Wheels have no links, and a second copy of a library would be loaded beside the first.
            continue
        if path.is_symlink() and path.name.endswith(".so"):
            yield name, f"INPUT({os.readlink(path)})\n".encode(), False
        elif path.is_symlink() and path.resolve().name == "mpiexec":
            yield name, MPIRUN, True
        else:
            yield name, stripped(path), program


def machine(path):
    """The architecture that a program is for."""
    run = subprocess.run([ROOT / "scripts/machine.sh", path], check=True, stdout=subprocess.PIPE, text=True)
    return run.stdout.strip()


def stripped(path):
    """The bytes of a file; of a program or library without what only debuggers read, if strip is there."""
    data = path.read_bytes()
    if not data.startswith(b"\x7fELF"):
        return data
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "stripped"
        run = subprocess.run([ROOT / "scripts/strip.sh", path, out], stderr=subprocess.PIPE, text=True)
        if run.returncode == 127:
            return data
        if run.returncode:
            sys.exit(f"{path} cannot be stripped: {run.stderr}")
        return out.read_bytes()


def needed(contents):
    """The oldest version of glibc that has everything that the ELF files ask for."""
    newest = 17
    for data in contents:
        if data.startswith(b"\x7fELF"):
            for minor in re.findall(rb"GLIBC_2\.(\d+)", data):
                newest = max(newest, int(minor))
    return newest


def metadata(name, version):
    readme = (ROOT / "README.md").read_text()
    return (
        "Metadata-Version: 2.4\n"
        f"Name: {name}\n"
        f"Version: {version}\n"
        "Summary: Tern, an MPI library: the MPI 5.0 standard ABI, mpiexec and compiler wrappers\n"
        "License-Expression: Apache-2.0 OR MIT\n"
        "License-File: LICENSE-APACHE\n"
        "License-File: LICENSE-MIT\n"
        "Keywords: MPI\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Topic :: Scientific/Engineering\n"
        "Requires-Python: >=3.6\n"
        "Description-Content-Type: text/markdown\n"
        f"\n{readme}"
    ).encode()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prefix, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    name, number = "tern_mpi", version()
    found = list(files(prefix))
    if not any(file == "lib/libmpi_abi.so.1" for file, _, _ in found):
        sys.exit(f"{prefix} has no lib/libmpi_abi.so.1")
    tag = f"py3-none-manylinux_2_{needed(data for _, data, _ in found)}_{machine(prefix / 'bin/mpiexec')}"
    info = f"{name}-{number}.dist-info"
    contents = [(f"{name}-{number}.data/data/{file}", data, program) for file, data, program in found]
    contents += [(f"{info}/licenses/{file}", (ROOT / file).read_bytes(), False) for file in ("LICENSE-APACHE", "LICENSE-MIT")]
    contents.append((f"{info}/METADATA", metadata("tern-mpi", number), False))
    wheel = f"Wheel-Version: 1.0\nGenerator: tern\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents.append((f"{info}/WHEEL", wheel.encode(), False))
    record = []
    for file, data, _ in contents:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{file},sha256={digest},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    contents.append((f"{info}/RECORD", "".join(record).encode(), False))

    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"{name}-{number}-{tag}.whl"
    new = archive.with_suffix(".new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file, data, program in contents:
            entry = zipfile.ZipInfo(file, DATE)
            entry.external_attr = (stat.S_IFREG | (0o755 if program else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            zipped.writestr(entry, data)
    new.replace(archive)
    print(archive)


main()
