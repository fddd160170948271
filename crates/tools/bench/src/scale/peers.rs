//! The lines that are measured: Tern, each peer as it comes, and peers with their collectives for large nodes.

use crate::library::Library;
use crate::line::{Extra, KNOWN, Line};
use crate::session::Problem;
use crate::{Options, Places};
use std::path::Path;
use std::process::Command;

/// The lines that the options ask for, and for each library among them those that follow the levels of a node. Open MPI is that of `openmpi`, where it is
/// given.
pub fn lines(options: &Options, openmpi: Option<&Path>) -> Result<Vec<Line>, String> {
    let named = |name: &str| options.libraries.iter().any(|wanted| wanted == name);
    let mut lines = Vec::new();
    for name in options.libraries.iter().chain(&options.lines) {
        lines.push(Line::parse(name)?);
    }
    for (_, name, _) in KNOWN.iter().filter(|(extra, ..)| *extra == Extra::Levels) {
        let line = Line::parse(name)?;
        if named(&line.library) && !named(name) {
            lines.push(line);
        }
    }
    for line in lines.iter_mut().filter(|line| line.library.starts_with("openmpi") && line.prefix.is_none()) {
        line.prefix = openmpi.map(Path::to_path_buf);
    }
    Ok(lines)
}

/// The component of Open MPI's collectives whose priority a line sets.
fn component(line: &Line) -> Option<&str> {
    let of = |name: &'_ String| name.starts_with("OMPI_MCA_coll_") && name.ends_with("_priority");
    let (name, _) = line.variables.iter().find(|(name, _)| of(name))?;
    name.strip_prefix("OMPI_MCA_coll_")?.strip_suffix("_priority")
}

/// Why a component of Open MPI's collectives is not there, by what its `ompi_info` says: a priority of one that is missing would be taken without a word,
/// and the line would be Open MPI as it comes.
fn lacks(prefix: &Path, component: &str) -> Option<String> {
    let info = prefix.join("bin/ompi_info");
    let told = match Command::new(&info).arg("--parsable").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => return Some(format!("{}: {error}, so nobody knows whether it has {component}", info.display())),
    };
    let start = format!("mca:coll:{component}:");
    if told.lines().any(|line| line.starts_with(&start)) {
        return None;
    }
    let prefix = prefix.display();
    Some(format!("the Open MPI in {prefix} has no component coll/{component}; --openmpi names one that has it"))
}

/// The lines that can run, and why the others cannot.
pub fn present(lines: Vec<Line>, places: &Places) -> (Vec<Line>, Vec<Problem>) {
    let (mut present, mut problems) = (Vec::new(), Vec::new());
    for line in lines {
        let missing = match Library::find(&line, places) {
            Err(reason) => Some(reason),
            Ok(library) => component(&line).and_then(|component| lacks(&library.prefix, component)),
        };
        match missing {
            None => present.push(line),
            Some(reason) => problems.push(Problem { library: line.name, what: "all".into(), reason }),
        }
    }
    (present, problems)
}

/// The settings of a line as a user would write them, and where its library comes from.
pub fn settings(line: &Line) -> String {
    let settings = line.variables.iter().map(|(name, value)| format!("{name}={value}"));
    let prefix = line.prefix.as_ref().map(|prefix| format!("in {}", prefix.display()));
    settings.chain(prefix).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use crate::scale::tests::Folder;
    use clap::Parser;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn asked(words: &[&str]) -> Vec<Line> {
        let cli = Cli::parse_from(["tern-bench", "scale"].iter().chain(words));
        lines(&cli.options, Some(Path::new("/opt/ompi"))).unwrap()
    }

    #[test]
    fn peers_that_know_levels_run_beside_those_as_they_come() {
        let all = asked(&[]);
        let names: Vec<&str> = all.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["tern", "mpich", "openmpi", "openmpi-ucx", "impi", "openmpi-xhc", "openmpi-acoll"]);
        assert_eq!(settings(&all[5]), "OMPI_MCA_coll_xhc_priority=40 in /opt/ompi");
        assert_eq!((component(&all[5]), component(&all[6]), component(&all[2])), (Some("xhc"), Some("acoll"), None));
        assert!(all[0].prefix.is_none() && all[3].prefix.as_deref() == Some(Path::new("/opt/ompi")));
        assert_eq!(asked(&["--libraries", "tern,mpich"]).len(), 2);
        assert_eq!(asked(&["--libraries", "openmpi-xhc,openmpi"]).len(), 3);
        let other = asked(&["--libraries", "tern", "--line", "site=openmpi@/site:OMPI_MCA_coll_xhc_priority=90"]);
        assert_eq!(
            (settings(&other[1]).as_str(), component(&other[1])),
            ("OMPI_MCA_coll_xhc_priority=90 in /site", Some("xhc"))
        );
    }

    #[test]
    fn a_component_that_is_missing_is_told() {
        let folder = Folder::new("components");
        assert!(lacks(&folder.0, "xhc").unwrap().contains("ompi_info"));
        let info = folder.0.join("bin/ompi_info");
        fs::create_dir_all(folder.0.join("bin")).unwrap();
        fs::write(&info, "#!/bin/sh\necho 'mca:coll:xhc:version:\"mca:2.1.0\"'\n").unwrap();
        fs::set_permissions(&info, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(lacks(&folder.0, "xhc"), None);
        assert!(lacks(&folder.0, "acoll").unwrap().contains("no component coll/acoll; --openmpi"));
    }

    #[test]
    fn lines_that_cannot_run_are_told_one_by_one() {
        let nowhere = || Path::new("/dev/null/none").to_path_buf();
        let places =
            Places { tern: nowhere(), peers: nowhere(), source: nowhere(), output: nowhere(), root: nowhere() };
        let (there, problems) = present(asked(&[]), &places);
        assert!(there.is_empty());
        assert_eq!(problems.len(), 7);
    }
}
