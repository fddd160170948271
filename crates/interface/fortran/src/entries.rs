//! The Rust text of the external procedures.
//!
//! Each routine becomes up to two bodies, each once over `MPI_X` and once over `PMPI_X`: one whose buffers are
//! addresses, for `mpif.h` and the module `mpi` (and for mpi_f08 where no buffer is), and one whose buffers are
//! descriptors, for mpi_f08:
//!
//! ```text
//! unsafe extern "C" fn m_send(buf: P, count: P, datatype: P, dest: P, tag: P, comm: P, ierror: P) {
//!     // SAFETY: …
//!     unsafe {
//!         let code = c::MPI_Send(sentinel::buffer(buf), get::<c_int>(count), face::datatype_in(datatype), …);
//!         set_ierror(ierror, code);
//!     }
//! }
//! names!(m_send: mpi_send_ mpi_send mpi_send__ MPI_SEND);
//! ```

use crate::manglings;
use crate::routine::{Access, Arg, Base, Role, Routine, routines};
use std::fmt::Write;
use tern_table::Tables;

/// Procedures that are no functions of the tables; bodies in `runtime/custom.rs`.
const EXTRA: [&str; 4] = ["F_sync_reg", "Status_f2f08", "Status_f082f", "F_sync_reg_f08ts"];

/// The predefined callbacks; bodies in `runtime/callback.rs`.
const PREDEFINED: [&str; 14] = [
    "COMM_DUP_FN",
    "COMM_NULL_COPY_FN",
    "COMM_NULL_DELETE_FN",
    "TYPE_DUP_FN",
    "TYPE_NULL_COPY_FN",
    "TYPE_NULL_DELETE_FN",
    "WIN_DUP_FN",
    "WIN_NULL_COPY_FN",
    "WIN_NULL_DELETE_FN",
    "DUP_FN",
    "NULL_COPY_FN",
    "NULL_DELETE_FN",
    "CONVERSION_FN_NULL",
    "CONVERSION_FN_NULL_C",
];

/// What MPI-3.0 removed; bodies in `runtime/removed.rs`.
const REMOVED: [&str; 10] = [
    "Address",
    "Type_extent",
    "Type_lb",
    "Type_ub",
    "Type_hvector",
    "Type_hindexed",
    "Type_struct",
    "Errhandler_create",
    "Errhandler_get",
    "Errhandler_set",
];

/// Buffers of one element, or of what another call has named: their address is all that counts.
const ADDRESS_ONLY: [&str; 7] = [
    "Compare_and_swap",
    "Fetch_and_op",
    "Free_mem",
    "Get_address",
    "File_read_all_end",
    "File_write_all_end",
    "Win_detach",
];

/// Buffers that hold more than one piece of `count` elements (a partition, or a block for each process).
const PIECES: [&str; 6] = ["gather", "scatter", "alltoall", "send_init", "recv_init", "reduce_scatter_block"];

/// The procedures of mpi_f08 that a library has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum F08 {
    None,
    /// Buffers are addresses, large counts are missing, and one mangling is there: Open MPI's library.
    Addresses,
    /// Buffers are descriptors: MPI 5.0.
    Sections,
}

