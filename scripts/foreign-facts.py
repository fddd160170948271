#!/usr/bin/env python3
"""Prints the constants and layouts of another MPI's binary interface, by running a program compiled with its header.

Usage: scripts/foreign-facts.py INCLUDE [LIBRARY] > facts
  INCLUDE  the folder of the other MPI's mpi.h
  LIBRARY  its libmpi.so, where handles are addresses of objects: then their names and sizes are printed

One fact a line: a name and a number, or a name and the object whose address it is. Names are those of
crates/interface/table/tables/constants.txt and fault-tolerance.txt, what MPI-3.0 removed, and what programs use besides.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent
include, library = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None

names = []
for table in ["constants", "fault-tolerance"]:
    for line in (root / f"crates/interface/table/tables/{table}.txt").read_text().splitlines():
        if line.startswith("    MPI_"):
            names.append(line.split()[0])
names += """MPI_LB MPI_UB MPI_COMBINER_HVECTOR_INTEGER MPI_COMBINER_HINDEXED_INTEGER MPI_COMBINER_STRUCT_INTEGER
    MPI_FILE_DEFINED MPI_ERR_LASTCODE MPI_ERR_DUP_DATAREP MPI_CXX_COMPLEX MPI_CXX_DOUBLE_COMPLEX
    MPI_Fint_size MPI_2COMPLEX MPI_2DOUBLE_COMPLEX MPI_CHARACTER MPI_GRAPH MPI_T_PVAR_ALL_HANDLES
    MPIX_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED_PENDING MPIX_ERR_REVOKED MPIX_C_FLOAT16 MPIX_BFLOAT16
    MPIX_COMM_TYPE_NEIGHBORHOOD OMPI_COMM_TYPE_NODE MPI_COMM_TYPE_SHARED MPI_F_STATUS_IGNORE
    MPI_WIN_CREATE_FLAVOR MPI_MAX_INFO_VAL""".split()
names = list(dict.fromkeys(names))
layout = ["sizeof(MPI_Status)", "offsetof(MPI_Status, MPI_SOURCE)", "offsetof(MPI_Status, MPI_TAG)",
          "offsetof(MPI_Status, MPI_ERROR)", "sizeof(MPI_Aint)", "sizeof(MPI_Count)", "sizeof(MPI_Offset)",
          "sizeof(MPI_Fint)", "sizeof(MPI_Comm)", "sizeof(MPI_File)", "sizeof(MPI_Datatype)"]
if library is None:
    layout += ["offsetof(MPI_Status, count_lo)", "offsetof(MPI_Status, count_hi_and_cancelled)"]
else:
    layout += ["offsetof(MPI_Status, _cancelled)", "offsetof(MPI_Status, _ucount)"]


def program(some):
    lines = ["#include <mpi.h>", "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    for name in some:
        # Handles that are objects: the name of the object, found in the preprocessed text.
        lines.append(f'    printf("%s %lld\\n", "{name}", (long long) ({name}));')
    for expression in layout:
        lines.append(f'    printf("%s %lld\\n", "{expression.replace(" ", "")}", (long long) ({expression}));')
    return "\n".join(lines + ["    return 0;", "}", ""])


with tempfile.TemporaryDirectory() as folder:
    source = Path(folder) / "facts.c"
    flags = ["-w", f"-I{include}", "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"]
    while True:
        source.write_text(program(names))
        run = subprocess.run(["cc", *flags, "-fsyntax-only", "-fmax-errors=0", str(source)], capture_output=True, text=True)
        bad = set(re.findall(r"[‘'](\w+)[’'] undeclared", run.stderr))
        for number in re.findall(r"facts\.c:(\d+):\d+: error", run.stderr):
            found = re.search(r'"(\w+)"', source.read_text().splitlines()[int(number) - 1].split("%lld", 1)[1])
            if found:
                bad.add(found.group(1))
        keep = [name for name in names if name not in bad]
        if keep == names:
            break
        names = keep
    if run.returncode != 0:
        sys.exit(run.stderr)
    expanded = subprocess.run(["cc", *flags, "-E", "-P", str(source)], capture_output=True, text=True, check=True).stdout
    objects = {}
    if library:
        for line in expanded.splitlines():
            found = re.search(r'"%s %lld\\n", "(\w+)".*&\s*\(?\s*(\w+)', line)
            if found:
                objects[found.group(1)] = found.group(2)
    source.write_text(program([name for name in names if name not in objects]))
    # Data symbols are not read: a definition of them stands in for the library.
    stubs = Path(folder) / "stubs.c"
    stubs.write_text("void *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY, *MPI_F_STATUS_IGNORE, *MPI_T_PVAR_ALL_HANDLES,"
                     " *MPIR_Dup_fn, *OMPI_C_MPI_NULL_COPY_FN, *OMPI_C_MPI_DUP_FN, *OMPI_C_MPI_NULL_DELETE_FN,"
                     + ", ".join(f" *OMPI_C_MPI_{kind}_{what}_FN" for kind in ("COMM", "TYPE", "WIN")
                                 for what in ("NULL_COPY", "DUP", "NULL_DELETE")) + ", *ompi_mpi_none;\n")
    binary = Path(folder) / "facts"
    subprocess.run(["cc", *flags, "-no-pie", "-o", str(binary), str(source), str(stubs)], check=True)
    print(subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout, end="")
    for name, symbol in objects.items():
        print(name, symbol)
    if library:
        table = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
        for row in table.splitlines():
            words = row.split()
            if len(words) >= 8 and words[3] == "OBJECT" and words[7].split("@")[0] in objects.values():
                print(f"size({words[7].split('@')[0]})", words[2])
