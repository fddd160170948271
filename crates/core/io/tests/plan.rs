//! Plans of collective accesses: every byte of every request goes to one aggregator in one round, and
//! what aggregators then write is what each process would have written.

mod common;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use common::{Name, dense, noise};
use proptest::prelude::*;
use tern_io::plan::{Plan, Request, Wishes};
use tern_io::{AccessKind, Choice, Hints, Representation, View, Window, read_window, write, write_window};
use tern_layout::{Basic, Type};

/// A process's part: a view, a position in it, and how much.
#[derive(Clone, Debug)]
struct Part {
    view: View,
    position: u64,
    len: u64,
}

impl Part {
    fn request(&self) -> Request {
        Request::of(&self.view, self.position, self.len, 1000)
    }

    fn segments(&self) -> impl Iterator<Item = (u64, u64)> {
        self.view.segments(self.position, self.len)
    }
}

/// A filetype of blocks with holes, from (hole, block) lengths.
fn blocks(list: &[(i64, i64)], behind: i64) -> Rc<Type> {
    let (mut places, mut lengths, mut at) = (Vec::new(), Vec::new(), 0);
    for &(hole, block) in list {
        places.push(at + hole);
        lengths.push(block);
        at += hole + block;
    }
    let ty = Type::hindexed(&lengths, &places, &Type::basic(Basic::Byte)).unwrap();
    Type::resized(0, at + behind, &ty).unwrap()
}

fn view(displacement: i64, filetype: &Rc<Type>) -> View {
    View::new(displacement, &Type::basic(Basic::Byte), filetype, Representation::Native, true).unwrap()
}

/// Parts that may overlap each other: for what goes where.
fn parts() -> impl Strategy<Value = Vec<Part>> {
    let list = prop::collection::vec((0..30i64, 1..30i64), 1..5);
    let part = (0..300i64, list, 0..30i64, 0..200u64, prop_oneof![1 => Just(0), 5 => 1..700u64]).prop_map(
        |(displacement, list, behind, position, len)| {
            let view = view(displacement, &blocks(&list, behind));
            Part { view, position, len }
        },
    );
    prop::collection::vec(part, 1..7)
}

/// Parts without overlaps: blocks of different lengths, dealt out.
fn dealt() -> impl Strategy<Value = Vec<Part>> {
    (1..6usize, prop::collection::vec(1..40i64, 6), 0..20i64, 0..20i64, 1..400u64).prop_map(
        |(processes, lengths, hole, start, len)| {
            let extent: i64 = lengths[..processes].iter().map(|length| length + hole).sum();
            let mut at = start;
            let parts = lengths[..processes].iter().map(|&length| {
                let block = Type::contiguous(length, &Type::basic(Basic::Byte)).unwrap();
                let view = view(at, &Type::resized(0, extent, &block).unwrap());
                at += length + hole;
                Part { view, position: 3, len: len + length as u64 }
            });
            parts.collect()
        },
    )
}

fn wishes() -> impl Strategy<Value = Wishes> {
    (prop::option::of(1..9usize), 1..600u64, 0..100u64).prop_map(|(aggregators, buffer, align)| Wishes {
        way: AccessKind::Write,
        buffering: Choice::Always,
        aggregators,
        buffer: Some(buffer),
        align,
    })
}

