# Completion of @NAME@ for bash, made of `@NAME@ --help`.

_@FUNCTION@()
{
    local options='@OPTIONS@'
    local current=${COMP_WORDS[COMP_CWORD]} values=0 kind=none program=0 at word
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ $word == : ]]; then
            # The next program of the job.
            values=0 program=0
            continue
        fi
        ((program == 0)) || continue
        if [[ $word == = ]]; then
            continue
        fi
        if ((values > 0)); then
            ((values--))
            kind=none
            continue
        fi
        case $word in
@CASES@
            --) program=$((at + 1)) ;;
            -*) ;;
            *) program=$at ;;
        esac
    done
    COMPREPLY=()
    if ((program > 0 && program < COMP_CWORD)); then
        if declare -F _command_offset > /dev/null; then
            _command_offset "$program"
        else
            compopt -o default
        fi
        return
    fi
    if ((values > 0)); then
        [[ $current != = ]] || current=
        case $kind in
            folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
            file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
            command) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
            variable) mapfile -t COMPREPLY < <(compgen -v -- "$current") ;;
            words*) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$current") ;;
        esac
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -d -- "$current")
    fi
}
complete -F _@FUNCTION@ @NAME@
