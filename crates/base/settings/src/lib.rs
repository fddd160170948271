//! The `TERN_*` settings, declared once in [`table`].
//!
//! `tern_settings::SPIN.get()` gives the value. All settings are read from the environment, and from the files of the user and of the
//! site (`files`), together, on the first `get`; after that a `get` is one load. What the environment holds wrong
//! is reported then, in one line each: a value that is not allowed (the default is used instead),
//! and a `TERN_` name that no setting has.

mod files;
mod kind;
mod load;
pub mod log;
mod ports;
mod render;
mod rules;
mod table;

use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

pub use files::{own_file, places};
pub use kind::{Explain, Kind};
pub use load::{check, distance, from_files, load, problems};
pub use ports::port_range;
pub use render::markdown;
pub use rules::OffRules;
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
    /// The user's file: `~/.config/tern.conf`, or the one that TERN_CONF names.
    User,
    /// The site's file: `PREFIX/etc/tern.conf`.
    Site,
    /// The program, or a tool: [`Entry::set`].
    Program,
}

/// Who may change a setting while the program runs, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nobody: it is the launcher's, which has read it.
    Launcher,
    /// Each process for itself, until MPI is initialised.
    Process,
    /// All processes of the job alike, until MPI is initialised.
    Job,
    /// Each process for itself, at any time.
    Always,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Default => "default",
            Source::Environment => "environment",
            Source::User => "user's file",
            Source::Site => "site's file",
            Source::Program => "program",
        })
    }
}

/// One setting of type `T`.
pub struct Setting<T> {
    name: &'static str,
    default: &'static str,
    meaning: &'static [&'static str],
    range: (u64, u64),
    category: &'static str,
    scope: Scope,
    word: AtomicU64,
    source: AtomicU8,
    /// What was written, if anything. Never freed, since values are handed out.
    text: AtomicPtr<String>,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Kind> Setting<T> {
    pub(crate) const fn new(
        name: &'static str, default: &'static str, meaning: &'static [&'static str], range: (u64, u64),
        (category, scope): (&'static str, Scope),
    ) -> Self {
        Setting {
            name,
            default,
            meaning,
            range,
            word: AtomicU64::new(UNREAD),
            source: AtomicU8::new(0),
            category,
            scope,
            text: AtomicPtr::new(std::ptr::null_mut()),
            kind: std::marker::PhantomData,
        }
    }

    /// The value. The first call of all reads the environment; later ones are one load.
    #[inline]
    pub fn get(&'static self) -> T {
        // Acquire: pairs with the releases in `keep` and `accept`, so that the text is there too.
        let word = self.word.load(Ordering::Acquire);
        if word == UNREAD {
            return self.read();
        }
        T::decode(word, self.text())
    }

    /// What was written, or the default.
    #[inline]
    fn text(&self) -> &'static str {
        // Acquire: pairs with the release in `keep`.
        // SAFETY: null, or a string that was leaked.
        unsafe { self.text.load(Ordering::Acquire).as_ref() }.map_or(self.default, String::as_str)
    }

    /// Takes a value that was parsed to `word`.
    fn keep(&self, text: &str, word: u64, source: Source) {
        // Release: pairs with the acquire in `text`.
        self.text.store(Box::leak(Box::new(text.to_owned())), Ordering::Release);
        self.source.store(source as u8, Ordering::Relaxed);
        // Release: pairs with the acquire in `get`, so that the text is there too.
        self.word.store(word, Ordering::Release);
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
    /// Name of the part of Tern that it is about.
    fn category(&self) -> &'static str;
    /// Who may change it.
    fn scope(&self) -> Scope;
    /// See [`Kind::words`].
    fn words(&self) -> &'static [&'static str];
    /// The number of the value in use, among [`Entry::words`] if there are any.
    fn word(&'static self) -> u64;
    /// Gives it another value, whatever the scope says; the error says why not.
    fn set(&'static self, text: &str) -> Result<(), String>;
    /// Sets the value: `None` is the default, and so is a wrong value, whose error is returned.
    #[doc(hidden)]
    fn accept(&self, text: Option<(&str, Source)>) -> Result<(), String>;
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
        self.meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }

    fn allowed(&self) -> String {
        T::allowed(self.range)
    }

    fn value(&'static self) -> &'static str {
        load();
        self.text()
    }

    fn source(&'static self) -> Source {
        load();
        let source = self.source.load(Ordering::Relaxed);
        let all = [Source::Environment, Source::User, Source::Site, Source::Program];
        all.into_iter().find(|&one| one as u8 == source).unwrap_or(Source::Default)
    }

    fn check(&self, text: &str) -> Result<(), String> {
        T::parse(text, self.range).map(|_| ())
    }

    fn accept(&self, text: Option<(&str, Source)>) -> Result<(), String> {
        let result = match text.map(|(text, source)| (text, source, T::parse(text, self.range))) {
            Some((text, source, Ok(word))) => {
                self.keep(text, word, source);
                return Ok(());
            }
            Some((.., Err(why))) => Err(why),
            None => Ok(()),
        };
        // A test holds every default to its own rules, so the 0 is never used.
        let word = T::parse(self.default, self.range).unwrap_or(0);
        // Release: pairs with the acquire in `get`.
        self.word.store(word, Ordering::Release);
        result
    }

    fn category(&self) -> &'static str {
        self.category
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn words(&self) -> &'static [&'static str] {
        T::words()
    }

    fn word(&'static self) -> u64 {
        load();
        self.word.load(Ordering::Relaxed)
    }

    fn set(&'static self, text: &str) -> Result<(), String> {
        load();
        self.keep(text, T::parse(text, self.range)?, Source::Program);
        Ok(())
    }
}
