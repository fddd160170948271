//! Writes manual pages. Used while Tern is installed or packed; not installed itself.
//!
//!     tern-man functions FOLDER          a page for each function of MPI, into FOLDER
//!     tern-man program NAME SUMMARY      a page for a program, from its help in the standard input, to the output
//!     tern-man completion NAME           completion for bash, in the same manner

use std::io::{Error, Read, Result, Write};
use std::path::Path;

use tern_man::page::Page;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["functions", folder] => functions(Path::new(folder)),
        ["program", name, summary] => of_help(|help| tern_man::program::page(name, summary, help)),
        ["completion", name] => of_help(|help| tern_man::completion::script(name, help)),
        _ => Err(Error::other("usage: tern-man functions FOLDER | program NAME SUMMARY | completion NAME")),
    }
}

fn functions(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, page) in tern_man::functions::pages(&tern_table::Tables::read()) {
        let file = folder.join(name);
        // The page of before may be a link to another one.
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match page {
            Page::Text(text) => std::fs::write(file, text)?,
            Page::Same(name) => std::os::unix::fs::symlink(name, file)?,
        }
    }
    Ok(())
}

fn of_help(write: impl FnOnce(&str) -> String) -> Result<()> {
    let mut help = String::new();
    std::io::stdin().read_to_string(&mut help)?;
    std::io::stdout().write_all(write(&help).as_bytes())
}
