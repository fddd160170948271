//! Writes the Fortran sources into a folder, for the installation: `tern-fortran-sources FOLDER`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: tern-fortran-sources FOLDER");
        std::process::exit(1);
    };
    std::fs::create_dir_all(&folder)?;
    for (name, text) in tern_fortran::sources::all(&tern_table::Tables::read()) {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