/// The text to be included in a module with the names of the runtime: the procedures of `mpif.h`, and those of mpi_f08.
pub fn entries(tables: &Tables, f08: F08) -> String {
    let with_f08 = f08 == F08::Sections;
    let mut out = String::new();
    for routine in routines(tables).iter().filter(|r| with_f08 || !r.is_f08_only()) {
        for tool in [false, true] {
            Entry { routine, tool, sections: false, f08 }.write(&mut out);
            if with_f08 && routine.has_choice() {
                Entry { routine, tool, sections: true, f08 }.write(&mut out);
            }
        }
    }
    for tool in ["MPI", "PMPI"] {
        for name in EXTRA.iter().filter(|name| with_f08 || !name.ends_with("ts")) {
            exports(&mut out, &format!("custom::{}", name.to_lowercase()), &[format!("{tool}_{name}")]);
        }
        for name in REMOVED {
            exports(&mut out, &format!("removed::{}", name.to_lowercase()), &[format!("{tool}_{name}")]);
        }
        // In mpi_f08 they have its names.
        for name in EXTRA[1..3].iter().filter(|_| with_f08) {
            exports(&mut out, &format!("custom::{}", name.to_lowercase()), &[format!("{tool}_{name}_f08")]);
        }
        for name in ["Alloc_mem", "Win_allocate", "Win_allocate_shared", "Win_shared_query"] {
            let letter = tool.chars().next().unwrap_or_default().to_lowercase();
            exports(&mut out, &format!("{letter}_{}", name.to_lowercase()), &[format!("{tool}_{name}_cptr")]);
        }
    }
    if with_f08 {
        for (name, _) in crate::modules::SIZED {
            if crate::modules::LOGICALS.contains(&name) {
                exports(&mut out, &format!("custom::sizeof_{name}"), &[format!("tern_sizeof_{name}")]);
            } else {
                let _ = writeln!(out, "names!(custom::sizeof: tern_sizeof_{name});");
            }
        }
        for (name, _) in crate::modules::WIDE {
            exports(&mut out, &format!("custom::sizeof_{name}"), &[format!("tern_sizeof_{name}")]);
        }
        out.push_str("names!(probe::section: tern_probe_section);\n");
        exports(&mut out, "probe::texts", &["ternprobetexts".into()]);
    }
    for name in PREDEFINED {
        exports(&mut out, &format!("callback::{}", name.to_lowercase()), &[format!("MPI_{name}")]);
    }
    out
}

/// The C functions that the bodies call, as foreign functions.
pub fn declarations(tables: &Tables) -> String {
    let mut out = String::from("unsafe extern \"C\" {\n");
    for function in tables.functions().filter(|f| !f.tool) {
        for &large in function.forms() {
            // Their count is an int in the standard ABI, which takes the lower half of this one, and MPI_Count elsewhere.
            let partitioned = ["Psend_init", "Precv_init"].contains(&function.name.as_str());
            let ffi = |p| match tables.kind(p) {
                kind if kind.c[0] == "MPI_File %" => "File",
                kind if partitioned && kind.name == "count" => "i64",
                kind => kind.ffi(large),
            };
            let params: Vec<String> = function.params.iter().map(|p| format!("{}: {}", p.name, ffi(p))).collect();
            let result = match function.returns.as_str() {
                "" => "c_int",
                "double" => "f64",
                "aint" => "i64",
                "file" => "File",
                _ => "Handle",
            };
            for name in function.full_names(large) {
                for tool in ["", "P"] {
                    let _ = writeln!(out, "    pub fn {tool}{name}({}) -> {result};", params.join(", "));
                }
            }
        }
    }
    out.push_str("}\n");
    out
}

fn exports(out: &mut String, body: &str, names: &[String]) {
    let all: Vec<String> = names.iter().flat_map(|name| manglings(name)).collect();
    let _ = writeln!(out, "names!({body}: {});", all.join(" "));
}

struct Entry<'a> {
    routine: &'a Routine<'a>,
    /// The PMPI_ form.
    tool: bool,
    /// Buffers are descriptors.
    sections: bool,
    f08: F08,
}

