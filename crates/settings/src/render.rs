//! The documentation of the settings, made from their declaration.

use crate::ALL;

/// The page `docs/settings.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         Tern reads these environment variables once, when MPI is initialised. `tern-info` shows the\n\
         value of each and where it was set. A wrong value is reported in one line, and the default\n\
         is used; so is a `TERN_` name that is not in this list.\n\n\
         Integers take the suffixes k, m and g (powers of 1024). Times take a unit: ns, us, ms, s,\n\
         min or h. A bool is on or off.\n\n\
         This page is made from `crates/settings/src/table.rs`.\n",
    );
    for entry in ALL {
        let default = match entry.default() {
            "" => "empty".to_string(),
            default => format!("`{default}`"),
        };
        page.push_str(&format!(
            "\n## {}\n\n{}\n\n- type: {}\n- default: {default}\n- values: {}\n",
            entry.name(),
            entry.meaning(),
            entry.type_name(),
            entry.allowed(),
        ));
    }
    page
}
