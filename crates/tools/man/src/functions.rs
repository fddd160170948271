//! Pages of MPI's functions: one for each, and for its large-count form a page that leads to it.

use std::collections::BTreeMap;
use std::fmt::Write;

use tern_fortran::declare::{self, Face};
use tern_fortran::routine::{self, Routine};
use tern_table::Tables;
use tern_table::function::{Function, Param};

use crate::conversions;
use crate::page::Page;
use crate::roff::{bold, escape, italic, prose, title};
use crate::texts::Texts;

/// Longest line of a synopsis.
const WIDTH: usize = 78;

/// All files, by name.
pub fn pages(tables: &Tables) -> BTreeMap<String, Page> {
    let texts = Texts::read();
    let routines = routine::routines(tables);
    let mut pages = BTreeMap::new();
    for function in tables.functions() {
        let fortran = routines.iter().find(|routine| routine.function.name == function.name && !routine.large);
        let writer = Writer { tables, texts: &texts, function, fortran };
        let name = function.full_name(false);
        let forms = function.forms().iter().flat_map(|&large| function.full_names(large));
        for other in forms.filter(|other| *other != name) {
            pages.insert(format!("{other}.3"), Page::Same(format!("{name}.3")));
        }
        pages.insert(format!("{name}.3"), Page::Text(writer.text()));
    }
    pages.extend(conversions::pages());
    pages
}

struct Writer<'a> {
    tables: &'a Tables,
    texts: &'a Texts,
    function: &'a Function,
    /// Its form in Fortran, if it has one.
    fortran: Option<&'a Routine<'a>>,
}

