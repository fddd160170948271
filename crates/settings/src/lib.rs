//! The `TERN_*` settings, declared once in [`table`].
//!
//! `tern_settings::SPIN.get()` gives the value. All settings are read from the environment
//! together, on the first `get`; after that a `get` is one load. What the environment holds wrong
//! is reported then, in one line each: a value that is not allowed (the default is used instead),
//! and a `TERN_` name that no setting has.

mod kind;
mod load;
pub mod log;
mod render;
mod table;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

pub use kind::Kind;
pub use load::{check, distance, load, problems};
pub use render::markdown;
pub use table::*;

/// The word of a setting that was not read yet.
const UNREAD: u64 = u64::MAX;

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The declaration.
    Default,
    /// The environment variable with the setting's name.
    Environment,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Default => "default",
            Source::Environment => "environment",
        })
    }
}

/// One setting of type `T`.
pub struct Setting<T> {
    name: &'static str,
    default: &'static str,
    meaning: &'static [&'static str],
    range: (u64, u64),
    word: AtomicU64,
    source: AtomicU8,
    text: OnceLock<String>,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Kind> Setting<T> {
    pub(crate) const fn new(
        name: &'static str,
        default: &'static str,
        meaning: &'static [&'static str],
        range: (u64, u64),
    ) -> Self {
        Setting {
            name,
            default,
            meaning,
            range,
            word: AtomicU64::new(UNREAD),
            source: AtomicU8::new(0),
            text: OnceLock::new(),
            kind: std::marker::PhantomData,
        }
    }

    /// The value. The first call of all reads the environment; later ones are one load.
    #[inline]
    pub fn get(&'static self) -> T {
        // Acquire: pairs with the release in `accept`, so that the text is there too.
        let word = self.word.load(Ordering::Acquire);
        if word == UNREAD {
            return self.read();
        }
        T::decode(word, self.text.get().map_or(self.default, String::as_str))
    }

    #[cold]
    fn read(&'static self) -> T {
        load();
        self.get()
    }
}

/// What can be asked of a setting of any type: for reports and documentation.
pub trait Entry {
    /// The environment variable.
    fn name(&self) -> &'static str;
    /// The name of the type: integer, bool, choice, duration, text.
    fn type_name(&self) -> &'static str;
    /// The default, as it would be written.
    fn default(&self) -> &'static str;
    /// What the setting is for.
    fn meaning(&self) -> String;
    /// Which values may be written.
    fn allowed(&self) -> String;
    /// The value in use, as written; reads the environment if that was not done yet.
    fn value(&'static self) -> &'static str;
    /// Where the value in use comes from.
    fn source(&'static self) -> Source;
    /// Whether `text` is a value of this setting; the error says what is wrong with it.
    fn check(&self, text: &str) -> Result<(), String>;
    /// Sets the value: `None` is the default, and so is a wrong value, whose error is returned.
    #[doc(hidden)]
    fn accept(&self, text: Option<&str>) -> Result<(), String>;
}

impl<T: Kind> Entry for Setting<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn type_name(&self) -> &'static str {
        T::TYPE
    }

    fn default(&self) -> &'static str {
        self.default
    }

    fn meaning(&self) -> String {
        self.meaning
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn allowed(&self) -> String {
        T::allowed(self.range)
    }

    fn value(&'static self) -> &'static str {
        load();
        self.text.get().map_or(self.default, String::as_str)
    }

    fn source(&'static self) -> Source {
        load();
        if self.source.load(Ordering::Relaxed) == 1 {
            Source::Environment
        } else {
            Source::Default
        }
    }

    fn check(&self, text: &str) -> Result<(), String> {
        T::parse(text, self.range).map(|_| ())
    }

    fn accept(&self, text: Option<&str>) -> Result<(), String> {
        let (word, result) = match text.map(|text| (text, T::parse(text, self.range))) {
            Some((text, Ok(word))) => {
                let _ = self.text.set(text.to_owned());
                self.source.store(1, Ordering::Relaxed);
                (Ok(word), Ok(()))
            }
            Some((_, Err(why))) => (T::parse(self.default, self.range), Err(why)),
            None => (T::parse(self.default, self.range), Ok(())),
        };
        // A test holds every default to its own rules, so the 0 is never used.
        // Release: pairs with the acquire in `get`.
        self.word.store(word.unwrap_or(0), Ordering::Release);
        result
    }
}