impl Entry<'_> {
    fn tool_letter(&self) -> &str {
        if self.tool { "P" } else { "" }
    }

    fn body_name(&self, suffix: &str) -> String {
        let letter = if self.tool { 'p' } else { 'm' };
        let extension = if self.routine.prefix == "MPI_" { "" } else { "x" };
        format!("{letter}{extension}_{}{suffix}", self.routine.name().to_lowercase())
    }

    fn write(&self, out: &mut String) {
        let name = format!("{}{}", self.tool_letter(), self.routine.full_name());
        if self.sections {
            let body = self.body_name("_f08ts");
            self.body(out, &body, true);
            exports(out, &body, &[format!("{name}_f08ts")]);
            return;
        }
        let body = self.body_name("");
        let mut names = Vec::new();
        if !self.routine.is_f08_only() {
            names.push(name.clone());
        }
        let old = self.f08 == F08::Addresses;
        let apart = self.f08 == F08::Sections && self.routine.has_choice();
        let f08 = self.f08 != F08::None && self.routine.in_f08() && !apart;
        let f08_name = format!("{name}_f08");
        if f08 && !self.routine.differs_in_f08() && !old {
            names.push(f08_name.clone());
        }
        if !names.is_empty() {
            self.body(out, &body, false);
            exports(out, &body, &names);
        }
        let mut f08_body = body;
        if f08 && self.routine.differs_in_f08() {
            f08_body = self.body_name("_f08");
            self.body(out, &f08_body, true);
            if !old {
                exports(out, &f08_body, std::slice::from_ref(&f08_name));
            }
        }
        if f08 && old {
            let _ = writeln!(out, "names!({f08_body}: {}_);", f08_name.to_lowercase());
        }
    }

    fn parameters(&self) -> Vec<String> {
        let mut names: Vec<String> = self.routine.shown().map(|a| a.name.clone()).collect();
        if self.routine.has_ierror() {
            names.push("ierror".into());
        }
        names
    }

    /// The body. `f08` tells what detached buffers do.
    fn body(&self, out: &mut String, name: &str, f08: bool) {
        let mut params: Vec<String> = self.parameters().iter().map(|p| format!("{p}: P")).collect();
        let texts = self.routine.shown().filter(|a| a.base == Base::Text);
        // Characters of procedures with the attribute BIND(C) come as descriptors.
        let lengths: Vec<String> = texts.map(|a| format!("{}_length", a.name)).filter(|_| !self.sections).collect();
        params.extend(lengths.iter().map(|l| format!("{l}: usize")));
        let result = match self.routine.result() {
            "double" => " -> f64",
            "aint" => " -> i64",
            _ => "",
        };
        let _ = writeln!(out, "unsafe extern \"C\" fn {name}({}){result} {{", params.join(", "));
        out.push_str("    // SAFETY: the program gives what MPI asks for.\n    unsafe {\n");
        let c = format!("c::{}{}", self.tool_letter(), self.routine.full_name());
        if self.routine.is_custom() {
            let args: Vec<String> = self.parameters().into_iter().chain(lengths).collect();
            let custom = self.routine.name().to_lowercase();
            let _ = writeln!(out, "        custom::{custom}({c}, {})\n    }}\n}}", args.join(", "));
            return;
        }
        let mut text = Text {
            entry: self,
            f08,
            before: String::new(),
            passed: Vec::new(),
            after: String::new(),
            replaced: Vec::new(),
            copied: Vec::new(),
        };
        for arg in &self.routine.args {
            text.convert(arg);
        }
        text.give_copies();
        let Text { before, passed, after, .. } = text;
        let passed = passed.join(", ");
        // Old interfaces have one form in C too, and its count is large.
        let two_forms = self.f08 == F08::Sections && self.routine.args.iter().any(|a| self.is_wide(a));
        let call = match two_forms {
            true => format!("if is_int(count_c) {{ {c}({passed}) }} else {{ {c}_c({passed}) }}"),
            false => format!("{c}({passed})"),
        };
        let _ = write!(out, "{before}        let code = {call};\n{after}");
        out.push_str("        set_ierror(ierror, code);\n    }\n}\n");
    }

    /// A large count of a procedure without large-count form, for which one of two C functions is called.
    fn is_wide(&self, arg: &Arg) -> bool {
        !self.sections && self.routine.is_wide(arg)
    }

    /// The buffers of the routine.
    fn buffers(&self) -> Vec<&Arg> {
        self.routine.args.iter().filter(|a| a.role == Role::Buffer).collect()
    }

    /// Count and datatype of a buffer, if the two describe it.
    fn described_by(&self, buffer: &Arg) -> Option<(&Arg, &Arg)> {
        let args = &self.routine.args;
        let at = args.iter().position(|a| a.name == buffer.name)?;
        let own: Vec<&Arg> = args[at + 1..].iter().take_while(|a| a.role != Role::Buffer).collect();
        let count = own.iter().find(|a| matches!(a.kind.as_str(), "count" | "count-raw"))?;
        let datatype = own.iter().find(|a| matches!(a.kind.as_str(), "datatype" | "datatype-raw"))?;
        let other = own.iter().any(|a| a.kind == "counts" || a.kind.ends_with("-counts"));
        (!other && !self.is_reduction()).then_some((count, datatype))
    }

    /// Two buffers of the same elements, which must lie as the operation takes them.
    fn is_reduction(&self) -> bool {
        self.routine.args.windows(2).any(|pair| pair.iter().all(|a| a.role == Role::Buffer))
    }

    /// The call goes on after it has returned, under a request.
    fn is_lasting(&self) -> bool {
        self.routine.args.iter().any(|a| a.kind == "request-out")
    }

    /// True if C is done with a buffer when the procedure returns, or when the request of a collective is complete.
    fn may_copy(&self) -> bool {
        let name = self.routine.function.name.to_lowercase();
        let collective = ["gather", "scatter", "alltoall", "bcast"].iter().any(|word| name.contains(word));
        let one_sided = self.routine.args.iter().any(|a| a.name == "win");
        if self.is_lasting() { collective } else { !one_sided && !name.ends_with("_begin") }
    }

    /// What an error of this procedure is raised on.
    fn scope(&self) -> String {
        let found = self.routine.args.iter().find_map(|a| match &a.base {
            Base::Handle(name) if a.role == Role::Handle && a.access == Access::In => match name.as_str() {
                "MPI_Comm" => Some(format!("Scope::Comm(face::comm_in(get::<c_int>({})))", a.name)),
                "MPI_Win" => Some(format!("Scope::Win(face::win_in(get::<c_int>({})))", a.name)),
                "MPI_File" => Some(format!("Scope::File(face::file_in(get::<c_int>({})))", a.name)),
                _ => None,
            },
            _ => None,
        });
        found.unwrap_or("Scope::None".into())
    }
}

