//! Jobs on several hosts. On each host an agent, which is another mpiexec, starts the ranks of that host and serves
//! them as a job of its own; the mpiexec that the user started starts the agents and is what they have in common.

pub mod agent;
mod part;
mod relay;
mod serve;
mod starter;
mod tree;

pub use serve::{root, run};
pub use starter::AGENT;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The words that start an agent on `host`: those of `shell`, in which `{host}` stands for the host's name; without
/// it the name comes last. Behind them comes what is to be run there.
fn command(shell: &str, host: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = shell.split_whitespace().map(|word| word.replace("{host}", host).into()).collect();
    if !shell.contains("{host}") {
        words.push(host.into());
    }
    words
}

/// Variables that belong to one host, or to one login, and are not passed on.
fn is_own(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"SSH_")
        || [&b"HOSTNAME"[..], b"DISPLAY", b"XAUTHORITY", b"XDG_RUNTIME_DIR", b"PWD", b"OLDPWD", b"_", b"SHLVL"]
            .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_given_the_host() {
        assert_eq!(command("ssh -x", "a"), ["ssh", "-x", "a"]);
        assert_eq!(command("ip netns exec {host}", "a"), ["ip", "netns", "exec", "a"]);
    }
}
