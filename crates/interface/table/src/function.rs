//! The tables of functions, one file for each chapter of the standard.
//!
//! A function starts at the margin with its name after the prefix `MPI_` and its flags; its parameters
//! follow, indented, as `name:kind` (see kinds.txt). Flags:
//!
//! - `large`: has a large-count form too, `NAME_c`; one function of the core serves both.
//! - `large-apart`: the same, and a function of the core's own serves it: `name_c`.
//! - `any-time`: may be called before initialization and after finalization (MPI 5.0
//!   section 11.4); anything else is refused then.
//! - `deprecated`
//! - `tool`: returns its error code without an error handler (MPI 5.0 section 15.3.10).
//! - `returns=KIND`: does not return an error code. Such a function must be custom.
//! - `custom`: written by hand in each face (`custom.rs`), with the C parameters as they are.
//! - `fast`: the function of the same name in `tern_mpi::fast` is asked first; it gets all parameters
//!   as they are, and may decline.
//! - `also-mpix`: an extension that a coming version of the standard has: its names are `MPI_NAME` and `MPIX_NAME`.
//! - `mpix`: an extension that only implementations have: its name is `MPIX_NAME`.
//! - `later`: then `NAME_later` there is asked, in a function apart: the one before needs no registers saved for it.

use crate::kinds::Kind;

#[derive(Debug)]
pub struct Chapter {
    /// Heading, from the file's first line.
    pub title: String,
    pub functions: Vec<Function>,
}

#[derive(Debug)]
pub struct Function {
    /// Name after `MPI_` or `MPIX_`.
    pub name: String,
    pub large: bool,
    pub large_apart: bool,
    pub any_time: bool,
    pub deprecated: bool,
    pub tool: bool,
    pub custom: bool,
    pub fast: bool,
    pub later: bool,
    pub also_mpix: bool,
    pub mpix: bool,
    /// "" for an error code, else "double", "aint" or the kind of a handle.
    pub returns: String,
    pub params: Vec<Param>,
}

#[derive(Debug)]
pub struct Param {
    pub name: String,
    /// Index in the list of kinds.
    pub kind: usize,
    /// The parameter that says how many elements there are, or "".
    pub len: String,
    /// Where it is significant: "", "root", "leaf" or "taker".
    pub at: String,
}

impl Function {
    /// `[false]`, or `[false, true]` with a large-count form.
    pub fn forms(&self) -> &'static [bool] {
        if self.large { &[false, true] } else { &[false] }
    }

    pub fn c_name(&self, large: bool) -> String {
        format!("{}{}", self.name, if large { "_c" } else { "" })
    }

    /// What stands before [`Function::c_name`] in C, the first in errors and documents.
    pub fn prefixes(&self) -> &'static [&'static str] {
        match (self.mpix, self.also_mpix) {
            (true, _) => &["MPIX_"],
            (false, true) => &["MPI_", "MPIX_"],
            (false, false) => &["MPI_"],
        }
    }

    /// False for extensions.
    pub fn is_standard(&self) -> bool {
        self.prefixes() == ["MPI_"]
    }

    /// The name in C with its prefix, the first if there are several.
    pub fn full_name(&self, large: bool) -> String {
        format!("{}{}", self.prefixes()[0], self.c_name(large))
    }

    /// All names in C with their prefixes, without those of the profiling interface.
    pub fn full_names(&self, large: bool) -> Vec<String> {
        self.prefixes().iter().map(|prefix| format!("{prefix}{}", self.c_name(large))).collect()
    }

    pub fn c_return(&self) -> String {
        match self.returns.as_str() {
            "" => "int".into(),
            "double" => "double".into(),
            "datatype" => "MPI_Datatype".into(),
            name => format!("MPI_{}{}", name[..1].to_uppercase(), &name[1..]),
        }
    }
}

pub fn parse(file: &str, text: &str, kinds: &[Kind]) -> Chapter {
    // Constants follow, where the chapter has some.
    let mut lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("= "));
    let title = lines.next().and_then(|(_, l)| l.strip_prefix("# "));
    let title = title.unwrap_or_else(|| panic!("{file}.txt:1: no heading"));
    let mut functions: Vec<Function> = Vec::new();
    for (at, line) in lines {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |what: String| -> ! { panic!("{file}.txt:{}: {what}", at + 1) };
        if !line.starts_with(' ') {
            functions.push(parse_head(line).unwrap_or_else(|e| fail(e)));
            continue;
        }
        let Some(function) = functions.last_mut() else { fail("no function begun".into()) };
        for word in line.split_whitespace() {
            function.params.push(parse_param(word, kinds).unwrap_or_else(|e| fail(e)));
        }
    }
    Chapter { title: title.into(), functions }
}

fn parse_head(line: &str) -> Result<Function, String> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_string();
    let mut flags: Vec<&str> = words.collect();
    let mut take = |flag: &str| {
        let found = flags.iter().position(|f| *f == flag);
        found.map(|i| flags.remove(i)).is_some()
    };
    let mut function = Function {
        name,
        large: take("large"),
        large_apart: take("large-apart"),
        any_time: take("any-time"),
        deprecated: take("deprecated"),
        tool: take("tool"),
        custom: take("custom"),
        fast: take("fast"),
        later: take("later"),
        also_mpix: take("also-mpix"),
        mpix: take("mpix"),
        returns: String::new(),
        params: Vec::new(),
    };
    function.large |= function.large_apart;
    for flag in flags {
        match flag.strip_prefix("returns=") {
            Some(kind) => function.returns = kind.into(),
            None => return Err(format!("unknown flag {flag}")),
        }
    }
    if !function.returns.is_empty() && !function.custom {
        return Err("a function that returns no error code must be custom".into());
    }
    Ok(function)
}

fn parse_param(word: &str, kinds: &[Kind]) -> Result<Param, String> {
    let (name, rest) = word.split_once(':').ok_or(format!("{word} is not name:kind"))?;
    let (rest, at) = rest.split_once('@').unwrap_or((rest, ""));
    let (kind, len) = rest.strip_suffix(']').and_then(|r| r.split_once('[')).unwrap_or((rest, ""));
    if !["", "root", "leaf", "taker"].contains(&at) {
        return Err(format!("@{at} in {word}"));
    }
    let kind = kinds.iter().position(|k| k.name == kind).ok_or(format!("unknown kind in {word}"))?;
    Ok(Param { name: name.into(), kind, len: len.into(), at: at.into() })
}
