//! Regions of one process, seen by two members of a space that are both in this process.

mod support;

use proptest::prelude::*;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use support::{BASE, file, pattern, shape};
use tern_region::Run;
use tern_region::space::{Cookie, Direction, Error, Flags, Options, Protection, Space};

fn join(file: &OwnedFd, me: u32, options: Options) -> Space {
    Space::join(file.try_clone().expect("dup"), BASE, shape(2), me, options).expect("a place")
}

fn declare(space: &Space, runs: &[Run], flags: Flags) -> Result<Cookie, Error> {
    // SAFETY: the tests keep the memory.
    unsafe { space.create_region(runs, Protection::ReadWrite, flags) }
}

#[test]
fn a_name_is_not_used_again() {
    let space = join(&file(), 0, Options::default());
    let bytes = [0u8; 8];
    let run = [Run::new(bytes.as_ptr(), 8)];
    let mut names = std::collections::HashSet::new();
    let mut last = None;
    // More than there are slots.
    for _ in 0..10_000 {
        let cookie = declare(&space, &run, Flags::NONE).expect("a region");
        assert!(names.insert(cookie), "the same name twice");
        assert_eq!(Cookie::from_bits(cookie.to_bits()), Some(cookie));
        assert_eq!(space.copy(cookie.at(0), cookie.at(4), 4), Ok(()));
        for old in names.iter().take(3).copied().chain(last) {
            let result = space.copy(old.at(0), old.at(4), 4);
            assert_eq!(result.is_err(), old != cookie, "an old name works");
        }
        assert_eq!(space.destroy_region(cookie), Ok(()));
        assert_eq!(space.destroy_region(cookie), Err(Error::NoRegion));
        last = Some(cookie);
    }
}

#[test]
fn names_that_nobody_gave_are_no_regions() {
    let file = file();
    let space = join(&file, 0, Options::default());
    let other = join(&file, 1, Options::default());
    let cookie = declare(&other, &[], Flags::NONE).expect("an empty region");
    assert_eq!(space.copy(cookie.at(0), cookie.at(0), 0), Ok(()));
    assert_eq!(space.destroy_region(cookie), Err(Error::NotOwner));
    for shift in 0..64 {
        let wrong = Cookie::from_bits(cookie.to_bits() ^ 1 << shift);
        let Some(wrong) = wrong else { continue };
        assert_eq!(space.copy(wrong.at(0), wrong.at(0), 0), Err(Error::NoRegion), "bit {shift}");
        assert!(space.destroy_region(wrong).is_err());
    }
    assert_eq!(Cookie::from_bits(0), None);
}

#[test]
fn there_is_an_end_to_regions_and_segments() {
    let space = join(&file(), 0, Options::default());
    let bytes = vec![0u8; 1 << 17];
    let runs: Vec<Run> = (0..40_000).map(|index| Run::new(&bytes[3 * index], 2)).collect();
    let many = declare(&space, &runs, Flags::NONE).expect("40,000 segments");
    assert_eq!(declare(&space, &runs, Flags::NONE), Err(Error::Full));
    assert_eq!(space.destroy_region(many), Ok(()));
    let all: Vec<Cookie> = std::iter::from_fn(|| declare(&space, &runs[..1], Flags::NONE).ok()).collect();
    assert_eq!(all.len(), 4096);
    assert_eq!(space.destroy_region(all[7]), Ok(()));
    let once = declare(&space, &runs[..1], Flags::SINGLE_USE).expect("a place is free");
    assert_eq!(declare(&space, &runs[..1], Flags::NONE), Err(Error::Full));
    // What is used up makes room by itself.
    assert_eq!(space.copy(once.at(0), once.at(1), 1), Ok(()));
    assert!(declare(&space, &runs[..1], Flags::NONE).is_ok());
}

#[test]
fn a_single_use_is_spared_when_the_other_side_is_used_up() {
    let space = join(&file(), 0, Options::default());
    let bytes = [1u8, 2];
    let make = |index: usize| declare(&space, &[Run::new(&bytes[index], 1)], Flags::SINGLE_USE).expect("a region");
    let (from, gone, to) = (make(0), make(1), make(1));
    assert_eq!(space.copy(gone.at(0), gone.at(0), 1), Ok(()));
    assert_eq!(space.copy(from.at(0), gone.at(0), 1), Err(Error::NoRegion));
    assert_eq!(space.copy(from.at(0), to.at(0), 1), Ok(()));
    assert_eq!(bytes, [1, 1]);
}

#[test]
fn a_space_has_sound_sizes() {
    let wrong = |members, span, base, me| {
        Space::join(file(), base, tern_region::space::Shape { members, span }, me, Options::default()).map(|_| ())
    };
    assert_eq!(wrong(0, 1 << 20, BASE, 0), Err(Error::Shape));
    assert_eq!(wrong(1 << 20, 1 << 20, BASE, 0), Err(Error::Shape));
    assert_eq!(wrong(2, 1 << 20, BASE, 2), Err(Error::Shape));
    assert_eq!(wrong(2, 1000, BASE, 0), Err(Error::Shape));
    assert_eq!(wrong(2, 1 << 20, 4096, 0), Err(Error::Shape));
    assert_eq!(wrong(2, 1 << 20, BASE, 1), Ok(()));
}

