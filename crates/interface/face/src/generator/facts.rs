//! What is known of another binary interface: `facts/constants.txt` of a face, as `scripts/foreign-facts.py` prints it.
//! A line is a name, and a number or (for handles that are addresses) the name of an object.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use tern_table::Tables;
use tern_table::constants::Form;

/// The facts by name.
pub struct AbiFacts(HashMap<String, String>);

impl AbiFacts {
    pub fn read(path: &Path) -> AbiFacts {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let line = |line: &str| line.split_once(' ').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        AbiFacts(text.lines().filter(|l| !l.starts_with('#')).filter_map(line).collect())
    }

    /// Says otherwise than the facts, for a reason.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The value of a constant of the standard ABI.
pub fn standard(tables: &Tables, name: &str) -> i64 {
    let all = || tables.constants.iter().flat_map(|group| &group.constants);
    let found = all().find(|c| c.name == name).unwrap_or_else(|| panic!("{name} is not in constants.txt"));
    let value = &found.value;
    if value.starts_with("MPI_") {
        return standard(tables, value);
    }
    let number = match value.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    number.unwrap_or_else(|_| panic!("{name} is {value}"))
}

/// Other names of a constant, by which another interface may know it.
fn aliases<'a>(tables: &'a Tables, name: &'a str) -> impl Iterator<Item = &'a str> {
    let all = tables.constants.iter().flat_map(|group| &group.constants);
    all.filter(move |constant| constant.value == name).map(|constant| constant.name.as_str())
}

/// Handles of the standard ABI with their C type and name, aliases left out.
pub fn handles(tables: &Tables) -> Vec<(String, String, i64)> {
    let mut all = Vec::new();
    for group in &tables.constants {
        let Form::Handle(ty) = &group.form else { continue };
        for constant in group.constants.iter().filter(|c| !c.value.starts_with("MPI_") && !ty.starts_with("MPI_T_")) {
            all.push((ty.clone(), constant.name.clone(), standard(tables, &constant.name)));
        }
    }
    all
}

/// The pairs of constants of `Values`: name there, and which names they have.
const PAIRS: [(&str, &[&str]); 24] = [
    ("RANKS", &["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT", "MPI_UNDEFINED"]),
    ("TAGS", &["MPI_ANY_TAG", "MPI_UNDEFINED"]),
    (
        "KEYVALS",
        &[
            "MPI_KEYVAL_INVALID",
            "MPI_TAG_UB",
            "MPI_IO",
            "MPI_HOST",
            "MPI_WTIME_IS_GLOBAL",
            "MPI_APPNUM",
            "MPI_LASTUSEDCODE",
            "MPI_UNIVERSE_SIZE",
            "MPI_FT",
            "MPI_WIN_BASE",
            "MPI_WIN_DISP_UNIT",
            "MPI_WIN_SIZE",
            "MPI_WIN_CREATE_FLAVOR",
            "MPI_WIN_MODEL",
        ],
    ),
    ("ERRORS", &["MPI_ERR_", "MPI_T_ERR_"]),
    ("THREAD_LEVELS", &["MPI_THREAD_"]),
    ("SPLIT_TYPES", &["MPI_COMM_TYPE_"]),
    ("LOCKS", &["MPI_LOCK_"]),
    ("ASSERTS", &["MPI_MODE_NO"]),
    (
        "AMODES",
        &[
            "MPI_MODE_APPEND",
            "MPI_MODE_CREATE",
            "MPI_MODE_DELETE_ON_CLOSE",
            "MPI_MODE_EXCL",
            "MPI_MODE_RDONLY",
            "MPI_MODE_RDWR",
            "MPI_MODE_SEQUENTIAL",
            "MPI_MODE_UNIQUE_OPEN",
            "MPI_MODE_WRONLY",
        ],
    ),
    ("WHENCES", &["MPI_SEEK_"]),
    ("ORDERS", &["MPI_ORDER_"]),
    ("TYPECLASSES", &["MPI_TYPECLASS_"]),
    ("COMBINERS", &["MPI_COMBINER_"]),
    ("COMPARISONS", &["MPI_IDENT", "MPI_CONGRUENT", "MPI_SIMILAR", "MPI_UNEQUAL"]),
    ("TOPOLOGIES", &["MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"]),
    ("DISTRIBUTIONS", &["MPI_DISTRIBUTE_NONE", "MPI_DISTRIBUTE_BLOCK", "MPI_DISTRIBUTE_CYCLIC"]),
    ("FLAVORS", &["MPI_WIN_FLAVOR_"]),
    ("MODELS", &["MPI_WIN_UNIFIED", "MPI_WIN_SEPARATE"]),
    ("SAFETIES", &["MPI_T_CB_REQUIRE_"]),
    ("SOURCE_ORDERS", &["MPI_T_SOURCE_"]),
    ("VERBOSITIES", &["MPI_T_VERBOSITY_"]),
    ("BINDS", &["MPI_T_BIND_"]),
    ("SCOPES", &["MPI_T_SCOPE_"]),
    ("PVAR_CLASSES", &["MPI_T_PVAR_CLASS_"]),
];

const INTS: [(&str, &str); 9] = [
    ("VERSION", "MPI_VERSION"),
    ("SUBVERSION", "MPI_SUBVERSION"),
    ("ANY_SOURCE", "MPI_ANY_SOURCE"),
    ("ANY_TAG", "MPI_ANY_TAG"),
    ("PROC_NULL", "MPI_PROC_NULL"),
    ("UNDEFINED", "MPI_UNDEFINED"),
    ("DFLT_DARG", "MPI_DISTRIBUTE_DFLT_DARG"),
    ("ERR_LASTCODE", "MPI_ERR_LASTCODE"),
    ("ERR_ARG", "MPI_ERR_ARG"),
];

const SIZES: [&str; 8] = [
    "MAX_DATAREP_STRING",
    "MAX_ERROR_STRING",
    "MAX_INFO_KEY",
    "MAX_LIBRARY_VERSION_STRING",
    "MAX_OBJECT_NAME",
    "MAX_PORT_NAME",
    "MAX_PROCESSOR_NAME",
    "MAX_PSET_NAME_LEN",
];

/// What an error class becomes that the other interface does not have.
const SUBSTITUTES: [(&str, &str); 6] = [
    ("MPI_ERR_ERRHANDLER", "MPI_ERR_ARG"),
    ("MPI_ERR_ABI", "MPI_ERR_OTHER"),
    ("MPI_ERR_SESSION", "MPI_ERR_ARG"),
    ("MPI_ERR_VALUE_TOO_LARGE", "MPI_ERR_OTHER"),
    ("MPI_T_ERR_NOT_ACCESSIBLE", "MPI_T_ERR_INVALID"),
    ("MPI_T_ERR_NOT_SUPPORTED", "MPI_T_ERR_INVALID"),
];

/// The text of `impl Values for FACE`. `added` is added to the codes of errors that programs add.
pub fn values(tables: &Tables, facts: &AbiFacts, face: &str, added: i64) -> String {
    let need = |name: &str| facts.number(name).unwrap_or_else(|| panic!("the facts lack {name}"));
    let mut out = format!("impl tern_face::values::Values for {face} {{\n");
    for (list, names) in PAIRS {
        let mut pairs = Vec::new();
        for constant in tables.constants.iter().flat_map(|group| &group.constants) {
            let name = constant.name.as_str();
            let is_in = names
                .iter()
                .any(|n| if n.ends_with('_') || *n == "MPI_MODE_NO" { name.starts_with(n) } else { name == *n });
            if !is_in || name == "MPI_ERR_LASTCODE" {
                continue;
            }
            let alias = || aliases(tables, name).find_map(|alias| facts.number(alias));
            let own = facts.number(name).or_else(alias).or_else(|| {
                let (_, instead) = SUBSTITUTES.iter().find(|row| row.0 == name)?;
                facts.number(instead)
            });
            if let Some(own) = own {
                pairs.push((standard(tables, name), own));
            }
        }
        // A substitute comes last: the way in is that of the class itself.
        pairs.sort_by_key(|&(value, own)| {
            let substituted = tables.constants.iter().flat_map(|g| &g.constants).any(|c| {
                SUBSTITUTES.iter().any(|row| row.0 == c.name)
                    && standard(tables, &c.name) == value
                    && facts.number(&c.name) != Some(own)
                    && list == "ERRORS"
            });
            (substituted, value)
        });
        let pairs: Vec<String> = pairs.iter().map(|(a, b)| format!("({a}, {b})")).collect();
        let _ = writeln!(out, "    const {list}: tern_face::values::Pairs = &[{}];", pairs.join(", "));
    }
    for (name, fact) in INTS {
        let _ = writeln!(out, "    const {name}: i32 = {};", need(fact));
    }
    let _ = writeln!(out, "    const DISPLACEMENT_CURRENT: i64 = {};", need("MPI_DISPLACEMENT_CURRENT"));
    let _ = writeln!(out, "    const ADDED_CODES: i32 = {added};");
    for name in SIZES {
        let _ = writeln!(out, "    const {name}: usize = {};", need(&format!("MPI_{name}")));
    }
    out.push_str("}\n");
    out
}
