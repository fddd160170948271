# shellcheck shell=sh
# The part that all compiler wrappers have in common; installed as share/tern/wrapper.sh.
#
# A wrapper sets `prefix`, reads this file, calls `choose_compiler`, adds to `compile`, `link`, `incdirs`, `libdirs`
# or `libs` if its language needs more, and ends with `wrap "$@"`. `run` may be a function that runs the command. Lists of words (`compiler`, `compile`, `link`)
# are texts in which each word is quoted for the shell, so that folders may have any name.
#
#   mpicc [options of the wrapper] ARGUMENTS-OF-THE-COMPILER
#     -show              prints the command and does not run it (also --show, -showme, --showme)
#     -compile_info      prints the command that compiles, without files (also -compile-info)
#     -link_info         prints the command that links, without files (also -link-info)
#     --showme:compile   prints the arguments for compiling (also -show-compile-info)
#     --showme:link      prints the arguments for linking (also -show-link-info)
#     --showme:command, :incdirs, :libdirs, :libs, :version   print that part alone; :help prints these lines (also --help)
#     -cc=COMPILER, -cxx=COMPILER, -fc=COMPILER   the compiler, for this call

# Sets `quoted`: the word as a shell reads it, as it is or in quotes.
quote() {
    case $1 in
        *\'*) quoted="'$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")'" ;;
        '' | *[!A-Za-z0-9_/.,:=+@%-]*) quoted="'$1'" ;;
        *) quoted=$1 ;;
    esac
}

# Sets `quoted`: all words as a shell reads them.
quote_all() {
    words=
    for word in "$@"; do
        quote "$word"
        words="$words${words:+ }$quoted"
    done
    quoted=$words
}

# Sets `compiler`: the file of that name, or the words of a command. Fails for none, and for a wrapper such as this
# one, which would call itself for ever.
set_compiler() {
    [ -n "$1" ] || return 1
    if [ -x "$1" ] && ! [ -d "$1" ]; then
        set -- "$1"
    else
        set -f
        # shellcheck disable=SC2086
        set -- $1
        set +f
        [ $# -gt 0 ] || return 1
    fi
    case ${1##*/} in
        mpicc* | mpicxx* | mpic++* | mpiCC* | mpifort* | mpif77* | mpif90*) return 1 ;;
    esac
    quote_all "$@"
    compiler=$quoted
}

# choose_compiler DEFAULT CANDIDATE...: the first candidate that is a compiler.
choose_compiler() {
    default=$1
    shift
    for candidate in "$@"; do
        if set_compiler "$candidate"; then
            return
        fi
    done
    compiler=$default
}

quote "$prefix/include"
incdirs=$quoted
quote "$prefix/lib"
libdirs=$quoted
libs=mpi_abi
quote "-I$prefix/include"
compile=$quoted
# Programs look for the library where it is now (RUNPATH); LD_LIBRARY_PATH comes before that, so that they run on
# any other library with the standard ABI.
case $prefix in
    # -Wl would take it for two words.
    *,*) quote_all "-L$prefix/lib" -Xlinker -rpath -Xlinker "$prefix/lib" -Wl,--enable-new-dtags ;;
    *) quote_all "-L$prefix/lib" "-Wl,-rpath,$prefix/lib" -Wl,--enable-new-dtags ;;
esac
link="$quoted -lmpi_abi"

wrap() {
    show=no
    links=yes
    inputs=no
    takes_value=no
    count=$#
    while [ "$count" -gt 0 ]; do
        argument=$1
        shift
        count=$((count - 1))
        if [ "$takes_value" = yes ]; then
            takes_value=no
            set -- "$@" "$argument"
            continue
        fi
        case $argument in
            -show | --show | -showme | --showme) show=yes; continue ;;
            -compile[_-]info) printf '%s\n' "$compiler $compile"; exit ;;
            -link[_-]info) printf '%s\n' "$compiler $link"; exit ;;
            -showme:compile | --showme:compile | -show-compile-info) printf '%s\n' "$compile"; exit ;;
            -showme:link | --showme:link | -show-link-info) printf '%s\n' "$link"; exit ;;
            -showme:command | --showme:command) printf '%s\n' "$compiler"; exit ;;
            -showme:incdirs | --showme:incdirs) printf '%s\n' "$incdirs"; exit ;;
            -showme:libdirs | --showme:libdirs) printf '%s\n' "$libdirs"; exit ;;
            -showme:libs | --showme:libs) printf '%s\n' "$libs"; exit ;;
            -showme:version | --showme:version) "$prefix/bin/mpiexec" --version | sed "1s|^mpiexec|${0##*/}|"; exit ;;
            -showme:help | --showme:help | --help) sed -n "/^#  /s/^#  \( *\)mpicc/\1${0##*/}/p; t; s/^#  //p" "$prefix/share/tern/wrapper.sh"; exit ;;
            -cc=* | -cxx=* | -fc=*)
                set_compiler "${argument#*=}" || {
                    echo "${0##*/}: $argument: name a compiler, not a wrapper" >&2
                    exit 1
                }
                continue
                ;;
            -c | -E | -S | -M | -MM | -fsyntax-only) links=no ;;
            -o | -I | -L | -D | -U | -x | -J | -include | -imacros | -isystem | -idirafter | -iquote | -isysroot | \
                -MF | -MT | -MQ | -Xlinker | -Xassembler | -Xpreprocessor | -Xclang | -target | --param | -u | -z | -T)
                takes_value=yes ;;
            -l* | - | [!-]*) inputs=yes ;;
        esac
        set -- "$@" "$argument"
    done

    # Only questions, such as --version: nothing to link. With -show, the whole command is asked for.
    if [ "$inputs$show" = nono ]; then
        links=no
    fi
    if [ "$links" = yes ]; then
        eval "set -- $compiler $compile \"\$@\" $link"
    else
        eval "set -- $compiler $compile \"\$@\""
    fi
    if [ "$show" = yes ]; then
        quote_all "$@"
        printf '%s\n' "$quoted"
        exit
    fi
    ${run:-exec} "$@"
}