fn within(inner: &Range<u64>, outer: &Range<u64>) -> bool {
    inner.start >= outer.start && inner.end <= outer.end
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_goes_once((parts, wishes) in (parts(), wishes())) {
        let requests: Vec<Request> = parts.iter().map(Part::request).collect();
        let plan = Plan::new(&requests, &wishes);
        prop_assert_eq!(plan.is_some(), parts.iter().any(|part| part.len > 0));
        let Some(plan) = plan else { return Ok(()) };
        let aggregators = plan.aggregators();
        prop_assert!(aggregators.len() <= parts.len() && aggregators.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(aggregators.iter().all(|&process| process < parts.len()));
        for part in &parts {
            // Position in the request and offset of each byte, from the view itself.
            let mut wanted = HashMap::new();
            let mut at = 0;
            for (offset, len) in part.segments() {
                wanted.extend((0..len).map(|byte| (at + byte, offset + byte)));
                at += len;
            }
            for round in 0..plan.rounds() {
                for piece in plan.pieces(&part.view, part.position, part.len, round) {
                    let run = piece.offset..piece.offset + piece.len;
                    prop_assert!(within(&run, &plan.window(piece.aggregator, round)));
                    for byte in 0..piece.len {
                        prop_assert_eq!(wanted.remove(&(piece.at + byte)), Some(piece.offset + byte));
                    }
                }
            }
            prop_assert!(wanted.is_empty(), "{} bytes go nowhere", wanted.len());
        }
    }

    #[test]
    fn windows_write_what_each_would(
        (parts, wishes) in (dealt(), wishes()),
        (before, sieving) in (0..3000usize, prop::sample::select(vec![Choice::Auto, Choice::Always, Choice::Never])),
    ) {
        let byte = Type::basic(Basic::Byte);
        let hints = Hints { read_sieving: sieving, write_sieving: sieving, ..Hints::default() };
        let data: Vec<Vec<u8>> = parts.iter().enumerate().map(|(own, part)| noise(own as u64, part.len as usize)).collect();
        let (alone, together) = (Name::with(&noise(99, before)), Name::with(&noise(99, before)));
        for (part, data) in parts.iter().zip(&data) {
            // SAFETY: all of the data is ours.
            unsafe { write(&alone.open(), &part.view, part.position, &dense(&mut data.clone(), &byte), &hints) }.unwrap();
        }
        let requests: Vec<Request> = parts.iter().map(Part::request).collect();
        let plan = Plan::new(&requests, &wishes).unwrap();
        let file = together.open();
        let mut back: Vec<Vec<u8>> = data.iter().map(|data| vec![0; data.len()]).collect();
        for round in 0..plan.rounds() {
            for aggregator in 0..plan.aggregators().len() {
                let pieces = |own: usize| {
                    let part: &Part = &parts[own];
                    let pieces = plan.pieces(&part.view, part.position, part.len, round);
                    pieces.filter(|piece| piece.aggregator == aggregator).collect::<Vec<_>>()
                };
                let mut window = Window::new();
                (0..parts.len()).flat_map(pieces).for_each(|piece| window.add(piece.offset, piece.len).unwrap());
                let range = window.range();
                prop_assert!(range.is_empty() || within(&range, &plan.window(aggregator, round)));
                let place = |offset: u64, len: u64| (offset - range.start) as usize..(offset - range.start + len) as usize;
                let mut buffer = vec![0xee; (range.end - range.start) as usize];
                for (own, data) in data.iter().enumerate() {
                    for piece in pieces(own) {
                        let source = &data[piece.at as usize..(piece.at + piece.len) as usize];
                        buffer[place(piece.offset, piece.len)].copy_from_slice(source);
                    }
                }
                write_window(&file, &window, &mut buffer, &hints).unwrap();
                buffer.fill(0xee);
                prop_assert_eq!(read_window(&file, &window, &mut buffer, &hints).unwrap(), range.end);
                for (own, back) in back.iter_mut().enumerate() {
                    for piece in pieces(own) {
                        let target = &mut back[piece.at as usize..(piece.at + piece.len) as usize];
                        target.copy_from_slice(&buffer[place(piece.offset, piece.len)]);
                    }
                }
            }
        }
        prop_assert!(alone.bytes() == together.bytes(), "the files differ");
        prop_assert!(data == back, "what was read differs");
    }
}

/// `processes` blocks of `len` bytes each in turns, `times` times.
fn turns(processes: i64, len: i64, times: i64) -> Vec<Request> {
    let block = Type::contiguous(len, &Type::basic(Basic::Byte)).unwrap();
    let ty = Type::resized(0, processes * len, &block).unwrap();
    (0..processes).map(|own| Request::of(&view(own * len, &ty), 0, (len * times) as u64, 1000)).collect()
}

#[test]
fn plans_are_made_where_they_pay() {
    let auto = Wishes::default();
    assert!(Plan::new(&turns(4, 512, 10_000), &auto).is_some(), "small pieces between each other");
    assert!(
        Plan::new(&turns(2, 512, 10_000), &auto).is_none(),
        "two read each other's bytes as holes sooner than they send them"
    );
    assert!(Plan::new(&turns(4, 1 << 20, 16), &auto).is_none(), "large pieces");
    assert!(Plan::new(&turns(4, 8, 2), &auto).is_none(), "little data");
    let apart: Vec<Request> =
        (0..4).map(|own| Request::of(&view(own << 20, &Type::basic(Basic::Byte)), 0, 1 << 20, 1000)).collect();
    assert!(Plan::new(&apart, &auto).is_none(), "each on its own part");
    assert!(Plan::new(&apart, &Wishes { buffering: Choice::Always, ..auto }).is_some());
    let never = Wishes { buffering: Choice::Never, ..auto };
    assert!(Plan::new(&turns(4, 512, 10_000), &never).is_none());
    let mut loose = turns(4, 512, 10_000);
    loose[2].ordered = 0;
    assert!(Plan::new(&loose, &Wishes { buffering: Choice::Always, ..auto }).is_none());
}

#[test]
fn domains_are_aligned() {
    let wishes = Wishes {
        way: AccessKind::Write,
        buffering: Choice::Always,
        aggregators: Some(3),
        buffer: Some(1 << 20),
        align: 1 << 16,
    };
    let plan = Plan::new(&turns(6, 1000, 3000), &wishes).unwrap();
    assert_eq!(plan.aggregators(), [0, 2, 4]);
    assert!((1..3).all(|index| plan.window(index, 0).start.is_multiple_of(1 << 16)));
}

#[test]
fn windows_are_chosen_by_the_size_of_domains() {
    let wishes = |buffer| Wishes { buffering: Choice::Always, aggregators: Some(1), buffer, ..Wishes::default() };
    let window = |bytes: u64, buffer| {
        let request = Request { first: 0, end: bytes, bytes, runs: 1, ordered: 1, call: 1000 };
        let window = Plan::new(&[request], &wishes(buffer)).unwrap().window(0, 0);
        window.end - window.start
    };
    assert_eq!(window(4 << 20, None), 1 << 20);
    assert_eq!(window(64 << 20, None), 4 << 20);
    assert_eq!(window(1 << 40, None), 16 << 20);
    assert_eq!(window(64 << 20, Some(1 << 16)), 1 << 16);
}

#[test]
fn a_window_ends_with_the_file() {
    let name = Name::with(&[1, 2, 3, 4, 5]);
    for sieving in [Choice::Always, Choice::Never] {
        let mut window = Window::new();
        [(1, 2), (4, 2), (8, 1)].into_iter().for_each(|(offset, len)| window.add(offset, len).unwrap());
        let mut buffer = [0; 8];
        let hints = Hints { read_sieving: sieving, ..Hints::default() };
        assert_eq!(read_window(&name.open(), &window, &mut buffer, &hints), Ok(5));
        assert_eq!([&buffer[..2], &buffer[3..]].concat(), [2, 3, 5, 0, 0, 0, 0]);
    }
}
