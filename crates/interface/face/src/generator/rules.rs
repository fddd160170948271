//! What a face does with a parameter, by its kind.

use tern_table::Tables;
use tern_table::function::{Function, Param};

/// The Rust text for one parameter. In it `$` is the parameter, `#` the one that tells its length, and `@` the function.
#[derive(Debug, Default)]
pub struct Rule {
    /// The type in the face's signature.
    pub ty: String,
    /// Statements before.
    pub before: Vec<String>,
    /// What the core is given.
    pub arg: String,
    /// Statements after the call.
    pub after: Vec<String>,
    /// Statements after a call without an error.
    pub on_success: Vec<String>,
}

fn rule(arg: &str) -> Rule {
    Rule { arg: arg.into(), ..Rule::default() }
}

impl Rule {
    fn before(mut self, text: &str) -> Rule {
        self.before.push(text.into());
        self
    }
    fn after(mut self, text: &str) -> Rule {
        self.after.push(text.into());
        self
    }
    fn on_success(mut self, text: &str) -> Rule {
        self.on_success.push(text.into());
        self
    }
}

/// Kinds of objects, as they begin the names of kinds of parameters.
const OBJECTS: [&str; 11] =
    ["comm", "group", "datatype", "op", "errhandler", "info", "request", "message", "win", "session", "file"];

fn object_of(kind: &str) -> Option<&'static str> {
    let kind = match kind {
        "anytype" => "datatype",
        "some-info" | "t-info" => "info",
        "file-or-null" => "file",
        "t-info-out" => "info-out",
        "t-datatype-out" => "datatype-out",
        other => other,
    };
    let base = ["-out", "-inout", "-raw"].iter().find_map(|end| kind.strip_suffix(end)).unwrap_or(kind);
    OBJECTS.iter().find(|object| **object == base).copied()
}

/// The enum's name for an object.
fn variant(object: &str) -> String {
    format!("{}{}", object[..1].to_uppercase(), &object[1..])
}

/// A handle that the core reads, writes, or both.
fn handle(kind: &str, object: &str, significant: bool) -> Rule {
    let ty = if object == "file" { "FH" } else { "H" };
    let place = "place($, &mut h_$)";
    if kind.ends_with("-inout") {
        return rule(place)
            .before(&format!("let mut h_$ = if $.is_null() {{ 0 }} else {{ {object}_in::<F>(*$.cast::<{ty}>()) }};"))
            .before("let before_$ = h_$;")
            .after(&format!("if h_$ != before_$ {{ *$.cast::<{ty}>() = {object}_out::<F>(h_$); }}"));
    }
    if kind.ends_with("-out") {
        return rule(place)
            .before("let mut h_$: Handle = 0;")
            .after(&format!("if h_$ != 0 {{ *$.cast::<{ty}>() = {object}_out::<F>(h_$); }}"));
    }
    if significant || object == "file" {
        rule(&format!("{object}_in::<F>($)"))
    } else {
        rule(&format!("F::loose_in(Kind::{}, $)", variant(object)))
    }
}

/// A number that is converted where the core has put it.
fn int_out(convert: &str) -> Rule {
    rule("$").on_success(&format!("convert_int($, {convert}::<F>);"))
}

/// Functions whose parameters have a meaning that their kinds do not tell: function, parameter, conversion.
const MEANINGS: [(&str, &str, &str); 6] = [
    ("Error_string", "errorcode", "told_in"),
    ("Status_set_source", "source", "rank_in"),
    ("Status_set_tag", "tag", "tag_in"),
    ("File_set_view", "disp", "view_disp_in"),
    ("T_init_thread", "required", "thread_level_in"),
    ("T_pvar_get_index", "var_class", "pvar_class_in"),
];

/// Results of the tool interface that are constants.
const TOOL_RESULTS: [(&str, &str); 5] = [
    ("verbosity", "verbosity_out"),
    ("bind", "bind_out"),
    ("scope", "scope_out"),
    ("var_class", "pvar_class_out"),
    ("provided", "thread_level_out"),
];

