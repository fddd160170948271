//! What the user asks for.

use std::sync::OnceLock;
use tern_policy::collective::Selection;

/// What TERN_COLL says; where it is wrong, a warning once and nothing forced.
pub fn selection() -> Selection {
    static READ: OnceLock<Selection> = OnceLock::new();
    *READ.get_or_init(|| {
        Selection::parse(tern_settings::COLL.get()).unwrap_or_else(|error| {
            tern_settings::warn!("{error}");
            Selection::default()
        })
    })
}
