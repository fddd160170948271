//! Keys and values of info objects and hints.

/// Keys and values of an info object, in the order of their first setting.
pub type InfoMap = Vec<(String, String)>;

/// The value of `key`.
pub fn find<'a>(map: &'a InfoMap, key: &str) -> Option<&'a str> {
    map.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

/// Sets `key`, where it stands or at the end.
pub fn put(map: &mut InfoMap, key: &str, value: &str) {
    match map.iter_mut().find(|(k, _)| k == key) {
        Some((_, old)) => *old = value.to_owned(),
        None => map.push((key.to_owned(), value.to_owned())),
    }
}