impl Writer<'_> {
    fn text(&self) -> String {
        let name = self.function.full_name(false);
        let said = self.texts.functions.get(&self.function.name);
        let said = said.unwrap_or_else(|| panic!("texts/functions.txt says nothing of {name}"));
        let mut out = title(&name, 3, "MPI");
        let forms = self.function.forms().iter().flat_map(|&large| self.function.full_names(large));
        let names = forms.collect::<Vec<String>>().join(", ");
        _ = writeln!(out, ".SH NAME\n{} \\- {}", escape(&names), escape(&said.summary));
        self.synopsis(&mut out);
        self.parameters(&mut out);
        _ = writeln!(out, ".SH DESCRIPTION\n{}\n{}.", bold(&name), prose(&said.summary));
        if !said.more.is_empty() {
            _ = writeln!(out, "{}", prose(&said.more));
        }
        self.remarks(&mut out);
        self.errors(&mut out, &said.errors);
        match self.function.is_standard() {
            true => _ = writeln!(out, ".SH STANDARD\nMPI 5.0, section {} ({}).", said.section, escape(&said.title)),
            false => _ = writeln!(out, ".SH STANDARD\nNo part of MPI 5.0: {}.", escape(&said.title)),
        }
        self.see_also(&mut out, &said.section);
        out
    }

    fn synopsis(&self, out: &mut String) {
        out.push_str(".SH SYNOPSIS\n.SS C\n.nf\n#include <mpi.h>\n");
        for &large in self.function.forms() {
            let params = self
                .function
                .params
                .iter()
                .map(|param| self.tables.kind(param).c[usize::from(large)].replace('%', &param.name));
            let params: Vec<String> = params.collect();
            for name in self.function.full_names(large) {
                let head = format!("{} {name}(", self.function.c_return());
                _ = writeln!(out, ".sp\n{}", escape(&wrapped(&head, &params)));
            }
        }
        out.push_str(".fi\n");
        if let Some(routine) = self.fortran {
            out.push_str(&fortran(routine));
        }
    }

    fn parameters(&self, out: &mut String) {
        if self.function.params.is_empty() {
            return;
        }
        out.push_str(".SH PARAMETERS\n");
        for (at, param) in self.function.params.iter().enumerate() {
            let kind = self.kind(param);
            let text = self.about(at, kind.of(&param.name)).replace("[len]", &format!("*{}*", param.len));
            let at = match param.at.as_str() {
                "root" => "; significant only at the root",
                "leaf" => "; on intercommunicators not significant in the root's group",
                "taker" => "; on intercommunicators not significant where *root* is MPI_PROC_NULL",
                _ => "",
            };
            _ = writeln!(out, ".TP\n{} ({})\n{}", italic(&param.name), kind.direction, prose(&format!("{text}{at}")));
        }
    }

    fn kind(&self, param: &Param) -> &crate::texts::Kind {
        let name = &self.tables.kind(param).name;
        self.texts.kinds.get(name).unwrap_or_else(|| panic!("texts/parameters.txt says nothing of kind {name}"))
    }

    /// The text of the parameter at that place, with the buffer that it belongs to, if there is one.
    fn about(&self, at: usize, text: &str) -> String {
        let params = &self.function.params;
        let is_buffer = |param: &&Param| self.tables.kind(param).is_buffer();
        let before = params[..at].iter().rev().find(is_buffer);
        if let Some(buffer) = before.or_else(|| params[at..].iter().find(is_buffer)) {
            return text.replace('@', &buffer.name);
        }
        let of_blocks =
            params.iter().any(|param| param.name.contains("blocklength") || param.name.contains("displacements"));
        match params[at].name.as_str() {
            "count" if of_blocks => "number of blocks".into(),
            _ => text.replace(" in *@*", ""),
        }
    }

    fn remarks(&self, out: &mut String) {
        let name = &self.function.name;
        if self.function.deprecated {
            out.push_str(".PP\nThis function is deprecated.\n");
        }
        if self.function.large {
            let fortran = match self.fortran {
                Some(_) => " In mpi_f08 the same name takes integers of kind MPI_COUNT_KIND.",
                None => "",
            };
            let large = bold(&format!("MPI_{name}_c"));
            _ = writeln!(out, ".PP\n{large} takes counts of any size (MPI_Count).{fortran}");
        }
        if self.function.any_time && !begins(name) {
            out.push_str(
                ".PP\nIt may be called at any time: before MPI is initialized and after it is finalized, too.\n",
            );
        }
    }

    /// Error classes with the parameters that give them, in the order of the parameters.
    fn errors(&self, out: &mut String, more: &[String]) {
        if !self.function.returns.is_empty() {
            return;
        }
        let mut classes: Vec<(String, Vec<&str>)> = Vec::new();
        for param in &self.function.params {
            let own = match self.function.tool {
                true => tool_errors(&self.tables.kind(param).name, &param.name),
                false => self.kind(param).errors.clone(),
            };
            for class in own {
                match classes.iter_mut().find(|(known, _)| *known == class) {
                    Some((_, names)) => names.push(&param.name),
                    None => classes.push((class, vec![&param.name])),
                }
            }
        }
        let always = if self.function.tool {
            Some("T_NOT_INITIALIZED")
        } else {
            Some("OTHER").filter(|_| !self.function.any_time || begins(&self.function.name))
        };
        for class in more.iter().map(String::as_str).chain(always) {
            if classes.iter().all(|(known, _)| known != class) {
                classes.push((class.into(), Vec::new()));
            }
        }
        let returns = match self.function.tool {
            true => "It returns MPI_SUCCESS or the code of an error. No error handler is called.",
            false => "It returns MPI_SUCCESS or the code of an error, after the error handler was called.",
        };
        _ = writeln!(out, ".SH ERRORS\n{}", prose(returns));
        for (class, names) in classes {
            let text = self.texts.errors.get(&class);
            let text = text.unwrap_or_else(|| panic!("texts/errors.txt says nothing of {class}"));
            let from = names.iter().map(|name| format!("*{name}*")).collect::<Vec<String>>().join(", ");
            let text = if from.is_empty() { text.clone() } else { format!("{text}: {from}") };
            _ = writeln!(out, ".TP\n{}\n{}", bold(&class_name(&class)), prose(&text));
        }
    }

    /// The function's other forms, and those of its section, as far as they are not too many: those of a like name.
    fn see_also(&self, out: &mut String, section: &str) {
        let own = base(&self.function.name);
        let same = |name: &&String| {
            (self.texts.functions[*name].section == section || base(name) == own) && **name != self.function.name
        };
        let mut others: Vec<&String> = self.texts.functions.keys().filter(same).collect();
        let likeness = |name: &String| name.bytes().zip(self.function.name.bytes()).take_while(|(a, b)| a == b).count();
        others.sort_by_key(|name| (base(name) != own, std::cmp::Reverse(likeness(name)), name.len()));
        others.truncate(8);
        let named = self.tables.functions().filter(|function| others.contains(&&function.name));
        let mut list: Vec<String> = named.map(|function| format!(".BR {} (3)", function.full_name(false))).collect();
        list.sort();
        list.push(".BR mpicc (1)".into());
        list.push(".BR mpiexec (1)".into());
        _ = writeln!(out, ".SH SEE ALSO\n{}", list.join(" ,\n"));
    }
}

/// Whether the function initializes MPI: it may be called before, but not at any time.
fn begins(name: &str) -> bool {
    name == "Init" || name == "Init_thread"
}

/// What the nonblocking and the persistent form of a function have in common with it: its name in small letters.
fn base(name: &str) -> String {
    let name = name.strip_suffix("_init").unwrap_or(name);
    let nonblocking = name.strip_prefix('I').filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    // Names such as Init and Info are no nonblocking forms.
    nonblocking.filter(|rest| !rest.starts_with("nit") && !rest.starts_with("nfo")).unwrap_or(name).to_lowercase()
}

