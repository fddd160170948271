//! What the processes of a job know and nobody else. It never crosses a network: who knows it proves that by keyed hashes.

/// A random secret of 256 bits.
pub type Secret = [u8; 32];

/// A fresh one.
///
/// Errors: the kernel has no random numbers.
pub fn new_secret() -> std::io::Result<Secret> {
    let mut bytes = [0u8; 32];
    // SAFETY: writes at most 32 bytes into the array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    // So few bytes come whole.
    if got == bytes.len() as isize { Ok(bytes) } else { Err(std::io::Error::last_os_error()) }
}

/// A secret as hexadecimal digits.
pub fn secret_text(secret: &Secret) -> String {
    secret.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The reverse; `None` for other texts.
pub fn secret_of(text: &str) -> Option<Secret> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut secret = [0; 32];
    for (at, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_read_as_written() {
        let (one, other) = (new_secret().expect("random"), new_secret().expect("random"));
        assert_ne!(one, other);
        assert_eq!(secret_of(&secret_text(&one)), Some(one));
        for text in ["", "7", &"0".repeat(63), &"g".repeat(64), &"+".repeat(64), &"ä".repeat(32)] {
            assert_eq!(secret_of(text), None, "{text}");
        }
    }
}
