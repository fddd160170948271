//! The settings, with their values.

use crate::print;

/// Every setting: value, source, meaning, values, default.
pub fn report() -> String {
    let mut text = print::heading("Settings");
    text.push_str(&print::line("files", &files()));
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

/// Which files may have given values, and which of them are there.
fn files() -> String {
    match tern_settings::CONF.get() {
        "off" => "none, as TERN_CONF=off asks for".into(),
        "" => {
            let state = |there: bool| if there { "is read" } else { "is not there" };
            let all = tern_settings::places().into_iter();
            let all: Vec<String> =
                all.map(|(path, source)| format!("{} ({source}) {}", path.display(), state(path.is_file()))).collect();
            all.join("; ")
        }
        path => format!("{path}, which TERN_CONF names"),
    }
}
