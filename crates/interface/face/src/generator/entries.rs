//! The Rust text of a face's functions.
//!
//! Each function of the tables becomes a body and two exported names:
//!
//! ```text
//! unsafe extern "C" fn body_send(buf: Ptr, count: c_int, datatype: H, dest: c_int, tag: c_int, comm: H) -> c_int {
//!     unsafe {
//!         let a_datatype = datatype_in::<F>(datatype);
//!         …
//!         code_out::<F>((core().send)(a_buf, a_count, a_datatype, a_dest, a_tag, a_comm))
//!     }
//! }
//! ```

use super::rules::{self, Rule};
use std::fmt::Write;
use tern_table::Tables;
use tern_table::function::Function;

/// The functions of a face. The text is to be included in a module where `F` is the face, `H` its handles and `FH` its
/// files, with the names of `tern_face` in scope. `but` names functions that the face has its own of.
pub fn entries(tables: &Tables, but: &[&str]) -> String {
    let mut out = String::new();
    for function in tables.functions() {
        for &large in function.forms() {
            let entry = Entry { tables, function, large };
            if !but.contains(&entry.name().as_str()) {
                entry.write(&mut out);
            }
        }
    }
    out
}

struct Entry<'a> {
    tables: &'a Tables,
    function: &'a Function,
    large: bool,
}