/// Strings whose room is fixed: function, parameter, room in the standard ABI, room in the face.
const TEXTS: [(&str, &str, usize, &str); 10] = [
    ("Get_library_version", "version", 8192, "MAX_LIBRARY_VERSION_STRING"),
    ("Get_processor_name", "name", 256, "MAX_PROCESSOR_NAME"),
    ("Error_string", "string", 512, "MAX_ERROR_STRING"),
    ("Info_get_nthkey", "key", 256, "MAX_INFO_KEY"),
    ("Type_get_name", "type_name", 128, "MAX_OBJECT_NAME"),
    ("Comm_get_name", "comm_name", 128, "MAX_OBJECT_NAME"),
    ("Win_get_name", "win_name", 128, "MAX_OBJECT_NAME"),
    ("Lookup_name", "port_name", 1024, "MAX_PORT_NAME"),
    ("Open_port", "port_name", 1024, "MAX_PORT_NAME"),
    ("File_get_view", "datarep", 128, "MAX_DATAREP_STRING"),
];

fn text(function: &Function, param: &Param) -> Rule {
    let Some((.., room, most)) = TEXTS.iter().find(|row| row.0 == function.name && row.1 == param.name) else {
        // The program says how much room there is.
        return rule("$");
    };
    let length = function.params.iter().find(|p| p.name == "resultlen");
    let length = length.map_or("std::ptr::null_mut()", |p| &p.name);
    rule("place($, &mut t_$)")
        .before(&format!("let mut t_$ = [0_u8; {room}];"))
        .on_success(&format!("text::give(&t_$, $, <F as Values>::{most}, {length});"))
}

/// The rule for a parameter.
pub fn of(tables: &Tables, function: &Function, large: bool, at: usize) -> Rule {
    let param = &function.params[at];
    let kind = tables.kind(param);
    let mut rule = by_kind(tables, function, at);
    rule.ty = match kind.c[large as usize].as_str() {
        "MPI_File %" => "FH".into(),
        _ if kind.ffi(large) == "Handle" => "H".into(),
        _ => kind.ffi(large).into(),
    };
    let fill = |text: &mut String| {
        *text = text.replace('$', &param.name).replace('#', &param.len).replace('@', &function.c_name(large));
    };
    rule.before.iter_mut().chain(&mut rule.after).chain(&mut rule.on_success).for_each(fill);
    fill(&mut rule.arg);
    rule
}

fn by_kind(tables: &Tables, function: &Function, at: usize) -> Rule {
    let param = &function.params[at];
    let kind = tables.kind(param).name.as_str();
    if let Some((.., convert)) = MEANINGS.iter().find(|row| row.0 == function.name && row.1 == param.name) {
        return rule(&format!("{convert}::<F>($)"));
    }
    if function.tool && kind == "t-int-out" {
        return TOOL_RESULTS.iter().find(|row| row.0 == param.name).map_or_else(|| rule("$"), |row| int_out(row.1));
    }
    if let Some(object) = object_of(kind) {
        let significant = param.at.is_empty() && in_place_owner(tables, function, at).is_none();
        return handle(kind, object, significant);
    }
    match kind {
        kind if kind.starts_with("sendbuf") || kind.starts_with("recvbuf") => rule("F::buffer_in($)"),
        // MPI_BUFFER_AUTOMATIC.
        "memory" if function.name.contains("ttach") && function.name.contains("uffer") => rule("F::buffer_in($)"),
        "dest" | "source" | "root" | "rank" | "target-rank" | "any-rank" => rule("rank_in::<F>($)"),
        "send-tag" | "recv-tag" => rule("tag_in::<F>($)"),
        "keyval" => rule("keyval_in::<F>($)"),
        // What MPI_Abort gets is the exit code of the job.
        "error-code" if function.name == "Abort" => rule("$"),
        "error-code" => rule("code_in::<F>($)"),
        "thread-level" => rule("thread_level_in::<F>($)"),
        "split-type" => rule("split_type_in::<F>($)"),
        "lock-type" => rule("lock_in::<F>($)"),
        "assert" => rule("assert_in::<F>($)"),
        "amode" => rule("amode_in::<F>($)"),
        "whence" => rule("whence_in::<F>($)"),
        "order" => rule("order_in::<F>($)"),
        "typeclass" => rule("typeclass_in::<F>($)"),
        "t-pvar" => rule("pvar_in($)"),
        "t-safety" => rule("safety_in::<F>($)"),
        "rank-out" => int_out("rank_out"),
        "tag-out" => int_out("tag_out"),
        "keyval-out" => int_out("keyval_out"),
        "keyval-inout" => rule("place($, &mut k_$)")
            .before("let mut k_$ = if $.is_null() { 0 } else { keyval_in::<F>(*$.cast::<c_int>()) };")
            .on_success("*$.cast::<c_int>() = keyval_out::<F>(k_$);"),
        "error-code-out" => int_out("code_out"),
        "thread-level-out" => int_out("thread_level_out"),
        "combiner-out" => int_out("combiner_out"),
        "comparison-out" => int_out("comparison_out"),
        "topology-out" => int_out("topology_out"),
        "amode-out" => int_out("amode_out"),
        "t-order-out" => int_out("source_order_out"),
        "distribs" => ints("distribution_in"),
        "dargs" => ints("darg_in"),
        "ranks" => ints("rank_in"),
        "ranks-out" => rule("$").on_success("convert_ints($, # as i64, rank_out::<F>);"),
        "weights" | "weights-out" => rule("F::weights_in($)"),
        "pointer-out" if param.name == "buffer_addr" => rule("$").on_success("give_buffer::<F>($);"),
        "text-out" => text(function, param),
        "requests" => rule("r_$.place($)")
            .before(&room("r_$", "Handles::new::<F>(Kind::Request, $, # as i64)", "0"))
            .after("r_$.give_ended::<F>($);"),
        "const-requests" => handles("Request"),
        "types" if param.len.is_empty() => neighbor_types(param),
        "types" => handles("Datatype"),
        "peer-types" => {
            let buffer = in_place_owner(tables, function, at).unwrap_or("std::ptr::null_mut()");
            let types = format!("special::peer_types::<F>({buffer}, $, a_comm)");
            rule("r_$.place($)").before(&room("r_$", &types, "a_comm"))
        }
        "status-in" => rule("status::take::<F>($, &mut s_$)").before("let mut s_$ = Standard::blank();"),
        "status-inout" => rule("status::take::<F>($, &mut s_$)")
            .before("let mut s_$ = Standard::blank();")
            .on_success("status::give::<F>(&s_$, $);"),
        "status-out" => rule("status::place::<F>($, &mut s_$)")
            .before("let mut s_$ = Standard::blank();")
            .after("status::give::<F>(&s_$, $);"),
        "statuses-out" => {
            let all = room("s_$", "status::Many::new::<F>($, #)", "0");
            rule("s_$.place::<F>($)").before(&all).after("s_$.give::<F>($);")
        }
        "t-datatypes-out" => rule("if $.is_null() { $ } else { r_$.pointer().cast() }")
            .before("let n_$ = if num_elements.is_null() { 0 } else { *num_elements.cast::<c_int>() };")
            .before("let mut r_$ = Scratch::<usize, 32>::new(n_$ as i64);")
            .before("if r_$.has_room().is_err() { return code_out::<F>(special::T_ERR_MEMORY); }")
            .on_success("special::give_types::<F>(&r_$, $, num_elements);"),
        _ => rule("$"),
    }
}

