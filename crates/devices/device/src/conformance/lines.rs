//! Control lines, for devices that have them.

use super::*;
use crate::{ControlSlots, Occupied};

/// The area `index` of `owner`, as `device` sees it; `None` when the device has no lines.
fn area(device: &dyn Channel, owner: u32, index: u32) -> Option<ControlSlots> {
    let area = device.control_slots(owner, index);
    assert!(area.is_some() || !device.abilities().lines || index > 0, "lines were promised");
    area
}

pub fn lines_begin_empty(factory: Factory) {
    let devices = everybody(factory, 2);
    for device in &devices {
        assert!(device.control_slots(2, 0).is_none(), "there is no process 2");
        for owner in 0..2 {
            let Some(area) = area(&**device, owner, 0) else {
                return;
            };
            assert!(!area.reached(1) && !area.reached(2));
            assert!(area.capacity() > 0);
        }
    }
}

pub fn lines_show_what_their_owner_publishes(factory: Factory) {
    let devices = everybody(factory, 2);
    let Some(mine) = area(&*devices[0], 0, 0) else {
        return;
    };
    let seen = area(&*devices[1], 0, 0).expect("lines of a peer");
    let longest = mine.capacity();
    assert_eq!(seen.capacity(), longest);
    // Two turns of each length, so that both buffers carry it.
    let lengths = [0, 1, 48, 49, 112, 113, 4096, longest];
    for (turn, len) in (1..).zip(lengths.into_iter().flat_map(|len| [len, len])) {
        assert!(!seen.reached(turn));
        mine.publish_with(turn, turn * 10, len, |out| out.copy_from_slice(&bytes(turn, len)));
        assert!(seen.reached(turn));
        assert!(!seen.reached(turn + 1));
        assert_eq!(seen.label(turn), turn * 10);
        // SAFETY: reached, with this length; dropped before the next turn.
        let payload = unsafe { seen.read(turn, len) };
        assert_eq!(payload.len(), len);
        check(turn, payload);
        // The turn before is still there: its reader may not have come yet.
        if turn > 1 {
            assert!(seen.reached(turn - 1));
        }
    }
}

/// An owner that publishes as soon as it may, with payloads of changing lengths, before a peer that reads as late as it can.
pub fn lines_run_ahead(factory: Factory) {
    let devices = everybody(factory, 2);
    let Some(mine) = area(&*devices[0], 0, 0) else {
        return;
    };
    let seen = area(&*devices[1], 0, 0).expect("lines of a peer");
    let longest = mine.capacity();
    let kinds = [1024, 8, 2000, longest, 1024, 113, longest / 2 + 1, 4096, 0, longest, longest];
    // Runs of one length, from one turn to a hundred.
    let runs =
        (0..60).flat_map(|run: usize| std::iter::repeat_n(kinds[run * 7 % kinds.len()], [1, 2, 100, 3, 5][run % 5]));
    let lengths: Vec<usize> = runs.collect();
    let read = |turn: u64| {
        assert!(seen.reached(turn));
        // SAFETY: reached, with this length; the owner waits until its place is free.
        check(turn, unsafe { seen.read(turn, lengths[turn as usize - 1]) });
    };
    let (occupied, mut next, mut furthest) = (Occupied::default(), 1, 0);
    for (turn, &len) in (1..).zip(&lengths) {
        let free = occupied.occupy(&mine, turn, len);
        assert!(free < turn, "two owners would wait for each other");
        // Whoever has published a turn has read those before.
        while next < free {
            read(next);
            next += 1;
        }
        furthest = furthest.max(if len == 1024 { turn - next } else { 0 });
        mine.publish_with(turn, 0, len, |out| out.copy_from_slice(&bytes(turn, len)));
    }
    (next..=lengths.len() as u64).for_each(read);
    assert!(furthest > 32, "the owner was {furthest} turns ahead");
}

pub fn lines_are_apart(factory: Factory) {
    let devices = everybody(factory, 3);
    if !devices[0].abilities().lines {
        return;
    }
    let areas = |device: &dyn Channel| -> Vec<ControlSlots> {
        (0..3)
            .flat_map(|owner| (0..4).map(move |index| (owner, index)))
            .filter_map(|(owner, index)| device.control_slots(owner, index))
            .collect()
    };
    for (number, area) in (1..).zip(areas(&*devices[0])) {
        let len = area.capacity();
        area.publish_with(1, number, len, |out| out.fill(number as u8));
        area.publish_with(2, number + 100, len, |out| out.fill(number as u8 + 100));
    }
    for (number, area) in (1..).zip(areas(&*devices[2])) {
        for (turn, value) in [(1, number), (2, number + 100)] {
            assert_eq!(area.label(turn), value);
            // SAFETY: published above, and not again.
            let payload = unsafe { area.read(turn, area.capacity()) };
            assert!(payload.iter().all(|&byte| byte == value as u8));
        }
    }
}

pub fn lines_between_threads(factory: Factory) {
    const TURNS: u64 = 2000;
    let group = factory(3);
    let run = |me: u32| {
        let device = group.join(me);
        let Some(mine) = area(&*device, me, 0) else {
            return;
        };
        for turn in 1..=TURNS {
            let len = (turn as usize * 37) % 300;
            let seed = |process: u32| turn * 3 + process as u64;
            mine.publish_with(turn, turn, len, |out| out.copy_from_slice(&bytes(seed(me), len)));
            for peer in (0..3).filter(|&peer| peer != me) {
                let theirs = area(&*device, peer, 0).expect("lines of a peer");
                while !theirs.reached(turn) {
                    std::thread::yield_now();
                }
                assert_eq!(theirs.label(turn), turn);
                // SAFETY: reached, with this length; dropped before this process goes on.
                check(seed(peer), unsafe { theirs.read(turn, len) });
            }
        }
    };
    std::thread::scope(|scope| {
        for me in 1..3 {
            scope.spawn(move || run(me));
        }
        run(0);
    });
}
