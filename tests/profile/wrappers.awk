# Writes a wrapper for every function of mpi.h but MPI_Pcontrol, whose arguments are not known: it counts the
# call and goes on to PMPI_. Usage: awk -f wrappers.awk mpi.h > wrappers.inc

# A declaration may go over several lines.
/^[A-Za-z_]+ \*?MPI_[A-Z][A-Za-z_0-9]*\(/ { text = ""; inside = 1 }
inside { text = text " " $0 }
inside && /;/ { inside = 0; wrap(text) }

function wrap(text,    head, open, name, result, arguments, count, parts, i, part, names, comm, type, number) {
    sub(/^ +/, "", text)
    open = index(text, "(")
    head = substr(text, 1, open - 1)
    name = head
    sub(/^.*[ *]/, "", name)
    result = substr(head, 1, length(head) - length(name))
    arguments = substr(text, open + 1)
    sub(/\);.*$/, "", arguments)
    if (index(arguments, "...")) return
    names = ""; comm = "MPI_COMM_NULL"; type = ""; number = ""
    count = arguments == "void" ? 0 : split(arguments, parts, /, */)
    for (i = 1; i <= count; i++) {
        part = parts[i]
        gsub(/\[[^]]*\]/, "", part)
        gsub(/^ +| +$/, "", part)
        variable = part
        sub(/^.*[ *]/, "", variable)
        names = names (i > 1 ? ", " : "") variable
        if (part ~ /^MPI_Comm [a-z_0-9]+$/ && comm == "MPI_COMM_NULL") comm = variable
        # The first count with its datatype is what the call sends, or moves.
        if (part ~ /^(int|MPI_Count) [a-z_]*count$/ && number == "" && parts[i] !~ /\[/) number = variable
        if (part ~ /^MPI_Datatype [a-z_]+$/ && type == "" && number != "" && parts[i] !~ /\[/) type = variable
    }
    bytes = type == "" ? "0" : "size_of(" number ", " type ")"
    printf "%s%s(%s)\n{\n    static struct function tool_entry = {\"%s\"};\n", result, name, arguments, name
    printf "    note_call(&tool_entry, %s, %s);\n    return P%s(%s);\n}\n\n", comm, bytes, name, names
}
