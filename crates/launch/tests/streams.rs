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
