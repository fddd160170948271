//! Prints `docs/counters.md`.

fn main() {
    print!("{}", tern_counters::markdown());
}
