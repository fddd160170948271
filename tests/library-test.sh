#!/bin/sh
# Which MPI library mpiexec gives to programs that were built for another one.
# Usage: tests/library-test.sh PREFIX
set -eu

prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$(dirname "$0")/common.sh"
make_place
cd "$place"
unset LD_LIBRARY_PATH

# expect WHAT PATTERN COMMAND...: the output of the command has a line that the pattern matches whole.
expect() {
    what=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1) || true
    if printf '%s\n' "$said" | grep -qx -e "$pattern"; then
        ok "$what"
    else
        fail "$what" "$* said: $said"
    fi
}

# not WHAT PATTERN COMMAND...: no line of the output matches.
not() {
    what=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1) || true
    if printf '%s\n' "$said" | grep -q -e "$pattern"; then
        fail "$what" "$* said: $said"
    else
        ok "$what"
    fi
}

# A prefix with a stub for another library, which says whose it is; and that library.
mkdir -p tern/bin tern/lib other plugin
cp "$prefix/bin/mpiexec" tern/bin/
cp "$prefix/lib/libmpi_abi.so.1" tern/lib/
for whose in tern other; do
    folder=$whose
    [ $whose = other ] || folder=tern/lib
    printf 'const char *whose(void) { return "%s"; }\n' $whose > stub.c
    ${CC:-cc} -shared -fPIC -Wl,-soname,libmpi.so.12 -o $folder/libmpi.so.12 stub.c
done
cat > program.c <<'C'
#include <stdio.h>
const char *whose(void);
int main(void)
{
    printf("library of %s\n", whose());
    return 0;
}
C
compile() { ${CC:-cc} program.c -o "$@" other/libmpi.so.12; }
compile runpath -Wl,--enable-new-dtags,-rpath,"$place/other"
compile rpath -Wl,--disable-new-dtags,-rpath,"$place/other"
compile plain
# A program that has the library through another library only.
echo 'const char *whose(void); const char *through(void) { return whose(); }' > through.c
${CC:-cc} -shared -fPIC -o plugin/libthrough.so through.c other/libmpi.so.12
sed 's/whose/through/' program.c > indirect.c
${CC:-cc} indirect.c -o indirect -Wl,--enable-new-dtags,-rpath,"$place/plugin:$place/other" -Wl,--allow-shlib-undefined \
    plugin/libthrough.so
printf '#!/bin/sh\nexec %s/plain\n' "$place" > script
chmod +x script

# Programs that open the name without a version: what it stands for on the machine says whose interface they expect.
for number in 12 40; do
    mkdir -p tern/lib/tern/open/$number open$number
    printf 'const char *whose(void) { return "tern, %s"; }\n' $number > stub.c
    ${CC:-cc} -shared -fPIC -Wl,-soname,libmpi.so.$number -o tern/lib/tern/open/$number/libmpi.so stub.c
    printf 'const char *whose(void) { return "other, %s"; }\n' $number > stub.c
    ${CC:-cc} -shared -fPIC -Wl,-soname,libmpi.so.$number -o open$number/libmpi.so stub.c
done
mkdir -p strange script32
${CC:-cc} -shared -fPIC -Wl,-soname,libstrange.so.1 -o strange/libmpi.so stub.c
echo 'INPUT(libmpi.so.40)' > script32/libmpi.so
cat > opens.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *library = dlopen("libmpi.so", RTLD_NOW);
    const char *(*whose)(void) = library ? (const char *(*)(void))dlsym(library, "whose") : NULL;
    printf("opened: %s\n", whose ? whose() : "none");
    return 0;
}
C
${CC:-cc} opens.c -o opens -ldl

run="$place/tern/bin/mpiexec -n 2"
for number in 12 40; do
    expect "libmpi.so is Tern's with the interface that it has here, $number" "opened: tern, $number" \
        env LD_LIBRARY_PATH="$place/open$number" $run ./opens
done
expect "the first one in the path says which" "opened: tern, 40" env LD_LIBRARY_PATH="/none:$place/open40:$place/open12" $run ./opens
expect "and in the path that -x says" "opened: tern, 12" $run -x LD_LIBRARY_PATH="$place/open12" ./opens
expect "agents of hosts look on their hosts" "opened: tern, 40" \
    env LD_LIBRARY_PATH="$place/open40" $run --hosts a,b --remote-shell "env HOST={host}" ./opens
expect "an mpiexec below another one sees the same" "opened: tern, 12" \
    env LD_LIBRARY_PATH="$place/open12" $run "$place/tern/bin/mpiexec" -n 1 ./opens
