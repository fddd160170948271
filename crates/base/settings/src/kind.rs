//! The types that a setting can have, and how their values are written.

use std::time::Duration;

/// The word that stands for "chosen by Tern" in a setting of an optional type.
pub(crate) const AUTO_WORD: u64 = u64::MAX - 1;

/// A type that a setting can have. Its value is kept in one 64-bit word, so that reading a setting
/// is one load; text is kept beside the word.
pub trait Kind: Sized + 'static {
    /// The type's name in the documentation.
    const TYPE: &'static str;

    /// Reads a value from its written form. `range` is the smallest and largest number allowed;
    /// types that are not numbers ignore it. The error says what is wrong, without the name.
    fn parse(text: &str, range: (u64, u64)) -> Result<u64, String>;

    /// The value behind a word made by `parse`; `text` is what was written.
    fn decode(word: u64, text: &'static str) -> Self;

    /// What may be written, for the documentation.
    fn allowed(range: (u64, u64)) -> String;

    /// The words that the values `0, 1, …` are written as; none for types that are more than a few
    /// words.
    fn words() -> &'static [&'static str] {
        &[]
    }
}

impl Kind for u64 {
    const TYPE: &'static str = "integer";

    fn parse(text: &str, range: (u64, u64)) -> Result<u64, String> {
        let value = integer(text)?;
        if value < range.0 || value > range.1 {
            return Err(format!("must lie between {} and {}", short(range.0), short(range.1)));
        }
        Ok(value)
    }

    fn decode(word: u64, _: &'static str) -> Self {
        word
    }

    fn allowed(range: (u64, u64)) -> String {
        format!("{} to {}, with the suffixes k, m, g", short(range.0), short(range.1))
    }
}

impl Kind for bool {
    const TYPE: &'static str = "bool";

    fn parse(text: &str, _: (u64, u64)) -> Result<u64, String> {
        match text.to_ascii_lowercase().as_str() {
            "on" | "1" | "yes" | "true" => Ok(1),
            "off" | "0" | "no" | "false" => Ok(0),
            _ => Err("must be on or off".into()),
        }
    }

    fn decode(word: u64, _: &'static str) -> Self {
        word == 1
    }

    fn allowed(_: (u64, u64)) -> String {
        "on, off".into()
    }

    fn words() -> &'static [&'static str] {
        &["off", "on"]
    }
}

/// Which explanation the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// None.
    Off,
    /// Of what will be taken, at the start.
    Choices,
    /// Of what was taken, at the end.
    Used,
}

impl Explain {
    /// The user asks which ways were taken.
    pub fn is_used(self) -> bool {
        self == Explain::Used
    }
}

impl Kind for Explain {
    const TYPE: &'static str = "choice";

    fn parse(text: &str, range: (u64, u64)) -> Result<u64, String> {
        match text.eq_ignore_ascii_case("used") {
            true => Ok(2),
            false => bool::parse(text, range).map_err(|_| "must be on, off or used".into()),
        }
    }

    fn decode(word: u64, _: &'static str) -> Self {
        match word {
            0 => Explain::Off,
            1 => Explain::Choices,
            _ => Explain::Used,
        }
    }

    fn allowed(_: (u64, u64)) -> String {
        "on, off, used".into()
    }

    fn words() -> &'static [&'static str] {
        &["off", "on", "used"]
    }
}

impl Kind for Duration {
    const TYPE: &'static str = "duration";

    fn parse(text: &str, range: (u64, u64)) -> Result<u64, String> {
        let value = nanoseconds(text)?;
        if value < range.0 || value > range.1 {
            return Err(format!("must lie between {} and {}", time(range.0), time(range.1)));
        }
        Ok(value)
    }

    fn decode(word: u64, _: &'static str) -> Self {
        Duration::from_nanos(word)
    }

    fn allowed(range: (u64, u64)) -> String {
        format!("{} to {}, with the unit ns, us, ms, s, min or h", time(range.0), time(range.1))
    }
}

impl Kind for &'static str {
    const TYPE: &'static str = "text";

    fn parse(_: &str, _: (u64, u64)) -> Result<u64, String> {
        Ok(0)
    }

    fn decode(_: u64, text: &'static str) -> Self {
        text
    }

    fn allowed(_: (u64, u64)) -> String {
        "any text".into()
    }
}

/// An optional setting: `auto` leaves the choice to Tern and reads as `None`.
impl<T: Kind> Kind for Option<T> {
    const TYPE: &'static str = T::TYPE;

    fn parse(text: &str, range: (u64, u64)) -> Result<u64, String> {
        if text.eq_ignore_ascii_case("auto") {
            return Ok(AUTO_WORD);
        }
        T::parse(text, range).map_err(|why| format!("{why}, or be auto"))
    }