/// The parts of a body as they grow.
struct Text<'a> {
    entry: &'a Entry<'a>,
    f08: bool,
    before: String,
    passed: Vec<String>,
    after: String,
    /// Counts and datatypes for which those of a section are passed.
    replaced: Vec<String>,
    /// Buffers that are copied if they are not contiguous.
    copied: Vec<String>,
}

impl Text<'_> {
    fn before(&mut self, line: String) {
        let _ = writeln!(self.before, "        {line}");
    }

    fn after(&mut self, line: String) {
        let _ = writeln!(self.after, "        {line}");
    }

    fn convert(&mut self, arg: &Arg) {
        let name = &arg.name;
        if self.replaced.contains(name) {
            return self.passed.push(format!("{name}_of_section as _"));
        }
        match arg.role {
            _ if self.entry.is_wide(arg) => {
                self.before(format!("let {name}_c = get::<i64>({name});"));
                self.passed.push(format!("{name}_c"));
            }
            Role::Absent => self.passed.push(if arg.ffi == "c_int" { "0" } else { "null()" }.into()),
            Role::Value => self.passed.push(format!("get::<{}>({name})", arg.ffi)),
            Role::Pass if arg.kind.ends_with("-function") => {
                self.passed.push(format!("face::{}({name})", arg.kind.replace('-', "_")));
            }
            Role::Pass => self.passed.push(name.clone()),
            Role::Handle => self.handle(arg),
            Role::Handles => self.handles(arg),
            Role::Logical if arg.access == Access::In => self.passed.push(format!("logical::get({name})")),
            Role::Logical => {
                self.result(name);
                self.after(format!("logical::give({name}, {name}_c);"));
            }
            Role::Logicals => {
                let (make, len) = (if arg.access == Access::In { "read" } else { "unset" }, &arg.len);
                self.before(format!("let mut {name}_c = logical::Array::{make}({name}, get::<c_int>({len}));"));
                self.passed.push(format!("{name}_c.address()"));
                if arg.access == Access::Out {
                    self.after(format!("{name}_c.give({name});"));
                }
            }
            Role::Buffer if self.entry.sections => self.section(arg),
            Role::Buffer => self.passed.push(format!("sentinel::buffer({name})")),
            Role::Status => self.passed.push(format!("sentinel::status({name})")),
            Role::Statuses => self.passed.push(format!("sentinel::statuses({name})")),
            Role::Weights => self.passed.push(format!("sentinel::weights({name})")),
            Role::Text => self.text(arg),
            Role::Index => {
                self.result(name);
                self.after(format!("give_index({name}, {name}_c);"));
            }
            Role::Outcount => {
                self.result(name);
                self.after(format!("give({name}, {name}_c);"));
            }
            Role::Indices => {
                self.passed.push(name.clone());
                self.after(format!("indices_from_1({name}, outcount_c);"));
            }
            Role::Detached => {
                self.before(format!("let mut {name}_c: P = null();"));
                self.passed.push(format!("(&raw mut {name}_c).cast()"));
                if self.f08 {
                    self.after(format!("sentinel::give_buffer(code, {name}, {name}_c);"));
                } else {
                    self.after(format!("let _ = {name};"));
                }
            }
        }
    }

    /// A number that C gives, in a variable of the body: a call that fails need not set it.
    fn result(&mut self, name: &str) {
        self.before(format!("let mut {name}_c = UNSET;"));
        self.passed.push(format!("(&raw mut {name}_c).cast()"));
    }

    /// A handle is given to the program if C has set it, and if it is another than before: it may be a constant.
    fn handle(&mut self, arg: &Arg) {
        let (name, class) = (&arg.name, class(arg));
        if arg.access == Access::In {
            self.passed.push(format!("face::{class}_in(get::<c_int>({name}))"));
            return;
        }
        let was = match arg.access {
            Access::Out if class == "file" => "face::FILE_UNSET".into(),
            Access::Out => "face::UNSET".into(),
            _ => format!("face::{class}_in(get::<c_int>({name}))"),
        };
        self.before(format!("let {name}_was = {was};"));
        self.before(format!("let mut {name}_c = {name}_was;"));
        self.passed.push(format!("(&raw mut {name}_c).cast()"));
        self.after(format!("if {name}_c != {name}_was {{ put({name}, face::{class}_out({name}_c)); }}"));
    }

    fn handles(&mut self, arg: &Arg) {
        let (name, class) = (&arg.name, class(arg));
        let len = match (arg.len.as_str(), arg.kind.as_str()) {
            ("", "peer-types") => format!("peers({})", self.significant(arg)),
            ("", _) => format!("neighbours({}, {})", self.significant(arg), name.starts_with("recv")),
            (len, _) => format!("length(get::<{}>({len}))", self.ffi(len)),
        };
        let read = if arg.access == Access::Out { "unset" } else { "read" };
        let (function, scope) = (format!("\"{}\"", self.entry.routine.full_name()), self.entry.scope());
        self.before(format!("let mut {name}_c = Handles::{read}({name}, {len}, face::{class}_in);"));
        self.before(format!(
            "if let Some(fault) = {name}_c.fault() {{ return refuse({function}, \"{name}\", fault, {scope}, ierror); }}"
        ));
        self.passed.push(format!("{name}_c.address()"));
        match arg.access {
            Access::In => {}
            Access::Out => self.after(format!("{name}_c.give({name}, face::{class}_out);")),
            Access::InOut => self.after(format!("{name}_c.give_changed({name}, face::{class}_in, face::{class}_out);")),
        }
    }

    fn ffi(&self, name: &str) -> &'static str {
        self.entry.routine.args.iter().find(|a| a.name == name).map_or("c_int", |a| a.ffi)
    }

    /// Communicator and send buffer: datatypes beside MPI_IN_PLACE are not looked at.
    fn significant(&self, arg: &Arg) -> String {
        let comm = "face::comm_in(get::<c_int>(comm))";
        match arg.name.starts_with("send") {
            true if self.entry.sections => format!("{comm}, !sentinel::is_in_place((*section(sendbuf)).address)"),
            true => format!("{comm}, !sentinel::is_in_place(sendbuf)"),
            false => format!("{comm}, true"),
        }
    }

    fn text(&mut self, arg: &Arg) {
        let name = &arg.name;
        // A procedure with BIND(C) gets the characters as a descriptor.
        let (at, length) = match self.entry.sections {
            true => (format!("(*section({name})).address"), format!("(*section({name})).element")),
            false => (name.clone(), format!("{name}_length")),
        };
        if arg.access == Access::In {
            let read = if self.entry.routine.function.name.starts_with("Info_") { "trimmed" } else { "read" };
            self.before(format!("let {name}_c = Text::{read}({at}, {length});"));
            self.passed.push(format!("{name}_c.address()"));
        } else {
            self.before(format!("let mut {name}_c = Room::new();"));
            self.passed.push(format!("{name}_c.address()"));
            self.after(format!("{name}_c.give(code, {at}, {length});"));
        }
    }

    fn section(&mut self, arg: &Arg) {
        let routine = self.entry.routine;
        let (name, function) = (&arg.name, format!("\"{}\"", routine.full_name()));
        let (scope, buffers) = (self.entry.scope(), self.entry.buffers().len());
        if ADDRESS_ONLY.contains(&routine.function.name.as_str()) || routine.function.name.ends_with("_end") {
            self.passed.push(format!("sentinel::buffer((*section({name})).address)"));
            return;
        }
        let significant = match arg.at.as_str() {
            "root" => "is_root(face::comm_in(get::<c_int>(comm)), get::<c_int>(root))",
            _ => "true",
        };
        let (writes, lasting) = (!arg.kind.starts_with("sendbuf"), self.entry.is_lasting());
        let Some((count, datatype)) = self.entry.described_by(arg) else {
            if routine.name().to_lowercase().contains("attach") || routine.function.name == "Win_create" {
                self.before(format!(
                    "let Some({name}_c) = whole({name}, {function}, \"{name}\", {scope}, ierror) else {{ return }};"
                ));
                return self.passed.push(format!("{name}_c"));
            }
            self.before(format!(
                "let {name}_c = match Copied::open({name}, {writes}, {significant}, {lasting}) {{ Ok(copied) => copied, \
                 Err(fault) => return refuse({function}, \"{name}\", fault, {scope}, ierror) }};"
            ));
            self.passed.push(format!("{name}_c.address()"));
            return self.copied.push(format!("{name}_c"));
        };
        let (count, datatype) = (count.clone(), datatype.clone());
        let lower = routine.function.name.to_lowercase();
        let pieces = PIECES.iter().any(|p| lower.contains(p)) && (buffers > 1 || lower.starts_with('p'));
        self.before(format!(
            "let {name}_c = Section::open({name}, get::<{ffi}>({count}) as i64, \
             face::datatype_in(get::<c_int>({datatype})), {pieces});",
            ffi = count.ffi,
            count = count.name,
            datatype = datatype.name,
        ));
        if self.entry.may_copy() {
            self.before(format!(
                "let {name}_copied = match {name}_c.copied({name}, {writes}, {significant}, {lasting}) {{ \
                 Ok(copied) => copied, \
                 Err(fault) => return refuse({function}, \"{name}\", fault, {scope}, ierror) }};"
            ));
            self.passed.push(format!("{name}_copied.address()"));
            self.copied.push(format!("{name}_copied"));
        } else {
            self.before(format!(
                "if let Some(fault) = {name}_c.fault && {significant} {{ \
                 return refuse({function}, \"{name}\", fault, {scope}, ierror); }}"
            ));
            self.passed.push(format!("{name}_c.address"));
        }
        self.replace(&count.name, format!("{name}_c.count as {}", count.ffi));
        self.replace(&datatype.name, format!("{name}_c.datatype"));
    }

    /// Copies back, or leaves that to the request.
    fn give_copies(&mut self) {
        let copied = std::mem::take(&mut self.copied);
        match self.entry.is_lasting() {
            true if !copied.is_empty() => {
                self.after(format!("Copied::keep([{}], code, request_c);", copied.join(", ")));
            }
            true => {}
            false => copied.iter().for_each(|name| self.after(format!("{name}.give();"))),
        }
    }

    /// Remembers what is passed in place of a count or datatype, which come after their buffer.
    fn replace(&mut self, name: &str, by: String) {
        self.before(format!("let {name}_of_section = {by};"));
        self.replaced.push(name.into());
    }
}

/// The name of a handle's kind: `comm` for MPI_Comm.
fn class(arg: &Arg) -> String {
    match &arg.base {
        Base::Handle(name) => name.trim_start_matches("MPI_").to_lowercase(),
        other => panic!("{} is {other:?}, not a handle", arg.name),
    }
}
