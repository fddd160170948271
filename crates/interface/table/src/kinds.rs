//! `tables/kinds.txt`: kinds of parameters. The syntax is explained at the top of that file.

/// What a parameter is: its C form, and how it becomes a Rust value.
#[derive(Debug, Default)]
pub struct Kind {
    pub name: String,
    /// C declarations with % for the name, in the ordinary and the large-count form.
    pub c: [String; 2],
    /// Expression that checks and converts, or "" to pass the value as it is.
    pub to: String,
    /// What is passed, % standing for the converted value.
    pub by: String,
    pub late: bool,
    /// Value where the parameter is not significant, or "".
    pub unused: String,
}

impl Kind {
    /// True if the two forms of a function differ in parameters of this kind.
    pub fn varies(&self) -> bool {
        self.c[0] != self.c[1]
    }

    pub fn is_buffer(&self) -> bool {
        self.name.starts_with("sendbuf") || self.name.starts_with("recvbuf")
    }

    /// Counts, displacements and datatypes, which belong to a buffer.
    pub fn belongs_to_buffer(&self) -> bool {
        let kinds = [
            "count",
            "counts",
            "displs",
            "datatype",
            "types",
            "own-counts",
            "peer-counts",
            "peer-displs",
            "peer-types",
        ];
        kinds.contains(&self.name.as_str())
    }

    /// The Rust type of the C parameter. Every pointer is `Ptr`.
    pub fn ffi(&self, large: bool) -> &'static str {
        let c = &self.c[large as usize];
        if c.contains('*') || c.contains('[') || c.contains("_function") {
            return "Ptr";
        }
        match c.split(" %").next().unwrap().trim_start_matches("const ") {
            "int" | "MPI_T_cb_safety" => "c_int",
            "MPI_Count" | "MPI_Aint" | "MPI_Offset" => "i64",
            handle if handle.starts_with("MPI_T_") => "Ptr",
            handle if handle.starts_with("MPI_") => "Handle",
            other => panic!("kind {}: no Rust type for C type {other}", self.name),
        }
    }
}

pub fn parse(text: &str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("kind ") {
            kinds.push(Kind { name: name.into(), by: "%".into(), ..Kind::default() });
            continue;
        }
        let bad = |what: &str| -> ! { panic!("kinds.txt:{}: {what}: {line}", at + 1) };
        let Some(kind) = kinds.last_mut() else { bad("no kind begun") };
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word {
            "#" => {}
            "c" => {
                let (int, large) = rest.split_once(" | ").unwrap_or((rest, rest));
                kind.c = [int.into(), large.into()];
            }
            "to" => kind.to = rest.into(),
            "by" => kind.by = rest.into(),
            "late" => kind.late = true,
            "unused" => kind.unused = rest.into(),
            _ => bad("unknown word"),
        }
    }
    kinds
}
