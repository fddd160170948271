//! How memory of a window is reached, and what its owner, its guard and the order of addresses have to do with that.

use super::tree::{explore, row};
use std::fmt::Write;
use tern_policy::guard_mode::{bears, by_instructions, combined, wrong_after};
use tern_policy::one_sided::{Access, Mappable, Means, MemberFacts, may_sort, sorts, suits_owner, way_to};
use tern_policy::{Responsiveness, stores};

/// Bytes of a request to an owner.
const ROOM: usize = 224;

fn members(text: &mut String) {
    *text += "\na member's memory\n";
    for near in [false, true] {
        for card in [false, true] {
            for mappable in [Mappable::Nothing, Mappable::Part, Mappable::All] {
                let tree = explore(|oracle| {
                    let oracle = std::cell::RefCell::new(oracle);
                    let map = || oracle.borrow_mut().is("mapped");
                    let copies = || oracle.borrow_mut().is("the kernel copies");
                    format!("{:?}", way_to(MemberFacts { near, card, mappable }, map, copies))
                });
                _ = write!(text, "near {near}, card {card}, {mappable:?}\n{tree}");
            }
        }
    }
}

fn told(text: &mut String) {
    *text += "\nwhat the user is told\n";
    for way in [Means::Mapped, Means::Kernel, Means::Card, Means::Messages] {
        for (combines, by_owner, guarded) in
            [(false, false, false), (true, false, false), (true, false, true), (false, true, false)]
        {
            let access = Access { way, combines, by_owner, guarded };
            let what = format!("{way:?}, combines {combines}, by owner {by_owner}, guarded {guarded}");
            _ = writeln!(text, "  {what}: {}, since {}", access.text(), access.why("cma"));
        }
    }
}

/// Which of a thousand rows of so many elements are combined by instructions, where one process alone combines.
fn guard(elements: usize) -> String {
    let (mut better, mut wrong, mut forbids) = (0, 0, false);
    let mut changes = Vec::new();
    let mut instructions = 0;
    for number in 0..1000 {
        if forbids {
            let (now, proved) = combined(better, elements, true);
            better = now;
            if let Some(right) = proved {
                wrong = wrong_after(wrong, right);
                if !right {
                    (forbids, better) = (false, 0);
                    changes.push(number);
                }
            }
        } else if by_instructions(elements, false, || {
            let after = bears(better, wrong, elements);
            better = after.unwrap_or(better);
            after.is_some()
        }) {
            instructions += 1;
        } else {
            (forbids, better) = (true, 0);
            changes.push(number);
        }
    }
    format!("{instructions} of 1000 by instructions, the mode changes at {changes:?}")
}

/// Which of a thousand accesses ask an owner that answers so.
fn owner(answers: impl Fn(usize) -> bool) -> String {
    let owner = Responsiveness::default();
    let mut asked = Vec::new();
    for number in 0..1000 {
        if owner.asks() {
            asked.push(number);
            owner.note(answers(number));
        }
    }
    format!("{} of 1000 ask, the first at {:?}", asked.len(), &asked[..asked.len().min(12)])
}

pub fn text() -> String {
    let mut text = String::from("# One-sided accesses: how the memory is reached, and what is learned of it.\n");
    members(&mut text);
    told(&mut text);
    text += "\nby length\n";
    for comes_back in [true, false] {
        let of = |bytes| if suits_owner(bytes, ROOM, comes_back) { "the owner may be asked" } else { "it is not" };
        _ = writeln!(text, "  private memory, the data comes back {comes_back}: {}", row(of));
    }
    let of = |bytes| if bytes >= stores::LONG_ACCESS { "streaming stores are tried" } else { "ordinary stores" };
    _ = writeln!(text, "  mapped memory: {}", row(of));
    for together in [1, 2, 4, 8] {
        let of = |runs: usize| match (may_sort(runs), sorts(runs, runs.div_ceil(together))) {
            (false, _) => "as they come",
            (true, false) => "looked at, and as they come",
            (true, true) => "in the order of addresses",
        };
        _ = writeln!(text, "  runs of which {together} go together: {}", row(of));
    }
    text += "\nrows of elements, a thousand in a row\n";
    for elements in [1, 16, 17, 64, 500, 5000] {
        _ = writeln!(text, "  {elements} elements: {}", guard(elements));
    }
    text += "\nan owner of private memory\n";
    _ = writeln!(text, "  that answers: {}", owner(|_| true));
    _ = writeln!(text, "  that does not: {}", owner(|_| false));
    _ = writeln!(text, "  that answers after 200 accesses: {}", owner(|number| number >= 200));
    text
}
