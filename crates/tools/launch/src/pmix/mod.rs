//! mpiexec as the relay between a process that speaks PMI-1 and its launcher, which speaks PMIx. See
//! `tern_pmi::foreign`.

mod library;

use std::ffi::{CString, OsString};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use library::{Client, WILDCARD};

use crate::{descendants, keep};

/// How many processes a job may have: a bound on damage.
const MOST: u64 = 1 << 24;

/// Relays for the process that `args` name: the number of the socket to it, and of the process. Returns at once in the
/// process that it has started.
pub fn run(args: &[OsString]) -> i32 {
    let number = |at: usize| args.get(at)?.to_str()?.parse::<i32>().ok();
    let (Some(socket), Some(pid)) = (number(0).and_then(keep::inherited), number(1)) else {
        crate::say::say("--pmix is for Tern's own use");
        return crate::program::USAGE;
    };
    if let Some(code) = keep::detach(&socket) {
        return code;
    }
    no_output();
    match serve(socket, pid) {
        Ok(()) => 0,
        // The process that this one is there for has gone.
        Err(_) => 1,
    }
}

/// What a library may print is not the program's output.
fn no_output() {
    if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

/// Until the process has finalized, aborted, or gone.
fn serve(socket: OwnedFd, pid: i32) -> std::io::Result<()> {
    let mut answers = UnixStream::from(socket);
    let requests = BufReader::new(answers.try_clone()?);
    let joined = Client::new(&libraries(pid)).and_then(|client| {
        let size = client.number(WILDCARD, c"pmix.job.size").filter(|size| (1..=MOST).contains(size));
        let size = size.ok_or("the PMIx server does not tell the size of the job")?;
        Ok((client, size as u32))
    });
    for request in requests.lines() {
        let request = request?;
        let answer = match &joined {
            Ok((client, size)) => answer(client, *size, &request),
            Err(why) => refusal(why),
        };
        let Some(answer) = answer else { return Ok(()) };
        answers.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// The answer of one who cannot be what it is for: to the first request. A blank is written as `%20`.
fn refusal(why: &str) -> Option<String> {
    let why = format!("{why}; libpmix.so.2 is in a package named libpmix2 or pmix, and TERN_PMIX names its file");
    Some(format!("cmd=initack rc=1 msg={}\n", why.replace('%', "%25").replace(char::is_whitespace, "%20")))
}

/// The libraries to try: that of the setting; else that of the launcher, which fits it best, and that of the system.
fn libraries(pid: i32) -> Vec<PathBuf> {
    tern_settings::load();
    match tern_settings::PMIX.get() {
        "auto" | "" => {
            let ancestors = std::iter::successors(descendants::parent(pid), |pid| descendants::parent(*pid));
            let loaded =
                ancestors.filter_map(|pid| loaded(&std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?));
            loaded.take(1).chain([PathBuf::from("libpmix.so.2")]).collect()
        }
        file => vec![file.into()],
    }
}

/// The file of a libpmix among the mappings of a process, if it is there.
fn loaded(maps: &str) -> Option<PathBuf> {
    let files = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    let mut named = files.filter(|file| file.rsplit('/').next().is_some_and(|name| name.starts_with("libpmix.so")));
    named.next().map(PathBuf::from).filter(|file| file.exists())
}

/// The answer to a request; none at the end.
fn answer(client: &Client, size: u32, request: &str) -> Option<String> {
    let pair = |key: &str| {
        let pairs = request.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).map(|(_, value)| value).next().unwrap_or_default()
    };
    let text = match pair("cmd") {
        "initack" => format!("initack rc=0\ncmd=set size={size}\ncmd=set rank={}\ncmd=set debug=0", client.rank()),
        "init" => "response_to_init rc=0 pmi_version=1 pmi_subversion=1".into(),
        "get_maxes" => "maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=65536".into(),
        "get_my_kvsname" => "my_kvsname rc=0 kvsname=pmix".into(),
        "get_appnum" => told("appnum", client.number(client.rank(), c"pmix.appnum"), "appnum"),
        "get_universe_size" => told("universe_size", client.number(WILDCARD, c"pmix.univ.size"), "size"),
        "put" => done("put_result", put(client, pair("key"), pair("value"))),
        "barrier_in" => match client.fence() {
            Ok(()) => "barrier_out rc=0".into(),
            Err(why) => {
                crate::say::say(&why);
                return None;
            }
        },
        "get" => match get(client, size, pair("key")) {
            Some(value) => format!("get_result rc=0 value={value}"),
            None => "get_result rc=1".into(),
        },
        "finalize" => done("finalize_ack", client.finalize()),
        "abort" => {
            client.abort(pair("exitcode").parse().unwrap_or(1));
            return None;
        }
        _ => return Some("cmd=unknown rc=1\n".into()),
    };
    Some(format!("cmd={text}\n"))
}

fn told(command: &str, number: Option<u64>, key: &str) -> String {
    number.map_or(format!("{command} rc=1"), |number| format!("{command} rc=0 {key}={number}"))
}

fn done(command: &str, result: Result<(), String>) -> String {
    match result {
        Ok(()) => format!("{command} rc=0"),
        Err(why) => {
            crate::say::say(&why);
            format!("{command} rc=1")
        }
    }
}

fn put(client: &Client, key: &str, value: &str) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|error| error.to_string());
    client.put(&text(key)?, &text(value)?)
}