/// A statement that makes room for an array, and one that ends the call with an error on `comm` where there is no memory for it.
fn room(name: &str, made: &str, comm: &str) -> String {
    format!("let mut {name} = {made}; {}", if_none(name, comm))
}

fn if_none(name: &str, comm: &str) -> String {
    format!(
        "if let Err(lack) = {name}.has_room() {{ \
         return code_out::<F>(special::no_memory({comm}, c\"MPI_@\", lack)); }}"
    )
}

fn handles(object: &str) -> Rule {
    let all = format!("Handles::new::<F>(Kind::{object}, $, # as i64)");
    rule("r_$.place($)").before(&room("r_$", &all, "0"))
}

fn ints(convert: &str) -> Rule {
    let all = format!("Ints::new($, # as i64, {convert}::<F>)");
    rule("r_$.place($)").before(&room("r_$", &all, "0"))
}

/// The arrays of the neighbourhood's collectives: both are made with the first.
fn neighbor_types(param: &Param) -> Rule {
    let own = rule("r_$.place($)");
    if param.name == "sendtypes" {
        let (first, second) = (if_none("r_sendtypes", "a_comm"), if_none("r_recvtypes", "a_comm"));
        return own
            .before(
                "let (mut r_sendtypes, mut r_recvtypes) = special::neighbor_types::<F>(sendtypes, recvtypes, a_comm);",
            )
            .before(&first)
            .before(&second);
    }
    own.before("// Made with sendtypes.")
}

/// The buffer that may be MPI_IN_PLACE, where the parameter is not significant then.
fn in_place_owner<'a>(tables: &Tables, function: &'a Function, at: usize) -> Option<&'a str> {
    let kind = tables.kind(&function.params[at]);
    if !kind.belongs_to_buffer() {
        return None;
    }
    let before = function.params[..at].iter().rev().find(|p| tables.kind(p).is_buffer())?;
    tables.kind(before).name.ends_with("in-place").then_some(before.name.as_str())
}
