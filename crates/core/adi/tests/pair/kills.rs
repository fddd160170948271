//! Deaths by seed: worlds of two to eight processes, of which some die in the midst of messages, notices and revocations. What nobody can do any
//! more will never come; by then each operation of the living is over, or says what it misses.

use crate::network::{self, Manners};
use crate::world::{Action, Wanted, World};
use crate::{CONTEXTS, TINY, verdict};
use tern_adi::{REVOKED, SendMode};

/// Worlds, where TERN_TEST_KILLS names no number, and where they begin.
const SEEDS: u64 = 10_000;

/// What happens in a world.
struct Random(network::Random);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }

    fn number(&mut self, limit: u32) -> u32 {
        self.below(limit as usize) as u32
    }

    fn is_one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn len(&mut self) -> usize {
        match self.below(4) {
            0 => self.below(4),
            1 => TINY - 2 + self.below(5),
            2 => self.below(TINY),
            _ => TINY + self.below(3 * TINY),
        }
    }

    fn wanted(&mut self, processes: u32) -> Wanted {
        let source = if self.is_one_in(3) { -1 } else { self.number(processes) as i32 };
        let tag = if self.is_one_in(3) { -1 } else { self.number(3) as i32 };
        Wanted { context: self.number(CONTEXTS), source, tag }
    }

    fn action(&mut self, processes: u32) -> Action {
        let at = self.number(processes);
        match self.below(36) {
            0..8 => Action::Send {
                from: at,
                to: self.number(processes),
                context: self.number(CONTEXTS),
                tag: self.number(3) as i32,
                len: self.len(),
                gaps: self.is_one_in(2),
                mode: if self.is_one_in(3) { SendMode::Synchronous } else { SendMode::Standard },
            },
            8..16 => {
                let (wanted, len) = (self.wanted(processes), self.len());
                Action::Receive { at, wanted, len, gaps: self.is_one_in(2) }
            }
            16 => Action::Probe { at, wanted: self.wanted(processes) },
            17 => Action::Claim { at, wanted: self.wanted(processes) },
            18 => Action::Fetch { at, len: self.len(), gaps: self.is_one_in(2) },
            19 => Action::CancelSend(self.below(100)),
            20 => Action::CancelReceive(self.below(100)),
            21 => Action::Release(self.below(100)),
            22 => Action::BeginCall(at),
            23 => Action::EndCall(at),
            _ => Action::Progress(at),
        }
    }
}

/// Names the world that was wrong.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the world of TERN_TEST_KILLS=1@{}", self.0);
        }
    }
}

/// What the survivors of one world do to each other beside messages.
fn happen(world: &mut World, random: &mut Random, processes: u32) {
    let at = random.number(processes);
    match random.below(40) {
        0 if random.is_one_in(4) => world.revoke(at, 1),
        1 => world.acknowledge(at),
        2 | 3 => world.gossip(at, random.number(processes)),
        4 => world.end_interrupted(random.below(100)),
        5..12 => _ = world.hear(),
        _ => {}
    }
}

/// One world; returns how many have died.
fn world(seed: u64) -> usize {
    let _named = Named(seed);
    let mut random = Random(network::Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    (0..8).for_each(|_| _ = random.below(2));
    let processes = 2 + random.number(7);
    let manners = Manners { seed: random.0.0, packet: 1 + random.below(63), queue: 1 + random.below(4) };
    let limit = if random.is_one_in(4) { 0 } else { TINY };
    let mut world = World::that_survives(processes, manners, limit);
    let steps = 20 + random.below(25 * processes as usize);
    let deaths = 1 + random.below(processes as usize - 1);
    for step in 0..steps {
        // As many as are left to die, in as many steps as are left.
        let left = deaths - (processes as usize - world.living().len());
        if random.below(steps - step) < left {
            let victim = world.living()[random.below(world.living().len())];
            world.kill(victim);
        }
        world.act(&random.action(processes));
        happen(&mut world, &mut random, processes);
    }
    world.finish(CONTEXTS, 5 * TINY + 100);
    judge(&world);
    deaths
}

/// Who has failed has failed for somebody who is dead, or for a context that is revoked; and the living have got each other's messages.
fn judge(world: &World) {
    for message in &world.messages {
        match message.aborted {
            Some(REVOKED) => assert!(world.knows_revoked(message.from, message.tuple.context), "{message:?}"),
            Some(lost) => assert!(lost == message.to && world.is_dead(lost), "{message:?}"),
            None => {}
        }
    }
    for receive in world.receives.iter().filter(|receive| !world.is_dead(receive.at)) {
        let (named, context) = (receive.pattern.source, receive.pattern.context);
        match receive.status.and_then(|status| status.aborted()) {
            Some(REVOKED) => assert!(world.knows_revoked(receive.at, context), "{receive:?}"),
            Some(lost) => assert!(world.is_dead(lost) && (named < 0 || named as u32 == lost), "{receive:?}"),
            None => {}
        }
    }
    let owned = verdict::judge_order(world);
    for (message, owned) in world.messages.iter().zip(owned) {
        let lives = !world.is_dead(message.from) && !world.is_dead(message.to);
        // A sender that has been told so knows that it may not arrive.
        let revoked = world.knows_revoked(message.to, message.tuple.context) || message.aborted == Some(REVOKED);
        assert!(owned || message.cancelled || !lives || revoked, "nobody has got {message:?}");
    }
}

#[test]
fn whoever_dies_the_others_go_on_and_nothing_hangs() {
    let text = std::env::var("TERN_TEST_KILLS").unwrap_or_default();
    let (count, first) = text.split_once('@').unwrap_or((&text, "0"));
    let (count, first) = (count.parse().unwrap_or(SEEDS), first.parse().unwrap_or(0));
    let deaths: usize = (first..first + count).map(world).sum();
    assert!(deaths as u64 >= count, "{deaths} deaths in {count} worlds");
}