/// What a process has put: the one whose number ends the key, else rank 0. Or which rank is on which node.
fn get(client: &Client, size: u32, key: &str) -> Option<String> {
    if key == "PMI_process_mapping" {
        let of = |rank| client.number(rank, c"pmix.nodeid");
        return Some(mapping(&(0..size).map(of).collect::<Option<Vec<u64>>>()?));
    }
    let rank = key.rsplit_once('-').and_then(|(_, rank)| rank.parse().ok()).unwrap_or(0);
    client.text(rank, &CString::new(key).ok()?)
}

/// Which rank is on which node, in PMI-1's words. Nodes are numbered anew, from 0 on.
fn mapping(nodes: &[u64]) -> String {
    let mut known: Vec<u64> = Vec::new();
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    for block in nodes.chunk_by(|a, b| a == b) {
        let node = known.iter().position(|node| *node == block[0]).unwrap_or_else(|| {
            known.push(block[0]);
            known.len() - 1
        });
        match blocks.last_mut() {
            // As many ranks on the next node.
            Some((first, count, each)) if *first + *count == node && *each == block.len() => *count += 1,
            _ => blocks.push((node, 1, block.len())),
        }
    }
    let blocks: Vec<String> = blocks.iter().map(|(first, count, each)| format!("({first},{count},{each})")).collect();
    format!("(vector,{})", blocks.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_in_blocks() {
        assert_eq!(mapping(&[0, 0, 0, 0]), "(vector,(0,1,4))");
        assert_eq!(mapping(&[7, 7, 9, 9, 3, 3]), "(vector,(0,3,2))");
        assert_eq!(mapping(&[0, 0, 1, 2]), "(vector,(0,1,2),(1,2,1))");
        assert_eq!(mapping(&[0, 1, 0, 1]), "(vector,(0,2,1),(0,2,1))");
    }

    #[test]
    fn a_library_is_found_among_mappings() {
        let folder = std::env::temp_dir().join(format!("tern-maps-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let file = folder.join("libpmix.so.2.6");
        std::fs::write(&file, "").expect("written");
        let maps =
            format!("0-1 r-xp 0 0:0 1  /lib/libc.so.6\n1-2 r-xp 0 0:0 2   {}\n2-3 rw-p 0 0:0 0\n", file.display());
        assert_eq!(loaded(&maps), Some(file));
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(loaded(&maps), None, "the file has gone");
        assert_eq!(loaded("0-1 r-xp 0 0:0 1  /lib/mylibpmix.so.2\n"), None);
    }

    #[test]
    fn a_refusal_is_one_pair() {
        let line = refusal("no file at 100% of places").expect("an answer");
        assert!(line.starts_with("cmd=initack rc=1 msg=no%20file%20at%20100%25%20of") && line.ends_with('\n'));
        assert_eq!(line.split_whitespace().count(), 3);
    }
}
