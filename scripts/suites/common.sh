# Read by scripts/suites.sh: how a recipe gets the sources of its suite and builds them. Each recipe has $name, its name, and in the folder
# $home of its own $source, what was fetched; $built, what was built; and $log.

# begin NAME: these variables for a recipe, and an empty log.
begin() {
    name=$1 home=$work/$1
    source=$home/source built=$home/built log=$home/log
    mkdir -p "$home"
    : > "$log"
    : > "$home/rows"
    : > "$home/reasons"
    : > "$place/broken"
    evidence=$log
}

# needs COMMAND...: fails, aloud, where one is missing.
needs() {
    for command; do
        command -v "$command" > /dev/null || { skip "$name" "there is no $command"; return 1; }
    done
}

# logged COMMAND...: runs it. If it fails, `end` counts that, wherever this was called: a subshell cannot.
logged() {
    "$@" >> "$log" 2>&1 < /dev/null || { echo "$*" | head -n 1 >> "$place/broken"; return 1; }
}

# end: tells which steps of the recipe have failed.
end() {
    evidence=$log
    while read -r step; do fail "$name: $step"; done < "$place/broken"
}

# fetched URL COMMIT [/FOLDER/...]: the files of a commit, or these folders of them, in $source.
fetched() {
    url=$1 commit=$2
    shift 2
    rm -rf "$source"
    git init -q "$source" && git -C "$source" remote add origin "$url" || return
    [ $# -eq 0 ] || git -C "$source" sparse-checkout set --no-cone "$@" || return
    git -C "$source" fetch -q --depth 1 ${1:+--filter=blob:none} origin "$commit" && git -C "$source" checkout -q --detach FETCH_HEAD
}

# source_of REPOSITORY COMMIT [/FOLDER/...]: as fetched, from TERN_TEST_MIRROR or GitHub, if they are not there yet. Fails, aloud, where they cannot
# be had. $from tells which they are.
source_of() {
    needs git || return
    from="$1 $(echo "$2" | cut -c 1-8)"
    [ "$(git -C "$source" rev-parse -q --verify HEAD 2> /dev/null)" != "$2" ] || return 0
    url=https://github.com/$1
    [ -z "$mirror" ] || url=file://$mirror/$(echo "$1" | tr / +)
    repository=$1
    shift
    echo "-- $name: fetches $url"
    fetched "$url" "$@" >> "$log" 2>&1 && return
    skip "$name" "$repository could not be fetched: $(grep -m 1 -E '^(fatal|error)' "$log" || tail -n 1 "$log")"
    return 1
}

# debian_of PACKAGE: what the package has, unpacked in $built/debian. Fails, aloud, where it cannot be had.
debian_of() {
    needs apt-get dpkg-deb || return
    mkdir -p "$home/debian" "$built"
    (cd "$home/debian" && { ls "$1"_*.deb || apt-get download -q "$1"; } && dpkg-deb -x "$1"_*.deb "$built/debian") >> "$log" 2>&1 && return
    skip "$name" "the package $1 could not be had: $(tail -n 1 "$log")"
    return 1
}

# to_build: makes $built an empty folder. Fails if it is whole and TERN_TEST_KEEP has it stay.
to_build() {
    [ -z "${TERN_TEST_KEEP:-}" ] || ! [ -e "$built/.whole" ] || return 1
    echo "-- $name: builds ${from:-it}"
    rm -rf "$built"
    mkdir -p "$built"
}

# copied: $built gets a copy of the sources.
copied() { git -C "$source" archive HEAD | tar -x -C "$built"; }

# whole: tells that $built is, unless a step has failed.
whole() { [ -s "$place/broken" ] || : > "$built/.whole"; }

# program NAME COMMAND...: a line for `programs` that builds the program NAME of $built by `COMMAND... -o NAME`, in that folder. The shell splits the
# command at blanks, which the path of $source may have: ../source has none.
program() {
    echo "$1" >> "$built/.programs"
    mkdir -p "$built/$(dirname "$1")"
    result=$1
    shift
    echo "$* -o $result"
}

# programs: builds those of its input, $jobs at once. Which of them fail to build, the run tells.
programs() {
    # shellcheck disable=SC2016
    (cd "$built" && xargs -d '\n' -P "$jobs" -n 1 sh -c 'eval "$1" || echo "failed: $1"' _) >> "$log" 2>&1
}

# state: the commit of Tern whose tree this is, with + if files differ from it, and the day.
state() {
    echo "$(git -C "$root" describe --always --abbrev=8 --exclude='*' --dirty=+ 2> /dev/null || echo unknown), $(date -u +%Y-%m-%d)"
}

# row TITLE BUILT-FOR PASSED OWN MISSED SKIPPED UNEXPECTED: a line of the table, here and for the file.
row() {
    printf '%-58.58s %-13s %6s %9s %6s %7s %10s\n' "$@" >> "$place/table"
    [ -z "${home:-}" ] || echo "| $1 | $2 | $3 | $4 | $5 | $6 | $7 | $(state) |" >> "$home/rows"
}

# because TITLE: the reasons in $place/reasons, lines of a word of the list and a reason, with their numbers for the file.
because() {
    [ -z "${home:-}" ] || sort "$place/reasons" | uniq -c |
        awk -v title="$1" '{ n = $1; word = $2; $1 = $2 = ""; sub(/^ */, ""); print "| " title " | " n " | " word " | " $0 " |" }' >> "$home/reasons"
}

# tables: the file with the rows and reasons of all suites that have run, the newest of each.
tables() {
    {
        echo '| suite | built for | passed | own fault | missed | skipped | unexpected | Tern |'
        echo '|---|---|---|---|---|---|---|---|'
        cat "$work"/*/rows
        echo
        echo '| suite | tests | what | reason |'
        echo '|---|---|---|---|'
        cat "$work"/*/reasons
    } > "$work/table.md"
    echo "$work/table.md has the table of all suites, and the reasons of each."
}
