# shellcheck shell=sh
# The modules of MPI for the compiler at hand; installed as share/tern/fortran/modules.sh, beside their sources.
#
# A module file fits one compiler and version. `find_modules` sets `modules` to the folder of those that fit, and
# builds them where they are missing: in PREFIX/lib/tern/mod, else, where that cannot be written, in the user's cache
# (XDG_CACHE_HOME, else ~/.cache). A line says that it begins, and one that they are built.

sources=$prefix/share/tern/fortran

# Sets `identity`: compiler and version, as a name of a folder.
identify() {
    identity=$(eval "$compiler --version" 2> /dev/null | sed -n '/[^ ]/{p;q;}') || identity=
    if [ -z "$identity" ]; then
        from=
        for variable in FC OMPI_FC MPICH_FC MPIFORT_FC TERN_FC; do
            eval "[ \"\${$variable:-}\" != \"\$compiler\" ]" || from=", which the variable $variable names,"
        done
        echo "${0##*/}: $compiler$from is not there, or does not tell its version (--version): name a Fortran compiler by" \
            "MPIFORT_FC or -fc=COMPILER" >&2
        exit 1
    fi
    identity=$(printf '%s' "$identity" | tr -cs 'A-Za-z0-9.+' '-' | sed 's/-*$//')
    # Those of another version of Tern do not fit either.
    identity=$identity-$(cat "$sources/sum")
}

# A folder that is the user's own and nobody else can write to.
private() {
    [ -d "$1" ] && ! [ -L "$1" ] && [ -O "$1" ] && [ -z "$(find "$1" -maxdepth 0 -perm /022)" ]
}

# Sets `place`: where modules can be kept.
find_place() {
    place=$prefix/lib/tern/mod
    if [ -d "$place" ] && [ -w "$place" ]; then
        return
    fi
    cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    place=$cache/tern/fortran
    if [ -n "$cache" ] && [ -d "${cache%/.cache}" ]; then
        (umask 077 && mkdir -p "$place") 2> /dev/null || true
        if private "$place" && private "$cache/tern"; then
            return
        fi
    fi
    echo "${0##*/}: no place for the modules of this compiler: $prefix/lib/tern/mod cannot be written, and" \
        "${place:-a cache} is no folder of your own. Set XDG_CACHE_HOME to a folder that only you can write to" >&2
    exit 1
}

find_modules() {
    identify
    for modules in "$prefix/lib/tern/mod/$identity" \
        "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tern/fortran/$identity"; do
        if [ -e "$modules/mpi_f08.mod" ]; then
            case $modules in "$prefix"/*) return ;; esac
            private "$modules" && return
        fi
    done
    find_place
    modules=$place/$identity
    build_modules
}

# Compiles in a new folder, which then takes its name at once: others may do so at the same time.
build_modules() {
    new=$(umask 077 && mktemp -d "$place/.new.XXXXXX")
    echo "${0##*/}: building MPI's modules for $compiler in $place, once; this takes some 10 s" >&2
    trap 'rm -rf "$new"' EXIT INT TERM
    # Kinds that this compiler has.
    : > "$new/tern_wide.inc"
    for wide in "$sources"/wide_*.inc; do
        { echo 'module trial'; cat "$wide"; echo 'end module trial'; } > "$new/trial.f90"
        if (cd "$new" && eval "$compiler -c trial.f90" > log 2>&1); then
            cat "$wide" >> "$new/tern_wide.inc"
        fi
    done
    rm -f "$new"/trial.*
    for source in tern_mpi_base mpi mpi_f08 mpi_ext mpi_f08_ext; do
        if ! (cd "$new" && eval "$compiler -O2 -fPIC -I. -c '$sources/$source.f90'" > log 2>&1); then
            cat "$new/log" >&2
            echo "${0##*/}: $compiler does not compile the module $source of Tern: it needs Fortran 2018's" \
                "TYPE(*), DIMENSION(..) with BIND(C) (gfortran 9, flang 18 or later have it)" >&2
            exit 1
        fi
    done
    (cd "$new" && ar rcs libternmpi.a mpi.o mpi_f08.o && rm -f log mpi.o mpi_f08.o)
    probe_compiler
    case $place in "$prefix"/*) chmod 755 "$new" ;; esac
    if ! mv -T "$new" "$modules" 2> /dev/null && ! [ -e "$modules/mpi_f08.mod" ]; then
        echo "${0##*/}: $new cannot become $modules" >&2
        exit 1
    fi
    rm -rf "$new"
    trap - EXIT INT TERM
    echo "${0##*/}: built MPI's modules for $compiler in $modules (once)" >&2
}

# Runs a small program that shows whether the compiler passes arguments as the library takes them.
probe_compiler() {
    if ! (cd "$new" && eval "$compiler -I. '$sources/probe.f90' -o probe tern_mpi_base.o libternmpi.a $link" > log 2>&1); then
        cat "$new/log" >&2
        echo "${0##*/}: $compiler compiles MPI's modules, but no program with them" >&2
        exit 1
    fi
    code=0
    (cd "$new" && LD_LIBRARY_PATH="$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ./probe) > "$new/log" 2>&1 || code=$?
    # A program for another machine, which nothing here runs.
    if [ "$code" -eq 126 ]; then
        echo "${0##*/}: the programs of $compiler cannot run on this machine, so nobody has seen that it passes arguments as Tern does" >&2
    elif [ "$code" -ne 0 ] || ! grep -q '^ *good *$' "$new/log"; then
        cat "$new/log" >&2
        echo "${0##*/}: $compiler passes some arguments in another way than Tern's library takes them (above);" \
            "gfortran and flang are known to work" >&2
        exit 1
    fi
    (cd "$new" && rm -f probe probe.o probe.mod log)
}

# Runs the command. Where it fails for a module file of another compiler, says which one and what helps.
run_and_explain() {
    code=0
    "$@" || code=$?
    [ "$code" -ne 0 ] || exit 0
    ours=$(kind_of_module "$modules/mpi.mod")
    for argument in "$@" -I.; do
        case $argument in
            -I*) folder=${argument#-I} ;;
            -J*) folder=${argument#-J} ;;
            *) continue ;;
        esac
        for module in "$folder"/*.mod; do
            [ -e "$module" ] || continue
            kind=$(kind_of_module "$module")
            if [ "$kind" != "$ours" ]; then
                echo "${0##*/}: $module was made by another compiler ($kind) than $compiler ($ours): build it again" \
                    "with this one, or take the other by MPIFORT_FC or -fc=COMPILER" >&2
                exit "$code"
            fi
        done
    done
    exit "$code"
}

# The format of a module file: its first words.
kind_of_module() {
    { gzip -dc "$1" 2> /dev/null || cat "$1"; } 2> /dev/null | head -c 200 | tr -d '\000' | sed -n "1{
        s/^\(GFORTRAN module version '[0-9]*'\).*/\1/p;t
        s/.*!mod\\$.*/flang/p;t
        s/.*/unknown/p
    }"
}
