use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn break_even_is_the_least_n_above_r_by_c_minus_v() {
    let even = |register, copy, look_up| Costs { register, copy, look_up }.break_even();
    assert_eq!([even(100.0, 30.0, 10.0), even(99.0, 30.0, 10.0), even(0.0, 30.0, 10.0)], [Some(6), Some(5), Some(1)]);
    for (register, copy, look_up) in
        [(100.0, 10.0, 10.0), (1.0, 5.0, 10.0), (f64::INFINITY, 2.0, 1.0), (f64::NAN, 2.0, 1.0)]
    {
        assert_eq!(even(register, copy, look_up), None);
    }
}

#[test]
fn counts_follow_the_size() {
    // Copying costs a nanosecond for 10 bytes, looking up as much as 300 bytes.
    let costs = |size: usize| Costs { register: 10_000.0, copy: size as f64 / 10.0, look_up: 30.0 };
    let all = Counts::new(costs, 100);
    assert_eq!([127, 128, 256, 511].map(|len| all.needed(len)), [None; 4]);
    assert_eq!(all.needed(512), Some(472), "10000 / 21.2");
    assert_eq!(all.needed(1023), Some(472), "of the size below");
    assert_eq!(all.needed(8192), Some(13), "10000 / 789.2");
    assert_eq!(all.needed(usize::MAX), all.needed(size_of(CLASSES - 1)));
    let quarter = Counts::new(costs, 25);
    assert_eq!([512, 8192].map(|len| quarter.needed(len)), [Some(118), Some(4)]);
    assert_eq!([128, 8192].map(|len| Counts::new(costs, 0).needed(len)), [Some(1); 2], "at the first use");
    let table = quarter.to_string();
    assert_eq!(table.lines().count(), 2 + CLASSES);
    assert!(table.contains("never") && table.contains("118"), "{table}");
}

#[test]
fn buffers_used_once_end_the_growth() {
    let mut uses = Uses::new();
    for buffer in 0..100_000 {
        assert!(!uses.used(buffer * 4096, 1000, 2));
    }
    assert!(uses.is_full());
    assert_eq!(uses.len(), (GROWN * CHAINS, 0));
    // What is in there counts on.
    assert!(uses.used(known(&uses), 1000, 2));
    assert!(!uses.used(99_999 * 4096, 1000, 2));
}

/// The address of a buffer that is counted.
fn known(uses: &Uses) -> u64 {
    uses.buffers[1].address
}

/// The spectrum of the paper: 1000 buffers, and buffer i is used i times. By the rule it leaves from where it lies from
/// its use n on: that are i - n + 1 times if i is not below n.
#[test]
fn a_spectrum_of_uses() {
    const BUFFERS: u64 = 1000;
    /// Tells of each use which buffer it is of.
    type Order = dyn Fn(&mut dyn FnMut(u64));
    let sent_in_place = |needed: u64, order: &Order| {
        let (mut uses, mut sent) = (Uses::new(), 0);
        order(&mut |buffer| sent += u64::from(uses.used(buffer * 8192, 8192, needed as u32)));
        assert!(!uses.is_full() && uses.len() == (BUFFERS as usize, (BUFFERS + 1).saturating_sub(needed) as usize));
        sent
    };
    // All uses of one buffer and then those of the next, and in rounds, in which the more frequent ones take part.
    let one_by_one = |act: &mut dyn FnMut(u64)| (1..=BUFFERS).for_each(|buffer| (0..buffer).for_each(|_| act(buffer)));
    let in_rounds = |act: &mut dyn FnMut(u64)| (1..=BUFFERS).for_each(|round| (round..=BUFFERS).for_each(&mut *act));
    for needed in [1, 4, 13, 118, 472, 1000, 1001] {
        let times = (BUFFERS + 1).saturating_sub(needed);
        let expected = times * (times + 1) / 2;
        assert_eq!(
            [sent_in_place(needed, &one_by_one), sent_in_place(needed, &in_rounds)],
            [expected; 2],
            "from use {needed}"
        );
    }
}

/// A program that comes to other buffers is served again, and one that never uses anything twice seldom makes the table
/// start anew.
#[test]
fn a_useless_table_starts_afresh() {
    let mut uses = Uses::new();
    let once =
        |uses: &mut Uses, from: u64, count: u64| (from..from + count).for_each(|at| _ = uses.used(at * 64, 500, 3));
    once(&mut uses, 0, 3000);
    assert!(uses.is_full());
    // The next phase: ten buffers, again and again.
    let mut served = 0;
    for use_ in 0..10_000_u64 {
        served += u32::from(uses.used((1 << 40) | (use_ % 10 * 512), 512, 3));
    }
    assert!(!uses.is_full() && served > 5000, "{served}");
    let mut uses = Uses::new();
    let mut starts = 0;
    for at in 0..2_000_000_u64 {
        let before = uses.len().0;
        once(&mut uses, at, 1);
        starts += u32::from(uses.len().0 < before);
    }
    assert!((1..10).contains(&starts), "{starts} times");
}