    fn decode(word: u64, text: &'static str) -> Self {
        (word != AUTO_WORD).then(|| T::decode(word, text))
    }

    fn allowed(range: (u64, u64)) -> String {
        format!("auto, or {}", T::allowed(range))
    }
}

/// Makes an enum a choice between words: `choice! { pub enum Name { Variant = "word", … } }`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $crate::Kind for $name {
            const TYPE: &'static str = "choice";

            fn parse(text: &str, _: (u64, u64)) -> Result<u64, String> {
                let words = Self::words();
                words
                    .iter()
                    .position(|word| word.eq_ignore_ascii_case(text))
                    .map(|at| at as u64)
                    .ok_or_else(|| format!("must be one of {}", words.join(", ")))
            }

            fn decode(word: u64, _: &'static str) -> Self {
                [$(Self::$variant),+][word as usize]
            }

            fn allowed(_: (u64, u64)) -> String {
                Self::words().join(", ")
            }

            fn words() -> &'static [&'static str] {
                &[$($word),+]
            }
        }
    };
}

/// Reads `12`, `64k`, `2M`, `1g`: k, m and g are powers of 1024.
fn integer(text: &str) -> Result<u64, String> {
    let wrong = || "must be a whole number, such as 4096 or 64k".to_string();
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let value: u64 = digits.parse().map_err(|_| "is too large".to_string())?;
    value.checked_mul(1 << shift).ok_or_else(|| "is too large".to_string())
}

/// Reads `30s`, `5ms`, `0.5us`; a number without a unit is refused, except 0.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..at].trim(), &text[at..]);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "" if number == "0" => 0.0,
        _ => return Err("must be a time with its unit, such as 30s or 5ms".into()),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match number.parse::<f64>() {
        Ok(value) if plain => Ok((value * scale) as u64),
        _ => Err("must be a time with its unit, such as 30s or 5ms".into()),
    }
}

/// A number with the largest suffix that divides it.
pub(crate) fn short(value: u64) -> String {
    for (shift, suffix) in [(30, "g"), (20, "m"), (10, "k")] {
        if value != 0 && value.is_multiple_of(1 << shift) {
            return format!("{}{suffix}", value >> shift);
        }
    }
    value.to_string()
}

/// A time in nanoseconds with the largest unit that divides it.
pub(crate) fn time(nanoseconds: u64) -> String {
    for (scale, unit) in [
        (3600 * 1_000_000_000, "h"),
        (60 * 1_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1000, "us"),
    ] {
        if nanoseconds != 0 && nanoseconds.is_multiple_of(scale) {
            return format!("{}{unit}", nanoseconds / scale);
        }
    }
    if nanoseconds == 0 { "0".into() } else { format!("{nanoseconds}ns") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: (u64, u64) = (0, 1 << 60);

    #[test]
    fn integers_take_suffixes() {
        assert_eq!(u64::parse("4096", ANY), Ok(4096));
        assert_eq!(u64::parse("64k", ANY), Ok(65536));
        assert_eq!(u64::parse("2M", ANY), Ok(2 << 20));
        assert_eq!(u64::parse("1g", ANY), Ok(1 << 30));
        for wrong in ["", "k", "-1", "+1", "1.5k", "4kb", " 4", "99999999999999999999", "9999999999999g"] {
            assert!(u64::parse(wrong, ANY).is_err(), "{wrong:?} was taken");
        }
        assert!(u64::parse("9", (10, 20)).is_err());
        assert!(u64::parse("21", (10, 20)).is_err());
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(Duration::parse("30s", ANY), Ok(30_000_000_000));
        assert_eq!(Duration::parse("5ms", ANY), Ok(5_000_000));
        assert_eq!(Duration::parse("0.5us", ANY), Ok(500));
        assert_eq!(Duration::parse("2min", ANY), Ok(120_000_000_000));
        assert_eq!(Duration::parse("0", ANY), Ok(0));
        for wrong in ["30", "s", "", "-1s", "1e3s", "1 fortnight", "nans"] {
            assert!(Duration::parse(wrong, ANY).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn auto_is_none() {
        let word = Option::<u64>::parse("auto", ANY).unwrap();
        assert_eq!(Option::<u64>::decode(word, ""), None);
        let word = Option::<u64>::parse("1k", ANY).unwrap();
        assert_eq!(Option::<u64>::decode(word, ""), Some(1024));
    }

    #[test]
    fn numbers_are_written_short() {
        assert_eq!(short(65536), "64k");
        assert_eq!(short(1000), "1000");
        assert_eq!(short(0), "0");
        assert_eq!(time(5_000_000), "5ms");
        assert_eq!(time(90_000_000_000), "90s");
    }
}
