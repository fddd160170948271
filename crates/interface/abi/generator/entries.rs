//! The Rust text of the C entry points.
//!
//! Each function of the table becomes one body and two exported names, `MPI_X` and `PMPI_X` (extensions: `MPIX_X`). The
//! body takes the lock, converts the parameters by kind, calls the core, and takes an error to
//! the error handler:
//!
//! ```text
//! #[inline]
//! unsafe extern "C" fn send(buf: Ptr, count: c_int, …, comm: Handle) -> c_int {
//!     let Some(_lock) = enter("MPI_Send") else { return face::outside("MPI_Send") };
//!     // SAFETY: …
//!     let call = || -> Result<()> { unsafe {
//!         let comm = convert::comm("comm", face::comm(comm))?;
//!         …
//!         api::send(buf, count, datatype, dest, tag, comm)
//!     } };
//!     match call() {
//!         Ok(()) => MPI_SUCCESS,
//!         Err(error) => face::failed(scope::comm(face::comm(comm)), "MPI_Send", error),
//!     }
//! }
//! ```
//!
//! With the flag `fast` that is `general_send`, and `send` asks the short way first.

use std::fmt::Write;
use tern_table::Tables;
use tern_table::function::{Function, Param};
use tern_table::kinds::Kind;

/// The entry points of all functions, to be included in a module that imports the names above.
pub fn entries(tables: &Tables) -> String {
    let mut out = String::new();
    for function in tables.functions() {
        for &large in function.forms() {
            let entry = Entry { tables, function, large };
            entry.exports(&mut out);
            if !function.custom {
                entry.body(&mut out);
            }
        }
    }
    out
}

/// The table of the core's functions for faces ([`tern_table::core`]).
pub fn core_table(tables: &Tables) -> String {
    let custom: Vec<String> = tables
        .functions()
        .filter(|function| function.custom)
        .flat_map(|function| function.forms().iter().map(|&large| function.c_name(large).to_lowercase()))
        .collect();
    let path = |name: &str| match name {
        extra if tern_table::core::is_extra(extra) => format!("stated::{extra}"),
        by_hand if custom.iter().any(|one| one == by_hand) => format!("custom::{by_hand}"),
        // Not the exported name, which the dynamic linker would look up, and find in the face.
        other => format!("body_{other}"),
    };
    tern_table::core::declaration(tables)
        + &tern_table::core::definition(tables, path)
        + &tern_table::core::names(tables, path)
}

struct Entry<'a> {
    tables: &'a Tables,
    function: &'a Function,
    large: bool,
}

