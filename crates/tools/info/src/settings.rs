//! The settings, with their values.

use crate::print;

/// Every setting: value, source, meaning, values, default.
pub fn report() -> String {
    let mut text = print::heading("Settings");
    for entry in tern_settings::ALL {
        let shown = |value: &'static str| if value.is_empty() { "(empty)" } else { value };
        text.push_str(&format!("{} = {} ({})\n", entry.name(), shown(entry.value()), entry.source()));
        for line in print::wrap(&entry.meaning(), 90) {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str(&format!("    {}: {}; default {}\n", entry.type_name(), entry.allowed(), shown(entry.default())));
    }
    text
}