impl Entry<'_> {
    fn name(&self) -> String {
        self.function.c_name(self.large)
    }

    fn write(&self, out: &mut String) {
        let rules: Vec<Rule> = (0..self.function.params.len())
            .map(|at| self.adapted(rules::of(self.tables, self.function, self.large, at), at))
            .collect();
        let params: Vec<String> =
            self.function.params.iter().zip(&rules).map(|(p, rule)| format!("{}: {}", p.name, rule.ty)).collect();
        let signature = format!("({}) -> {}", params.join(", "), self.result());
        let names: Vec<&str> = self.function.params.iter().map(|p| p.name.as_str()).collect();
        let body = format!("body_{}", self.name().to_lowercase());
        let all = self.function.full_names(self.large);
        for name in all.iter().flat_map(|name| [name.clone(), format!("P{name}")]) {
            let _ = write!(
                out,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}{signature} {{\n    unsafe {{ {body}({}) }}\n}}\n",
                names.join(", "),
            );
        }
        let inline = if self.function.fast || ["Waitall", "Iallreduce"].contains(&self.function.name.as_str()) {
            "inline(always)"
        } else {
            "inline(never)"
        };
        let _ = writeln!(out, "#[{inline}]\npub unsafe extern \"C\" fn {body}{signature} {{\n    unsafe {{");
        if self.function.custom {
            let _ = writeln!(out, "        {}", self.by_hand());
        } else {
            self.body(&rules, out);
        }
        out.push_str("    }\n}\n");
    }

    fn result(&self) -> &'static str {
        match self.function.returns.as_str() {
            "" => "c_int",
            "double" => "f64",
            "aint" => "i64",
            "file" => "FH",
            _ => "H",
        }
    }

    fn body(&self, rules: &[Rule], out: &mut String) {
        // Handles first: lengths of arrays are asked of them.
        let simple = |rule: &Rule| rule.before.is_empty();
        for pass in [true, false] {
            for (p, rule) in self.function.params.iter().zip(rules).filter(|(_, rule)| simple(rule) == pass) {
                for line in &rule.before {
                    let _ = writeln!(out, "        {line}");
                }
                let _ = writeln!(out, "        let a_{} = {};", p.name, rule.arg);
            }
        }
        let after: Vec<&String> = rules.iter().flat_map(|rule| &rule.after).collect();
        let mut on_success: Vec<String> = rules.iter().flat_map(|rule| rule.on_success.clone()).collect();
        on_success.extend(self.more_on_success());
        let _ = writeln!(out, "        let code = {};", self.call());
        for line in after {
            let _ = writeln!(out, "        {line}");
        }
        if !on_success.is_empty() {
            let _ =
                writeln!(out, "        if code == 0 {{\n            {}\n        }}", on_success.join("\n            "));
        }
        out.push_str("        code_out::<F>(code)\n");
    }

    /// The rules of functions that go another way.
    fn adapted(&self, mut rule: Rule, at: usize) -> Rule {
        let param = &self.function.params[at];
        let kind = self.tables.kind(param).name.as_str();
        let raw = |rule: Rule| Rule { ty: rule.ty, arg: param.name.clone(), ..Rule::default() };
        match self.name().as_str() {
            // The function has MPI_Count counts in the old interfaces, which know no large-count form of it.
            "Psend_init" | "Precv_init" if kind == "count" => rule.ty = "i64".into(),
            "Type_create_struct" if kind == "types" => return raw(rule),
            "Type_get_contents" | "Type_get_contents_c" if kind == "types-out" => return raw(rule),
            "Comm_spawn" if kind == "info" => return raw(rule),
            "Comm_spawn_multiple" if kind == "infos" => return raw(rule),
            _ => {}
        }
        rule
    }

    /// What gives the standard code.
    fn call(&self) -> String {
        let args: Vec<String> = self.function.params.iter().map(|p| format!("a_{}", p.name)).collect();
        let list = args.join(", ");
        let last = |n: usize| args.get(n).cloned().unwrap_or_default();
        let errhandler =
            |kind: i32| format!("callbacks::create_errhandler::<F, {kind}>({}, {}.cast())", last(0), last(1));
        let keyval = |kind: &str| format!("callbacks::create_keyval::<F>(Kind::{kind}, {list})");
        match self.name().as_str() {
            "Abi_get_version" => format!("special::abi_get_version({list})"),
            "Get_version" => format!("special::get_version::<F>({list})"),
            "Abi_get_fortran_info" => format!("special::abi_get_fortran_info({list})"),
            "Op_create" => format!("callbacks::create_op::<F>({}, {}, {}.cast(), false)", last(0), last(1), last(2)),
            "Op_create_c" => format!("callbacks::create_op::<F>({}, {}, {}.cast(), true)", last(0), last(1), last(2)),
            "Comm_create_errhandler" => errhandler(0),
            "Win_create_errhandler" => errhandler(1),
            "File_create_errhandler" => errhandler(2),
            "Session_create_errhandler" => errhandler(3),
            "Comm_create_keyval" | "Keyval_create" => keyval("Comm"),
            "Type_create_keyval" => keyval("Datatype"),
            "Win_create_keyval" => keyval("Win"),
            "Grequest_start" => format!("callbacks::start_grequest::<F>({}, {}.cast())", args[..4].join(", "), last(4)),
            "Register_datarep" => format!("callbacks::register_datarep::<F>({list}, false)"),
            "Register_datarep_c" => format!("callbacks::register_datarep::<F>({list}, true)"),
            "Type_create_struct" => {
                format!("old::type_create_struct::<F>({}, {}.cast())", args[..4].join(", "), last(4))
            }
            "Type_get_contents" => format!("special::type_get_contents::<F>({list})"),
            "Type_get_contents_c" => format!("special::type_get_contents_c::<F>({list})"),
            "Comm_spawn" => format!("special::comm_spawn::<F>({list})"),
            "Comm_spawn_multiple" => format!("special::comm_spawn_multiple::<F>({list})"),
            "Psend_init" | "Precv_init" => format!("(core().{}_c)({list})", self.name().to_lowercase()),
            name => format!("(core().{})({list})", name.to_lowercase()),
        }
    }

    fn more_on_success(&self) -> Option<String> {
        let keyval = match self.name().as_str() {
            "Attr_get" => "keyval",
            "Comm_get_attr" => "comm_keyval",
            "Win_get_attr" => "win_keyval",
            _ => return None,
        };
        Some(format!("special::convert_attribute::<F>(a_{keyval}, attribute_val, flag);"))
    }

    /// The body of a function that is written by hand in the core too.
    fn by_hand(&self) -> String {
        let name = self.name();
        let first = self.function.params.first().map_or("", |p| p.name.as_str());
        let variant = |object: &str| match object {
            "Type" => "Datatype".to_owned(),
            other => other.to_owned(),
        };
        if let Some(object) = name.strip_suffix("_toint") {
            return match object {
                "File" => format!("F::file_to_int({first})"),
                _ => format!("F::to_int(Kind::{}, {first})", variant(object)),
            };
        }
        if let Some(object) = name.strip_suffix("_fromint") {
            return match object {
                "File" => format!("F::file_from_int({first})"),
                _ => format!("F::from_int(Kind::{}, {first})", variant(object)),
            };
        }
        if name == "Pcontrol" {
            return "0".into();
        }
        let args: Vec<&str> = self.function.params.iter().map(|p| p.name.as_str()).collect();
        format!("(core().{})({})", name.to_lowercase(), args.join(", "))
    }
}
