//! Standard input, output and error of the ranks.

mod common;

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use common::{Job, mpiexec};

#[test]
fn rank_0_reads_the_input_and_the_others_nothing() {
    let script = "echo \"$TERN_RANK:$(cat)\"";
    let job = Job::new(&["-n", "3", "sh", "-c", script]).with(|command| {
        command.stdin(Stdio::piped());
    });
    let mut running = job.start();
    running.child.stdin.take().unwrap().write_all(b"for rank 0").unwrap();
    assert_eq!(running.end().sorted(), ["0:for rank 0", "1:", "2:"]);
}

#[test]
fn the_input_is_passed_on_byte_by_byte() {
    let bytes: Vec<u8> = (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let path = std::env::temp_dir().join(format!("tern-input-{}", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let file = File::open(&path).unwrap();
    let run = Job::new(&["-n", "2", "sh", "-c", "cksum"]).with(|command| {
        command.stdin(file);
    });
    let run = run.run();
    let expected = std::process::Command::new("cksum").stdin(File::open(&path).unwrap()).output().unwrap();
    std::fs::remove_file(path).unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    assert!(run.out.contains(expected.trim_end()), "{} has no {expected}", run.out);
}

#[test]
fn output_and_error_stay_apart() {
    for tagged in [&[][..], &["-l"]] {
        let args = [tagged, &["-n", "2", "sh", "-c", "echo out; echo err >&2"]].concat();
        let run = mpiexec(&args);
        assert_eq!(run.out.matches("out\n").count(), 2);
        assert_eq!(run.err.matches("err\n").count(), 2);
        assert_eq!(run.out.matches("err").count() + run.err.matches("out").count(), 0);
    }
}

#[test]
fn tagged_lines_never_mix() {
    // Lines are longer than a pipe's atomic write, and come in pieces.
    let script = r#"
        line=$(printf '%06000d' $TERN_RANK)
        i=0; while [ $i -lt 50 ]; do printf "$i:"; echo "$line"; echo "e$i" >&2; i=$((i+1)); done
        printf end"#;
    let run = mpiexec(&["--tag-output", "-n", "6", "sh", "-c", script]);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 300));
    for rank in 0..6 {
        let tag = format!("[{rank}] ");
        let lines: Vec<&str> = run.out.lines().filter_map(|line| line.strip_prefix(&tag)).collect();
        let mut expected: Vec<String> = (0..50).map(|i| format!("{i}:{rank:06000}")).collect();
        expected.push("end".into());
        assert_eq!(lines, expected, "rank {rank}");
        let errors: Vec<&str> = run.err.lines().filter_map(|line| line.strip_prefix(&tag)).collect();
        assert_eq!(errors, (0..50).map(|i| format!("e{i}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    for tagged in [&[][..], &["-l"]] {
        let args = [tagged, &["-n", "2", "sh", "-c", "while echo line; do :; done; exit 9"]].concat();
        let mut running = Job::new(&args).start();
        // Reads a little, then closes.
        let mut out = running.child.stdout.take().unwrap();
        std::io::Read::read_exact(&mut out, &mut [0; 100]).unwrap();
        drop(out);
        let run = running.end();
        assert!(run.code == Some(128 + 13) || run.code == Some(9), "{run:?}");
    }
}

#[test]
fn a_reader_that_is_slow_loses_nothing() {
    let running = Job::new(&["-l", "-n", "2", "sh", "-c", "seq 1 200000"]).start();
    // Pipes fill up, and nobody reads until the ranks wait.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let run = running.end();
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 400_000));
}

/// A directory that is removed when dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tern-streams-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn read(&self, name: &str) -> String {
        let path = self.0.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_with_its_cause() {
    for script in ["echo line", "for i in 1 2 3 4 5 6 7 8 9; do echo line; sleep 0.01; done"] {
        let job = Job::new(&["-l", "-n", "2", "sh", "-c", script]).with(|command| {
            command.stdout(File::options().write(true).open("/dev/full").unwrap());
        });
        let run = job.run();
        assert_ne!(run.code, Some(0), "{run:?}");
        let lost = "mpiexec: output of the ranks is lost: write to the standard output: No space left on device";
        assert_eq!(run.err.matches(lost).count(), 1, "{run:?}");
    }
    let help = Job::new(&["--help"]).with(|command| {
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
    });
    let run = help.run();
    assert!(run.code == Some(1) && run.err.contains("No space left on device"), "{run:?}");
}

#[test]
fn each_rank_has_files_of_its_own() {
    let scratch = Scratch::new("files");
    let script = "i=0; while [ $i -lt 3000 ]; do echo $TERN_RANK-$i; i=$((i+1)); done; echo error >&2; printf end";
    let name = scratch.0.join("sub/out");
    let run = mpiexec(&["-n", "3", "--output-filename", name.to_str().unwrap(), "sh", "-c", script]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
    for rank in 0..3 {
        let expected: String = (0..3000).map(|i| format!("{rank}-{i}\n")).collect();
        assert_eq!(scratch.read(&format!("sub/out.{rank}.out")), expected + "end");
        assert_eq!(scratch.read(&format!("sub/out.{rank}.err")), "error\n");
    }
}

#[test]
fn one_file_for_all_ranks_has_whole_lines() {
    let scratch = Scratch::new("one");
    let all = scratch.0.join("all-%p");
    // Lines are written in two pieces.
    let script = "i=0; while [ $i -lt 300 ]; do printf $TERN_RANK-; echo $i; i=$((i+1)); done; echo error >&2";
    let run = mpiexec(&["-n", "4", "-outfile-pattern", all.to_str().unwrap(), "sh", "-c", script]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", "error\nerror\nerror\nerror\n"));
    let text = scratch.read("all-0");
    for rank in 0..4 {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("{rank}-"))).collect();
        assert_eq!(lines, (0..300).map(|i| format!("{rank}-{i}")).collect::<Vec<_>>());
    }
    assert_eq!(text.lines().count(), 1200);
    let run = mpiexec(&["-outfile-pattern", "/dev/null/out", "-n", "1", "true"]);
    assert!(run.code != Some(0) && run.err.contains("the file /dev/null/out for its output"), "{run:?}");
}

#[test]
fn errors_go_where_output_goes() {
    let scratch = Scratch::new("merge");
    let script = "echo out; echo err >&2; echo out; echo err >&2";
    let both = "out\nerr\nout\nerr\n";
    let run = mpiexec(&["--merge-stderr-to-stdout", "-n", "1", "sh", "-c", script]);
    assert_eq!((run.out.as_str(), run.err.as_str()), (both, ""));
    let run = mpiexec(&["--merge-stderr-to-stdout", "-l", "-n", "1", "sh", "-c", script]);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("[0] out\n[0] err\n[0] out\n[0] err\n", ""));
    let name = scratch.0.join("x");
    let options = ["--merge-stderr-to-stdout", "--output-filename", name.to_str().unwrap()];
    let run = mpiexec(&[&options[..], &["-n", "1", "sh", "-c", script]].concat());
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""));
    assert_eq!(scratch.read("x.0.out"), both);
    assert!(!scratch.0.join("x.0.err").exists());
}

#[test]
fn the_time_stands_in_front_of_lines() {
    let run = mpiexec(&["--timestamp-output", "-l", "-n", "2", "echo", "text"]);
    let form: Vec<String> = run.sorted().iter().map(|line| line.replace(|c: char| c.is_ascii_digit(), "0")).collect();
    assert_eq!(form, ["[0000-00-00 00:00:00.000] [0] text", "[0000-00-00 00:00:00.000] [0] text"]);
}

#[test]
fn another_rank_or_all_or_none_read_the_input() {
    let input = "a line\nand more\n".repeat(20_000);
    let cases = [("2", "0:0 1:0 2:320000"), ("all", "0:320000 1:320000 2:320000"), ("none", "0:0 1:0 2:0")];
    for (who, expected) in cases {
        let script = "echo $TERN_RANK:$(wc -c)";
        let job = Job::new(&["--stdin", who, "-n", "3", "sh", "-c", script]).with(|command| {
            command.stdin(Stdio::piped());
        });
        let mut running = job.start();
        let mut pipe = running.child.stdin.take().unwrap();
        // Who reads nothing closes it.
        let _ = pipe.write_all(input.as_bytes());
        drop(pipe);
        assert_eq!(running.end().sorted().join(" "), expected, "{who}");
    }
}