impl Entry<'_> {
    fn params(&self) -> impl Iterator<Item = (&Param, &Kind)> {
        self.function.params.iter().map(|p| (p, self.tables.kind(p)))
    }

    fn c_name(&self) -> String {
        self.function.full_name(self.large)
    }

    fn body_name(&self) -> String {
        let module = if self.function.custom { "custom::" } else { "body_" };
        format!("{module}{}", self.function.c_name(self.large).to_lowercase())
    }

    fn core_name(&self) -> String {
        self.function.c_name(self.large && self.function.large_apart).to_lowercase()
    }

    fn signature(&self) -> String {
        let params: Vec<String> =
            self.params().map(|(p, kind)| format!("{}: {}", p.name, kind.ffi(self.large))).collect();
        format!("({}) -> {}", params.join(", "), tern_table::core::rust_return(self.function))
    }

    fn exports(&self, out: &mut String) {
        let names: Vec<&str> = self.function.params.iter().map(|p| p.name.as_str()).collect();
        let all = self.function.full_names(self.large);
        for name in all.iter().flat_map(|name| [name.clone(), format!("P{name}")]) {
            let _ = write!(
                out,
                "/// {doc}\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}{signature} {{\n    \
                 // SAFETY: the caller gives what MPI asks for.\n    \
                 unsafe {{ {body}({args}) }}\n}}\n",
                doc = self.c_name(),
                signature = self.signature(),
                body = self.body_name(),
                args = names.join(", "),
            );
        }
    }

    fn body(&self, out: &mut String) {
        let name = self.c_name();
        if self.function.fast {
            self.short_way(out);
        }
        let inline = if self.function.fast { "cold" } else { "inline" };
        let _ = writeln!(out, "#[{inline}]\nunsafe extern \"C\" fn {}{} {{", self.general_name(), self.signature());
        self.peek(out);
        if self.function.later {
            let _ = writeln!(
                out,
                "    match fast::{}_later({}) {{\n        Some(Ok(())) => return MPI_SUCCESS,\n        \
                 Some(Err(error)) => return face::failed({}, \"{name}\", error),\n        None => {{}}\n    }}",
                self.core_name(),
                self.unchecked(),
                self.scope(),
            );
        }
        if self.function.any_time {
            out.push_str("    let _lock = enter_any_time();\n");
        } else {
            let outside = match self.makes() {
                Some(_) => format!("face::outside_of({}, \"{name}\")", self.scope()),
                None => format!("face::outside(\"{name}\")"),
            };
            let _ = writeln!(out, "    let Some(_lock) = enter(\"{name}\") else {{ return {outside} }};");
        }
        out.push_str("    let call = || -> Result<()> {\n");
        out.push_str("        // SAFETY: the caller gives what MPI asks for.\n        unsafe {\n");
        self.conversions(out);
        let _ = writeln!(out, "            api::{}({})\n        }}\n    }};", self.core_name(), self.passed());
        let failed = match self.function.tool {
            true => format!("face::tool_failed(\"{name}\", error)"),
            false => format!("face::failed({}, \"{name}\", error)", self.scope()),
        };
        let _ = writeln!(
            out,
            "    match call() {{\n        Ok(()) => MPI_SUCCESS,\n        Err(error) => {failed},\n    }}\n}}"
        );
    }

    /// The body of a function with the flag `fast`: the short way, and the general one behind it, which is a function of
    /// its own so that the short one saves no registers for it.
    fn short_way(&self, out: &mut String) {
        let _ = writeln!(out, "#[inline]\nunsafe extern \"C\" fn {}{} {{", self.body_name(), self.signature());
        self.peek(out);
        let names: Vec<&str> = self.function.params.iter().map(|p| p.name.as_str()).collect();
        let _ = writeln!(
            out,
            "    match fast::{}({}) {{\n        Some(Ok(())) => MPI_SUCCESS,\n        \
             Some(Err(error)) => face::failed({}, \"{}\", error),\n        \
             // SAFETY: the caller gives what MPI asks for.\n        None => unsafe {{ {}({}) }},\n    }}\n}}",
            self.core_name(),
            self.unchecked(),
            self.scope(),
            self.c_name(),
            self.general_name(),
            names.join(", "),
        );
    }

    /// The name of the function that does what the table says.
    fn general_name(&self) -> String {
        if self.function.fast { format!("general_{}", self.c_name().to_lowercase()) } else { self.body_name() }
    }

    /// Reads a handle that the call changes, for its error handler.
    fn peek(&self, out: &mut String) {
        if let Some((p, _, true)) = self.scoped() {
            let name = &p.name;
            let _ = writeln!(out, "    let {name}_handle = unsafe {{ convert::peek({name}) }};");
        }
    }

    /// The parameters as the core's values, without checks.
    fn unchecked(&self) -> String {
        let args = self.params().map(|(p, kind)| {
            let name = &p.name;
            match kind.name.as_str() {
                "sendbuf" | "recvbuf" | "sendbuf-or-in-place" | "recvbuf-or-in-place" | "const-memory" => {
                    format!("face::buffer({name})")
                }
                "lock-type" | "assert" => format!("face::value({name})"),
                "datatype-raw" => format!("face::datatype({name})"),
                "count" | "count-raw" => format!("{name} as i64"),
                "dest" | "source" | "target-rank" | "root" => format!("face::rank({name})"),
                "aint" => name.clone(),
                "send-tag" | "recv-tag" => format!("face::tag({name})"),
                "datatype" | "comm" | "win" | "op" => format!("face::{}({name})", kind.name),
                "status-out" => format!("unsafe {{ face::status({name}) }}"),
                "request-out" | "request-inout" | "flag-out" => format!("{name}.cast()"),
                other => panic!("{}: no fast way for parameters of kind {other}", self.c_name()),
            }
        });
        args.collect::<Vec<_>>().join(", ")
    }

    /// The arguments of the core's function.
    fn passed(&self) -> String {
        let mut args: Vec<String> = self.params().map(|(p, kind)| kind.by.replace('%', &p.name)).collect();
        args.retain(|by| by != "-");
        args.join(", ")
    }

    /// The object whose error handler is called: the first that has one.
    fn scoped(&self) -> Option<(&Param, &'static str, bool)> {
        self.params().find_map(|(p, kind)| {
            Some(match kind.name.as_str() {
                "comm" | "comm-raw" => (p, "comm", false),
                "comm-inout" => (p, "comm", true),
                "win" | "win-raw" => (p, "win", false),
                "win-inout" => (p, "win", true),
                "file" | "file-or-null" => (p, "file", false),
                "file-inout" => (p, "file", true),
                "session" => (p, "session", false),
                "session-inout" => (p, "session", true),
                "request" => (p, "request", false),
                "request-inout" => (p, "request", true),
                "message-inout" => (p, "message", true),
                _ => return None,
            })
        })
    }

    /// What a call makes that got the error handler for it.
    fn makes(&self) -> Option<&'static str> {
        let has = |name: &str| self.params().any(|(_, kind)| kind.name == name);
        let gets = self.scoped().is_none() && has("errhandler");
        gets.then(|| if has("session-out") { "session" } else { "comm" })
    }

    fn scope(&self) -> String {
        if self.params().any(|(_, kind)| kind.name == "filename") {
            return "Scope::NoFile".into();
        }
        match self.scoped() {
            None => match self.makes() {
                Some(made) => format!("scope::unmade_{made}(face::errhandler({}))", self.first("errhandler")),
                None => "Scope::None".into(),
            },
            Some((p, what, false)) => {
                format!("scope::{what}(face::{what}({}))", p.name)
            }
            Some((p, what, true)) => {
                format!("scope::{what}({}_handle)", p.name)
            }
        }
    }

    /// Converts the parameters: communicators first, then the root, which others need; buffers
    /// last, which need the counts.
    fn conversions(&self, out: &mut String) {
        let order = |kind: &Kind| match kind.name.as_str() {
            "comm" => 0,
            "root" => 1,
            _ if kind.late => 3,
            _ => 2,
        };
        for step in 0..4 {
            for (at, (p, kind)) in self.params().enumerate() {
                if order(kind) == step && !kind.to.is_empty() {
                    let value = self.conversion(at, p, kind);
                    let _ = writeln!(out, "            let {} = {value};", p.name);
                }
            }
        }
    }

    fn conversion(&self, at: usize, p: &Param, kind: &Kind) -> String {
        let mut to = kind.to.replace('%', &p.name).replace("{name}", &format!("\"{}\"", p.name));
        to = to.replace("{wide}", if self.large { "true" } else { "false" });
        let len = if p.len.is_empty() { "0".into() } else { format!("{} as i64", p.len) };
        to = to.replace("{len}", &len);
        if to.contains("{items}") {
            to = to.replace("{items}", &self.items_of(at));
        }
        if to.contains("{comm}") {
            to = to.replace("{comm}", &self.comm());
        }
        if to.contains("{count}") {
            to = to.replace("{count}", &self.count_of(at)).replace("{type}", &self.type_of(at));
        }
        let mut conditions = Vec::new();
        if !p.at.is_empty() {
            conditions.push(format!("convert::at_{}({}, &{})", p.at, self.root(), self.comm()));
        }
        if let Some(buffer) = self.owner(at).filter(|_| kind.belongs_to_buffer()) {
            conditions.push(format!("!face::is_in_place({buffer})"));
        }
        if conditions.is_empty() {
            return to;
        }
        assert!(!kind.unused.is_empty(), "{}: {} needs `unused`", self.c_name(), kind.name);
        format!("if {} {{ {to} }} else {{ {} }}", conditions.join(" && "), kind.unused)
    }

    fn first(&self, kind: &str) -> String {
        let found = self.params().find(|(_, k)| k.name == kind);
        found.unwrap_or_else(|| panic!("{}: no {kind}", self.c_name())).0.name.clone()
    }

    fn comm(&self) -> String {
        self.first("comm")
    }

    fn root(&self) -> String {
        self.first("root")
    }

    /// The buffer that may be MPI_IN_PLACE and owns parameter `at`.
    fn owner(&self, at: usize) -> Option<&str> {
        let before: Vec<_> = self.params().take(at).collect();
        let (p, kind) = before.into_iter().rev().find(|(_, k)| k.is_buffer())?;
        kind.name.ends_with("in-place").then_some(p.name.as_str())
    }

    /// The nearest parameter from `at` on, else before it, that `is` accepts.
    fn nearest(&self, at: usize, is: impl Fn(&Kind) -> bool) -> Option<(&Param, &Kind)> {
        let all: Vec<_> = self.params().collect();
        let after = all[at..].iter().find(|(_, k)| is(k));
        after.or_else(|| all[..at].iter().rev().find(|(_, k)| is(k))).copied()
    }

    /// The count of the buffer `at`, or 0 when there is none or there are many.
    fn count_of(&self, at: usize) -> String {
        let counts = ["count", "counts", "own-counts", "peer-counts"];
        match self.nearest(at, |k| counts.contains(&k.name.as_str())) {
            Some((p, kind)) if kind.name == "count" => p.name.clone(),
            _ => "0".into(),
        }
    }

    /// The number of elements of datatype `at`, which stands before it; 1 when there are many or an operation is applied.
    fn items_of(&self, at: usize) -> String {
        let counts = ["count", "counts", "own-counts", "peer-counts"];
        let before: Vec<_> = self.params().take(at).collect();
        let count =
            before.iter().rev().find(|(_, kind)| counts.contains(&kind.name.as_str()) || kind.name == "datatype");
        match count {
            Some((p, kind)) if kind.name == "count" && !self.params().any(|(_, kind)| kind.name == "op") => {
                p.name.clone()
            }
            _ => "1".into(),
        }
    }

    fn type_of(&self, at: usize) -> String {
        match self.nearest(at, |k| ["datatype", "types", "peer-types"].contains(&k.name.as_str())) {
            Some((p, kind)) if kind.name == "datatype" => format!("Some(&{})", p.name),
            _ => "None".into(),
        }
    }
}
