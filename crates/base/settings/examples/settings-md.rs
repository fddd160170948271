//! Prints `docs/settings.md`.

fn main() {
    print!("{}", tern_settings::markdown());
}
