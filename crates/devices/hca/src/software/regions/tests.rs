use super::*;

const DOMAIN: u32 = 3;

fn segment(of: &[u8], key: u32) -> Segment {
    Segment { address: of.as_ptr() as u64, len: of.len() as u32, key }
}

#[test]
fn keys_bounds_access_and_domain_are_checked() {
    let regions = Regions::default();
    let key = regions.add(1000, 100, Access::REMOTE_READ, DOMAIN);
    let check = |key, domain, address, len, need| regions.hold().check(key, domain, address, len, need).is_ok();
    assert!(check(key, DOMAIN, 1000, 100, Need::RemoteRead));
    assert!(check(key, DOMAIN, 1100, 0, Need::LocalRead));
    assert!(!check(key, DOMAIN, 1000, 101, Need::RemoteRead));
    assert!(!check(key, DOMAIN, 999, 1, Need::RemoteRead));
    assert!(!check(key, DOMAIN, u64::MAX, 2, Need::RemoteRead));
    assert!(!check(key, DOMAIN, 1000, u64::MAX, Need::RemoteRead));
    assert!(!check(key, DOMAIN + 1, 1000, 1, Need::RemoteRead));
    for need in [Need::LocalWrite, Need::RemoteWrite, Need::RemoteAtomic] {
        assert!(!check(key, DOMAIN, 1000, 1, need));
    }
    assert!(!check(0, DOMAIN, 1000, 1, Need::LocalRead));
}

#[test]
fn a_key_that_was_given_back_stays_dead() {
    let regions = Regions::default();
    let old = regions.add(0, 10, Access::ALL, DOMAIN);
    regions.remove(old);
    let new = regions.add(0, 10, Access::ALL, DOMAIN);
    assert_ne!(old, new);
    assert!(regions.hold().check(old, DOMAIN, 0, 1, Need::LocalRead).is_err());
    assert!(regions.hold().check(new, DOMAIN, 0, 1, Need::LocalRead).is_ok());
}

#[test]
fn a_list_is_cut_anywhere() {
    let regions = Regions::default();
    let memory = [0u8; 64];
    let key = regions.add(memory.as_ptr() as u64, 64, Access::ALL, DOMAIN);
    let list = [segment(&memory[0..10], key), segment(&memory[20..20], key), segment(&memory[30..50], key)];
    for offset in 0..=30 {
        for len in 0..=30 - offset {
            let runs = regions.hold().runs(&list, DOMAIN, Need::LocalRead, offset, len).unwrap();
            assert_eq!(runs.len() as u64, len);
        }
    }
    assert!(regions.hold().runs(&list, DOMAIN, Need::LocalRead, 5, 26).is_err());
}

#[test]
fn stores_reach_memory_and_never_crash() {
    for by_pipe in [false, true] {
        let store = if by_pipe { store_by_pipe } else { store };
        let mut memory = vec![0u8; 10_000];
        let mut runs = Runs::new();
        runs.push(memory.as_mut_ptr() as u64, 3);
        runs.push(memory.as_mut_ptr() as u64 + 100, 9000);
        let bytes: Vec<u8> = (0..9003u32).map(|number| number as u8).collect();
        store(&bytes, &runs).unwrap();
        assert_eq!((&memory[..3], &memory[100..9100]), (&bytes[..3], &bytes[3..]));

        let mut nowhere = Runs::new();
        nowhere.push(8, 16);
        assert_eq!(store(&bytes[..16], &nowhere), Err(Fault));
        store(&bytes, &runs).unwrap();
    }
}

#[test]
fn atomics_ask_first() {
    let mut word = 5u64;
    let address = &raw mut word as u64;
    let add = |cell: &AtomicU64| cell.fetch_add(2, Ordering::SeqCst);
    assert_eq!(atomic(address, add), Ok(5));
    assert_eq!(word, 7);
    assert_eq!(atomic(address + 1, add), Err(Fault));
    assert_eq!(atomic(4096, add), Err(Fault));
    static CONSTANT: [u8; 16] = *b"read-only memory";
    assert_eq!(atomic(CONSTANT.as_ptr() as u64 & !7, add), Err(Fault));
    assert!(mapped(address, 8) && !mapped(4096, 8) && !mapped(address, 1 << 62));
}
