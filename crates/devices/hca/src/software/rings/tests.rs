use super::*;
use proptest::prelude::*;
use std::sync::atomic::fence;

fn both() -> (Rings, Rings) {
    let one = Rings::new().expect("a memfd");
    let file = one.file().try_clone().expect("a descriptor");
    (one, Rings::open(file).expect("the other side"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// What comes out is what went in, whatever the pieces.
    #[test]
    fn bytes_stay_in_order(pieces in proptest::collection::vec((1usize..100_000, 1usize..100_000), 1..60)) {
        let (one, other) = both();
        let (mut put, mut taken) = (0usize, 0usize);
        let byte = |at: usize| (at * 7 + (at >> 9)) as u8;
        for (writes, reads) in pieces {
            let bytes: Vec<u8> = (put..put + writes).map(byte).collect();
            let wrote = one.put(&bytes);
            prop_assert_eq!(wrote, writes.min(RING - (put - taken)));
            one.publish();
            put += wrote;
            prop_assert_eq!(one.has_room(), put - taken < RING);
            prop_assert_eq!(other.has_data(), put > taken);
            let mut into = vec![0; reads];
            let (took, _) = other.take(&mut into);
            prop_assert_eq!(took, reads.min(put - taken));
            let expected: Vec<u8> = (taken..taken + took).map(byte).collect();
            prop_assert!(into[..took] == expected[..]);
            taken += took;
        }
    }
}

#[test]
fn what_is_not_published_can_be_taken_back() {
    let (one, other) = both();
    one.put(b"seen");
    one.publish();
    one.put(b"not");
    one.retreat();
    one.put(b"!");
    one.publish();
    let mut into = [0; 16];
    assert_eq!(other.take(&mut into).0, 5);
    assert_eq!(&into[..5], b"seen!");
}

#[test]
fn who_sleeps_is_woken_once() {
    let (one, other) = both();
    one.put(b"a");
    assert!(!one.publish(), "the other side is awake");
    other.sleep();
    one.put(b"b");
    assert!(one.publish());
    one.put(b"c");
    assert!(!one.publish(), "it has been woken");
    other.sleep();
    other.awake();
    one.put(b"d");
    assert!(!one.publish());
}

#[test]
fn who_makes_room_wakes_only_who_waits_for_it() {
    let (one, other) = both();
    assert_eq!(one.put(&vec![1; RING + 1]), RING);
    one.publish();
    one.sleep();
    let mut into = [0; 10];
    assert!(!other.take(&mut into).1, "it does not wait");
    one.block(true);
    assert!(other.take(&mut into).1);
    assert!(one.has_room());
}

/// Two threads that sleep whenever they can: none is forgotten.
#[test]
fn nobody_sleeps_for_ever() {
    use std::sync::mpsc;
    let (one, other) = both();
    let (wake_reader, reader_woken) = mpsc::channel();
    let (wake_writer, writer_woken) = mpsc::channel();
    const BYTES: usize = 8 * RING;
    let writer = std::thread::spawn(move || {
        let mut put = 0;
        while put < BYTES {
            let piece = vec![put as u8; (1 + put % 70_001).min(BYTES - put)];
            let wrote = one.put(&piece);
            put += wrote;
            if wrote > 0 && one.publish() {
                wake_reader.send(()).expect("the reader lives");
            }
            if wrote < piece.len() {
                one.block(true);
                one.sleep();
                fence(Ordering::SeqCst);
                if !one.has_room() {
                    writer_woken.recv().expect("the reader lives");
                }
                one.awake();
                one.block(false);
            }
        }
        // Who wakes it last needs somebody to tell.
        (one, writer_woken)
    });
    let mut taken = 0;
    let mut into = vec![0; 50_000];
    while taken < BYTES {
        let (took, wakes) = other.take(&mut into);
        taken += took;
        if wakes {
            wake_writer.send(()).expect("the writer lives");
        }
        if took == 0 {
            other.sleep();
            fence(Ordering::SeqCst);
            if !other.has_data() {
                reader_woken.recv().expect("the writer lives");
            }
            other.awake();
        }
    }
    drop(writer.join());
}

#[test]
fn a_file_that_can_shrink_is_refused() {
    let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
    ftruncate(&file, BYTES as u64).expect("sized");
    assert!(Rings::open(file).is_err());
}