#[test]
fn threads_copy_at_once() {
    let file = file();
    let owner = join(&file, 0, Options { server: true, ..Options::default() });
    let private = pattern(ROOM, 1);
    let region = declare(&owner, &[Run::new(private.as_ptr(), ROOM)], Flags::NONE).expect("a region");
    // Copies by CMA and through cells, of which there are fewer than threads.
    for cma in [true, false] {
        let user = join(&file, 1, Options { cma, ..Options::default() });
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let (user, private) = (&user, &private);
                scope.spawn(move || {
                    let mut bytes = vec![0u8; ROOM];
                    for turn in 0..10usize {
                        let start = (thread * 7919 + turn * 104_729) % (ROOM / 2);
                        let len = ROOM / 2 - turn;
                        let run = [Run::new(bytes.as_mut_ptr(), len)];
                        // SAFETY: the thread's own buffer.
                        unsafe {
                            user.inline_copy(&run, region.at(start as u64), len as u64, Direction::Read)
                                .expect("a copy");
                        }
                        assert!(bytes[..len] == private[start..start + len]);
                    }
                });
            }
        });
    }
}

const ROOM: usize = 600_000;

/// Memory in which runs lie: private, or of a space.
struct Arena {
    at: *mut u8,
    _private: Option<Vec<u8>>,
}

impl Arena {
    fn new(space: Option<&Space>, seed: u8) -> Arena {
        let bytes = pattern(ROOM, seed);
        match space {
            None => Arena { at: bytes.as_ptr().cast_mut(), _private: Some(bytes) },
            Some(space) => {
                let at = space.allocate(ROOM).expect("memory");
                // SAFETY: as much as was allocated.
                unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), ROOM) };
                Arena { at, _private: None }
            }
        }
    }

    /// Runs of the given lengths with gaps between them.
    fn runs(&self, pieces: &[(usize, usize)]) -> Vec<Run> {
        let mut at = 0;
        let mut runs = Vec::new();
        for (gap, len) in pieces {
            at += gap;
            if at + len > ROOM {
                break;
            }
            runs.push(Run::new(self.at.wrapping_add(at), *len));
            at += len;
        }
        runs
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: mapped, and nobody writes now.
        (0..ROOM).map(|index| unsafe { self.at.add(index).read_volatile() }).collect()
    }
}

/// Where each byte of a region lies in its arena.
fn offsets(arena: &Arena, runs: &[Run]) -> Vec<usize> {
    runs.iter().flat_map(|run| (run.at as usize - arena.at as usize..).take(run.len)).collect()
}

/// Lists of gaps and lengths: many short runs, or few long ones.
fn pieces() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop_oneof![
        prop::collection::vec((0usize..40, 0usize..100), 0..2500),
        prop::collection::vec((0usize..5000, 0usize..200_000), 0..6),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Mapped,
    Cma,
    Pipe,
    /// Shared memory on one side, private memory on the other.
    Mixed,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Copies between random layouts do what a loop over bytes would, and touch nothing else.
    #[test]
    fn bytes_go_where_they_belong(
        from in pieces(), to in pieces(),
        way in prop::sample::select(vec![Way::Mapped, Way::Cma, Way::Pipe, Way::Mixed]),
        inline in prop::sample::select(vec![None, Some(Direction::Read), Some(Direction::Write)]),
        parts in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0, 0.0f64..1.0), 1..5),
    ) {
        let file = file();
        let owner = join(&file, 0, Options { server: true, ..Options::default() });
        let (mapped, cma) = match way {
            Way::Mapped => (true, false),
            Way::Cma => (false, true),
            Way::Pipe => (false, false),
            Way::Mixed => (true, true),
        };
        let user = join(&file, 1, Options { mapped, cma, ..Options::default() });
        let source = Arena::new(matches!(way, Way::Mapped | Way::Mixed).then_some(&owner), 1);
        let target = Arena::new(matches!(way, Way::Mapped).then_some(&owner), 7);
        let (from, to) = (source.runs(&from), target.runs(&to));
        let (from_at, to_at) = (offsets(&source, &from), offsets(&target, &to));
        let regions = Arc::new([&from, &to].map(|runs| declare(&owner, runs, Flags::NONE).expect("a region")));
        let mut expected = target.bytes();
        for (first, second, third) in parts {
            let place = |share: f64, len: usize| (share * (len + 1) as f64) as usize;
            let (mut from_start, mut to_start) = (place(first, from_at.len()), place(second, to_at.len()));
            match inline {
                Some(Direction::Read) => to_start = 0,
                Some(Direction::Write) => from_start = 0,
                None => {}
            }
            let room = (from_at.len() - from_start).min(to_at.len() - to_start);
            let len = place(third, room);
            let (from_spot, to_spot) = (regions[0].at(from_start as u64), regions[1].at(to_start as u64));
            // SAFETY: memory of the test's own, with no other user.
            let result = unsafe {
                match inline {
                    None => user.copy(from_spot, to_spot, len as u64),
                    Some(Direction::Read) => user.inline_copy(&to, from_spot, len as u64, Direction::Read),
                    Some(Direction::Write) => user.inline_copy(&from, to_spot, len as u64, Direction::Write),
                }
            };
            prop_assert_eq!(result, Ok(()));
            let bytes = source.bytes();
            for index in 0..len {
                expected[to_at[to_start + index]] = bytes[from_at[from_start + index]];
            }
        }
        prop_assert!(target.bytes() == expected);
        prop_assert!(source.bytes() == pattern(ROOM, 1));
    }
}