/// A table that is full and still of use is kept.
#[test]
fn a_useful_table_stays() {
    let mut uses = Uses::new();
    (0..400).for_each(|at: u64| (0..2).for_each(|_| _ = uses.used(at * 64, 500, 2)));
    (0..1700).for_each(|at: u64| _ = uses.used((1 << 40) | (at * 64), 500, 2));
    assert!(uses.is_full());
    for use_ in 0..100_000_u64 {
        // One in four is one of the old ones.
        let old = use_ % 4 == 0;
        let address = if old { use_ / 4 % 400 * 64 } else { (1 << 50) | (use_ * 64) };
        assert_eq!(uses.used(address, 500, 2), old);
    }
}

#[test]
fn a_table_that_is_useful_grows_on() {
    let mut uses = Uses::new();
    // One in four is used again.
    for buffer in 0..20_000_u64 {
        uses.used(buffer * 64, 500, 2);
        if buffer % 4 == 0 {
            assert!(uses.used(buffer * 64, 500, 2));
        }
    }
    assert_eq!(uses.len(), (20_000, 5000));
    for buffer in 20_000..MOST as u64 + 1 {
        uses.used(buffer * 64, 500, 1);
    }
    assert!(uses.is_full() && uses.len().0 == MOST);
}

/// The first of the paper's ways to a long chain: addresses at a stride of pages.
#[test]
fn strides_do_not_share_chains() {
    for stride in [64, 4096, 1 << 20] {
        let mut uses = Uses::new();
        (0..2048).for_each(|buffer| _ = uses.used(0x7f00_0000_0000 + buffer * stride, 1024, 9));
        let length = |chain: &u32| {
            std::iter::successors(uses.buffers.get(*chain as usize), |b| uses.buffers.get(b.next as usize)).count()
        };
        let longest = uses.chains.iter().map(length).max().unwrap();
        assert!(longest <= 12, "stride {stride}: a chain of {longest}");
    }
}

#[test]
fn what_could_not_be_registered_is_counted_anew() {
    let mut uses = Uses::new();
    let mut wait = || (1..).find(|_| uses.used(4096, 200, 7)).unwrap();
    assert_eq!([wait(), wait()], [7, 1]);
    uses.failed(4096, 200);
    assert_eq!(uses.len(), (1, 0));
    assert!(!uses.used(4096, 200, 7));
}

/// Counting, literally; and a list of what the table has not taken.
#[derive(Default)]
struct Model {
    uses: HashMap<(u64, u64), u32>,
    frequent: HashMap<(u64, u64), bool>,
    full: bool,
    /// Whether each use of the window of the full table was of a frequent one.
    window: Vec<bool>,
    length: usize,
}

impl Model {
    fn used(&mut self, key: (u64, u64), needed: u32) -> bool {
        let frequent = self.count(key, needed);
        self.length = self.length.max(WINDOW as usize);
        if self.full {
            self.window.push(frequent);
        }
        if self.window.len() >= self.length {
            let served = self.window.iter().filter(|frequent| **frequent).count();
            if served * USEFUL < self.window.len() {
                *self = Model { length: 2 * self.length, ..Model::default() };
            } else {
                (self.window, self.length) = (Vec::new(), WINDOW as usize);
            }
        }
        frequent
    }

    fn count(&mut self, key: (u64, u64), needed: u32) -> bool {
        if !self.uses.contains_key(&key) {
            if !self.full && self.uses.len() >= GROWN * CHAINS {
                let useful = self.frequent.values().filter(|frequent| **frequent).count();
                self.full = useful * USEFUL < self.uses.len();
            }
            if self.full {
                return false;
            }
        }
        let uses = self.uses.entry(key).or_default();
        *uses += 1;
        let frequent = self.frequent.entry(key).or_default();
        *frequent |= *uses >= needed;
        *frequent
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The same answers as the model, whatever is used: few buffers often, or many once.
    #[test]
    fn counts_as_a_list_would(
        spread in prop_oneof![Just(10u64), Just(1000), Just(100_000)],
        uses in prop::collection::vec((any::<u64>(), 0..3u64, 0..6u32), 1..10_000),
    ) {
        let (mut model, mut real) = (Model::default(), Uses::new());
        for (buffer, len, needed) in uses {
            let key = (buffer % spread * 32, 128 << len);
            prop_assert_eq!(real.used(key.0, key.1, needed), model.used(key, needed));
        }
        prop_assert_eq!(real.len().0, model.uses.len());
        prop_assert_eq!(real.is_full(), model.full);
    }
}
