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
         ## In files\n\n\
         The same names may stand in two files, a line `TERN_NAME = value` for each; what is behind `#` is a comment.\n\n\
         | file | for | counts |\n|---|---|---|\n\
         | the environment, `mpiexec -x` | this job | most |\n\
         | `$XDG_CONFIG_HOME/tern.conf`, else `~/.config/tern.conf` | this user | less |\n\
         | `PREFIX/etc/tern.conf`; `/etc/tern.conf` of a package below `/usr` | everybody on this machine | least |\n\n\
         `mpiexec` reads the files once and gives its ranks what it found, those on other hosts too; the files of another host add what the\n\
         first one does not say. Programs that are started in another way read the files themselves. TERN_CONF names another file, or none.\n\n\
         This page is made from `crates/base/settings/src/table.rs`.\n",
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