/// The interface of mpi_f08; of the older modules for what it does not have.
fn fortran(routine: &Routine) -> String {
    let (module, face) = if routine.in_f08() { ("mpi_f08", Face::F08) } else { ("mpi", Face::Mpi) };
    let mut names: Vec<String> = routine.shown().map(|arg| arg.name.clone()).collect();
    let arguments = routine.shown().flat_map(|arg| declare::argument(routine, arg, face, true));
    // What compilers read as directives means nothing to a reader.
    let mut lines: Vec<String> = arguments.filter(|line| !line.starts_with('!')).collect();
    if routine.has_ierror() {
        names.push("ierror".into());
        let optional = if routine.in_f08() { "INTEGER, OPTIONAL, INTENT(OUT)" } else { "INTEGER" };
        lines.push(format!("{optional} :: ierror"));
    }
    let word = if routine.result().is_empty() { "" } else { "FUNCTION " };
    let head = format!("{word}{}(", routine.full_name());
    let call = wrapped(&head, &names).replace("void", "").trim_end_matches(';').to_string();
    let mut out = format!(".SS Fortran\n.nf\nUSE {module}\n.sp\n{}\n", escape(&call));
    lines.iter().for_each(|line| _ = writeln!(out, "    {}", escape(line)));
    out + ".fi\n"
}

/// The name of a class of the texts.
pub fn class_name(class: &str) -> String {
    match class.strip_prefix("T_") {
        Some(class) => format!("MPI_T_ERR_{class}"),
        None => format!("MPI_ERR_{class}"),
    }
}

/// Classes that a wrong argument of a function of the tool interface gives.
fn tool_errors(kind: &str, name: &str) -> Vec<String> {
    let class = match kind {
        "int" if name.ends_with("index") || name == "indx" => "T_INVALID_INDEX",
        "t-string" => "T_INVALID_NAME",
        "t-pvar-session" | "t-pvar-session-inout" => "T_INVALID_SESSION",
        "t-enum" | "t-cvar" | "t-cvar-inout" | "t-pvar" | "t-pvar-inout" | "t-registration" | "t-event" => {
            "T_INVALID_HANDLE"
        }
        _ => return Vec::new(),
    };
    vec![class.into()]
}

/// A prototype, in lines that are not too long.
fn wrapped(head: &str, params: &[String]) -> String {
    let mut out = String::from(head);
    let mut length = head.len();
    if params.is_empty() {
        out.push_str("void");
    }
    for (at, param) in params.iter().enumerate() {
        let last = at + 1 == params.len();
        if at > 0 && length + param.len() + 3 > WIDTH {
            out.truncate(out.trim_end().len());
            out.push('\n');
            length = head.len().min(24);
            out.push_str(&" ".repeat(length));
        }
        let text = if last { param.clone() } else { format!("{param}, ") };
        length += text.len();
        out.push_str(&text);
    }
    out + ");"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_speak_of_what_there_is() {
        let (tables, texts) = (Tables::read(), Texts::read());
        let functions: BTreeSet<&String> = tables.functions().map(|function| &function.name).collect();
        assert_eq!(texts.functions.keys().collect::<BTreeSet<_>>(), functions);
        let constants: BTreeSet<&str> =
            tables.constants.iter().flat_map(|group| &group.constants).map(|constant| constant.name.as_str()).collect();
        for class in texts.errors.keys() {
            assert!(constants.contains(class_name(class).as_str()), "{class}");
        }
        for (name, kind) in &texts.kinds {
            let number = tables.kinds.iter().position(|known| known.name == *name);
            let number = number.unwrap_or_else(|| panic!("there is no kind {name}"));
            let params =
                || tables.functions().flat_map(|function| &function.params).filter(|param| param.kind == number);
            for named in kind.named.keys() {
                assert!(params().any(|param| param.name == *named), "no parameter {named} of kind {name}");
            }
        }
    }

    #[test]
    fn each_function_has_a_page() {
        let tables = Tables::read();
        let pages = pages(&tables);
        let converting = conversions::pages().count();
        assert_eq!((pages.len() - converting) * 2, tables.symbols().len());
        let Page::Text(page) = &pages["MPI_Recv.3"] else { panic!("no text") };
        for text in [
            "MPI_Recv, MPI_Recv_c \\- receives a message",
            "int MPI_Recv(void *buf, int count,",
            "int MPI_Recv_c(void *buf, MPI_Count count,",
            "\\fIcount\\fR (in)\nnumber of elements in \\fIbuf\\fR\n",
            "\\fBMPI_ERR_TRUNCATE\\fR\n",
            "section 3.2 (",
            "MPI_Recv(buf, count, datatype, source, tag, comm, status, ierror)\n",
            "    TYPE(*) :: buf(..)\n",
            "MPI_Irecv (3)",
        ] {
            assert!(page.contains(text), "{text} is not in {page}");
        }
        assert_eq!(pages["MPI_Recv_c.3"], Page::Same("MPI_Recv.3".into()));
    }

    #[test]
    fn forms_of_a_function_have_one_base() {
        assert!(["Bcast", "Ibcast", "Bcast_init"].iter().all(|name| base(name) == "bcast"));
        assert_eq!(["Init", "Info_set", "Isend"].map(base), ["init", "info_set", "send"]);
    }
}
