//! `tables/constants.txt`: the constants, and the Rust file made from them. A line `= CHAPTER PART` there stands for constants that the chapter of an
//! extension keeps beside its functions, behind a line `= PART`.

use std::fmt::Write;

/// Constants of one form under one heading.
#[derive(Debug)]
pub struct Group {
    pub form: Form,
    /// No constants of the standard.
    pub extension: bool,
    pub heading: String,
    pub constants: Vec<Constant>,
}

#[derive(Debug, PartialEq)]
pub enum Form {
    /// Handles of this C type.
    Handle(String),
    /// Ints of an enumeration, with the type's name or "".
    Enum(String),
    /// Ints, macros.
    Define,
    /// Macros of this C type.
    Pointer(String),
}

#[derive(Debug)]
pub struct Constant {
    pub name: String,
    /// A number as it is written, or another constant's name.
    pub value: String,
    pub remark: String,
}

/// The text with the parts of chapters in their places; `chapter` gives the text of one.
pub fn joined(text: &str, chapter: impl Fn(&str) -> String) -> String {
    let part = |line: &str| {
        let Some((file, part)) = line.strip_prefix("= ")?.split_once(' ') else { panic!("constants.txt: {line}") };
        let text = chapter(file);
        let parts = text.split("\n= ").skip(1).filter_map(|text| text.split_once('\n'));
        let found = parts.into_iter().find(|(name, _)| *name == part);
        Some(found.unwrap_or_else(|| panic!("{file}.txt has no part {part}")).1.trim_matches('\n').to_owned())
    };
    text.lines().map(|line| part(line).unwrap_or_else(|| line.into()) + "\n").collect()
}

pub fn parse(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let bad = || -> ! { panic!("constants.txt:{}: {line}", at + 1) };
        if !line.starts_with(' ') {
            let Some((form, heading)) = line.split_once(": ") else { bad() };
            let (extension, form) = form.strip_prefix("extension ").map_or((false, form), |form| (true, form));
            let (word, rest) = form.split_once(' ').unwrap_or((form, ""));
            let form = match word {
                "handle" => Form::Handle(rest.into()),
                "enum" => Form::Enum(rest.into()),
                "define" => Form::Define,
                "pointer" => Form::Pointer(rest.into()),
                _ => bad(),
            };
            groups.push(Group { form, extension, heading: heading.into(), constants: Vec::new() });
            continue;
        }
        let (line, remark) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (&[name, value], Some(group)) = (&words[..], groups.last_mut()) else { bad() };
        let constant = Constant { name: name.into(), value: value.into(), remark: remark.trim().into() };
        group.constants.push(constant);
    }
    groups
}

/// The text of `crates/core/mpi/src/constants.rs`.
pub fn rust(groups: &[Group]) -> String {
    let mut out = String::from(
        "//! Constants of the MPI 5.0 standard ABI (MPI 5.0 chapter 20 and annex A). The core uses the\n\
         //! standard ABI's values as its own; other binary interfaces convert at their face.\n\
         //!\n\
         //! Made from crates/interface/table/tables/constants.txt; change it there, then run\n\
         //! `UPDATE=1 cargo test -p tern-abi --test generated`.\n\n\
         #![allow(missing_docs)]\n",
    );
    for group in groups.iter().filter(|g| !g.constants.is_empty()) {
        let _ = writeln!(out, "\n// {}.", group.heading);
        let ty = match group.form {
            Form::Enum(_) | Form::Define => "i32",
            Form::Pointer(ref c) if c == "MPI_Offset" => "i64",
            Form::Handle(_) | Form::Pointer(_) => "usize",
        };
        for Constant { name, value, .. } in &group.constants {
            let _ = writeln!(out, "pub const {name}: {ty} = {value};");
        }
    }
    out
}
