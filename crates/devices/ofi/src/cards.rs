//! Cards that need libfabric, by what the kernel says of them: loading the library to ask takes long.

use std::path::Path;

/// Kernel drivers of such cards: EFA, and Omni-Path, which libibverbs reaches by emulation only.
const DRIVERS: [&str; 2] = ["efa", "hfi1"];

/// The names of the cards that libfabric alone drives, or drives better than libibverbs. `sys`: where sysfs is.
pub fn cards(sys: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = |class: &str| std::fs::read_dir(sys.join("class").join(class)).into_iter().flatten().flatten();
    let has_driver = |entry: &std::fs::DirEntry| {
        let driver = std::fs::read_link(entry.path().join("device/driver")).unwrap_or_default();
        DRIVERS.iter().any(|name| driver.ends_with(name))
    };
    let verbs: Vec<_> = entries("infiniband").filter(has_driver).collect();
    entries("cxi")
        .chain(verbs)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn cards_are_known_by_their_drivers() {
        let sys = std::env::temp_dir().join(format!("tern-ofi-cards-{}", std::process::id()));
        assert_eq!(cards(&sys).count(), 0);
        for (card, driver) in [("mlx5_0", "mlx5_core"), ("efa_0", "efa"), ("hfi1_0", "hfi1")] {
            let device = sys.join("class/infiniband").join(card).join("device");
            std::fs::create_dir_all(&device).expect("a directory");
            symlink(format!("../../drivers/{driver}"), device.join("driver")).expect("a link");
        }
        std::fs::create_dir_all(sys.join("class/cxi/cxi0")).expect("a directory");
        let mut found: Vec<String> = cards(&sys).collect();
        found.sort();
        std::fs::remove_dir_all(&sys).expect("it was made");
        assert_eq!(found, ["cxi0", "efa_0", "hfi1_0"]);
    }
}