expect "what is no library for this machine is passed over" "opened: tern, 12" \
    env LD_LIBRARY_PATH="$place/script32:$place/open12" $run ./opens
expect "a library of an interface that Tern does not have stays" "opened: other, 40" \
    env LD_LIBRARY_PATH="$place/strange" $run ./opens
expect "--no-library-path leaves it alone" "opened: other, 12" \
    env LD_LIBRARY_PATH="$place/open12" $run --no-library-path ./opens
# The same with the libraries that are installed, which the program calls.
cat > calls.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    char text[8192] = "";
    int length;
    void *library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(void *, void *) = (int (*)(void *, void *))dlsym(library, "MPI_Init");
    int (*version)(char *, int *) = (int (*)(char *, int *))dlsym(library, "MPI_Get_library_version");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    if (!init || !version || !finalize || init(0, 0) || version(text, &length) || finalize()) return 1;
    printf("%.4s with the interface of %s\n", text, dlsym(library, "ompi_mpi_comm_world") ? "40" : "12");
    return 0;
}
C
${CC:-cc} calls.c -o calls -ldl
for number in 12 40; do
    expect "a program that opens it runs on Tern, $number" "Tern with the interface of $number" \
        env LD_LIBRARY_PATH="$place/open$number" "$prefix/bin/mpiexec" -n 2 ./calls
done
for number in 12 40; do
    expect "what is installed has it, $number" "libmpi.so.$number" basename "$(readlink -f "$prefix/lib/tern/open/$number/libmpi.so")"
done
expect "without mpiexec a program has its own library" "library of other" ./runpath
expect "mpiexec puts Tern's folder first" "library of tern" $run ./runpath
expect "for programs that name no folder too" "library of tern" $run ./plain
expect "for libraries of programs too" "library of tern" $run ./indirect
expect "for programs that scripts start too" "library of tern" $run ./script
expect "in front of the user's own path" "library of tern" env LD_LIBRARY_PATH="$place/other" $run ./plain
expect "in front of what -x says" "library of tern" $run -x LD_LIBRARY_PATH="$place/other" ./plain
expect "and keeps that path" "$place/tern/lib:/a:/b" env LD_LIBRARY_PATH=/a:/b $run printenv LD_LIBRARY_PATH
expect "--no-library-path leaves it alone" "library of other" $run --no-library-path ./runpath
expect "each program of a job has it" "library of tern" $run ./runpath : -n 1 ./plain
expect "agents of hosts put theirs first" "library of tern" \
    $run --hosts a,b --remote-shell "env HOST={host}" ./runpath
expect "agents leave it alone where told" "library of other" \
    $run --hosts a,b --remote-shell "env HOST={host}" --no-library-path ./runpath
ln -s "$place/tern/bin/mpiexec" linked
expect "the folder is found through a link to mpiexec" "library of tern" ./linked -n 2 ./plain
cp tern/bin/mpiexec .
not "no folder of Tern's, no path" "LD_LIBRARY_PATH" ./mpiexec -n 1 env

expect "--verbose says which library it is" \
    "mpiexec: ./runpath: libmpi.so.12 (MPICH's ABI) is Tern's, $place/tern/lib/libmpi.so.12" $run -v ./runpath
expect "--verbose sees what libraries load" "mpiexec: ./indirect: libmpi.so.12 .* is Tern's, .*" $run -v ./indirect
expect "--verbose says that there is none" "mpiexec: ./plain: libmpi.so.12 (MPICH's ABI) is not found.*" \
    $run -v --no-library-path ./plain
expect "an RPATH is noticed at the start" \
    "mpiexec: ./rpath: libmpi.so.12 (MPICH's ABI) is $place/other/libmpi.so.12, not Tern's: .* RPATH ($place/other).*" \
    $run ./rpath
expect "who was alone is told why" \
    "mpiexec: each process of ./runpath was alone in its world: libmpi.so.12 .* not Tern's; without --no-library-path.*" \
    $run --no-library-path ./runpath
not "a program without MPI is told nothing" "mpiexec" $run true
not "a script is told nothing" "mpiexec" $run ./script
cat > mpi.c <<'C'
#include <mpi.h>
int main(void)
{
    MPI_Init(0, 0);
    return MPI_Finalize();
}
C
"$prefix/bin/mpicc" mpi.c -o mpi
expect "a program of the standard ABI has Tern's too" "mpiexec: ./mpi: libmpi_abi.so.1 (the standard ABI) is Tern's, .*" \
    $run -v ./mpi

sums
