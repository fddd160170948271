//! The documentation of the counters, made from their declaration.

use crate::events;
use crate::{ALL, CATEGORIES};

/// The page `docs/counters.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Counters and events\n\n\
         What Tern counts in each process, from its start on. With `TERN_STATS=1` rank 0 prints all that\n\
         are not 0 at MPI_Finalize, for each rank and together. A program or tool reads them as performance\n\
         variables of the same names (MPI 5.0 section 15.3.7), at any time and from any thread.\n\n\
         A counter or an aggregate begins at 0 in every handle of a tool, which can start, stop, reset and\n\
         write it. A level or a high watermark is one of the process: it is always active and can only be read.\n\n\
         This page is made from `crates/base/counters/src/table.rs` and `events.rs`.\n",
    );
    for category in CATEGORIES {
        let mut entries = ALL.iter().filter(|entry| entry.category == category.name).peekable();
        if entries.peek().is_none() {
            continue;
        }
        page.push_str(&format!(
            "\n## {}\n\n{}\n\n| name | class | unit | meaning |\n|---|---|---|---|\n",
            category.name, category.meaning
        ));
        for entry in entries {
            let (class, meaning) = (entry.class.name(), entry.meaning());
            page.push_str(&format!("| `{}` | {class} | {} | {meaning} |\n", entry.name, entry.unit));
        }
    }
    page.push_str(
        "\n## Events\n\n\
         Callbacks are called at the beginning of the next MPI call of the process, where they may do anything.\n\
         The time is that of the event.\n\n| name | elements | meaning |\n|---|---|---|\n",
    );
    for kind in events::Kind::ALL {
        let elements: Vec<&str> = kind.elements().iter().map(|element| element.name).collect();
        page.push_str(&format!("| `{}` | {} | {} |\n", kind.name(), elements.join(", "), kind.meaning()));
    }
    page
}
