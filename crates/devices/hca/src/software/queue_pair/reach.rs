//! How an XRC initiator reaches the receive queues of many processes.
//!
//! A card has one connection to a machine, whose processes share a domain. Here each process has an engine of its own,
//! so each needs a connection. They are one queue pair in all that shows: one number, one send queue, one order of
//! completion, and one end: an error of one takes all to error.

use super::super::address::Address;
use super::super::clock::NEVER;
use super::super::completion::Queue;
use super::super::engine::Engine;
use super::super::hello::Hello;
use super::*;
use std::collections::VecDeque;
use std::sync::Weak;
use tern_threads::RwLock;

/// Numbers of receive queues from here on are places in the list of what is reached; queue pairs and receive queues have
/// 24 bits.
const REACHED: u32 = 1 << 24;

/// What the connections of an initiator share.
pub struct Group {
    pub number: u32,
    order: Mutex<Order>,
    failed: AtomicBool,
    reason: Mutex<Option<String>>,
    members: Mutex<Vec<Weak<Pair>>>,
}

/// Requests by the order in which they were posted.
#[derive(Default)]
struct Order {
    requests: VecDeque<Done>,
    /// The ticket of the first of them.
    first: u64,
    /// Requests that completed since the last completion.
    silent: u32,
    /// A request has failed: what was behind it is flushed, whatever became of it on another connection.
    failed: bool,
}

enum Done {
    No,
    /// And what is to be told of it.
    Yes(Option<Completion>),
}

impl Group {
    pub fn new(number: u32) -> Arc<Group> {
        Arc::new(Group {
            number,
            order: Mutex::default(),
            failed: AtomicBool::new(false),
            reason: Mutex::default(),
            members: Mutex::default(),
        })
    }

    pub fn add(&self, member: &Arc<Pair>) {
        self.members.lock().push(Arc::downgrade(member));
    }

    /// A request is posted; it is done with this ticket.
    pub fn post(&self) -> u64 {
        let mut order = self.order.lock();
        order.requests.push_back(Done::No);
        order.first + order.requests.len() as u64 - 1
    }

    /// A request is complete. It is told when all before it are.
    pub fn done(&self, ticket: u64, completion: Option<Completion>, queue: &Queue, used: &Arc<AtomicU32>) {
        let order = &mut *self.order.lock();
        order.requests[(ticket - order.first) as usize] = Done::Yes(completion);
        while let Some(Done::Yes(completion)) = order.requests.front() {
            order.silent += 1;
            if let &Some(mut completion) = completion {
                if order.failed {
                    completion.status = Status::Flushed;
                }
                order.failed |= completion.status != Status::Success;
                let slots = std::mem::take(&mut order.silent);
                queue.push(completion, Some((used.clone(), slots)));
            }
            order.requests.pop_front();
            order.first += 1;
        }
    }

    /// One connection has failed: so do the others, at their next visit.
    pub fn fail(&self, engine: &Engine, why: &str) {
        if self.failed.swap(true, Ordering::SeqCst) {
            return;
        }
        *self.reason.lock() = Some(why.into());
        for member in self.members.lock().iter().filter_map(Weak::upgrade) {
            engine.go_on(member);
        }
    }

    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    pub fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }
}

/// The receive queues that an initiator has asked for.
#[derive(Default)]
pub struct Reached {
    queues: RwLock<Vec<(Arc<Pair>, Address)>>,
}

impl Reached {
    /// The connection for requests that name `queue`, and the number by which its peer knows that.
    pub fn find(&self, queue: u32) -> Option<(Arc<Pair>, u32)> {
        let queues = self.queues.read();
        let (pair, address) = queues.get((queue - REACHED) as usize)?;
        Some((pair.clone(), address.number))
    }

    /// Their connections, each once or more often.
    pub fn pairs(&self) -> Vec<Arc<Pair>> {
        self.queues.read().iter().map(|(pair, _)| pair.clone()).collect()
    }
}

/// True for a number that [`Reached::find`] is to be asked about.
pub fn is_reached(queue: u32) -> bool {
    queue >= REACHED
}

impl QueuePair {
    pub fn reach(&self, queue: &[u8]) -> Result<u32> {
        let main = &self.pair;
        main.hca.alive()?;
        let address = main.hca.read_address(queue)?;
        let Some(group) = &main.group else {
            return Err(Error::Invalid("a queue pair that is no XRC initiator is to reach a receive queue".into()));
        };
        let (peer, connection) = {
            let inner = main.inner.lock();
            (inner.peer, inner.connection)
        };
        if peer.is_some_and(|peer| peer.name == address.name) {
            return Ok(address.number);
        }
        let mut queues = self.reached.queues.write();
        if let Some(at) = queues.iter().position(|(_, known)| *known == address) {
            return Ok(REACHED + at as u32);
        }
        let known = queues.iter().find(|(_, known)| known.name == address.name);
        let pair = match known {
            Some((pair, _)) => pair.clone(),
            None => {
                let pair = Pair::of_group(main, group);
                pair.call_queue(address, &connection)?;
                pair
            }
        };
        queues.push((pair, address));
        Ok(REACHED + queues.len() as u32 - 1)
    }
}

impl Pair {
    /// Another connection of the same initiator.
    fn of_group(main: &Pair, group: &Arc<Group>) -> Arc<Pair> {
        let pair = Arc::new(Pair {
            number: main.hca.engine().number(),
            hca: main.hca.clone(),
            domain: main.domain,
            send: main.send.clone(),
            receive: None,
            source: Source::Initiator,
            limits: main.limits,
            used: main.used.clone(),
            phase: AtomicU8::new(INITIALIZED),
            port: AtomicU8::new(main.port()),
            group: Some(group.clone()),
            rings: OnceLock::new(),
            far: AtomicBool::new(false),
            open: AtomicBool::new(false),
            hold: AtomicU64::new(0),
            inner: Mutex::default(),
        });
        main.hca.engine().add_pair(pair.clone());
        group.add(&pair);
        pair
    }

    /// Connects to whoever has that receive queue; the engine there makes the other end.
    fn call_queue(self: &Arc<Pair>, queue: Address, connection: &Connection) -> Result<()> {
        let mine = self.hca.pair_address(self.number);
        let inner = &mut *self.inner.lock();
        self.ready(inner, queue, connection);
        self.call(inner, Hello { pair: 0, receive_queue: queue.number, from: mine }, &queue)
    }

    /// Takes the connection of an initiator that asked for a receive queue of this process. Call once.
    pub fn welcome(self: &Arc<Pair>, caller: Caller) {
        self.ready(&mut self.inner.lock(), caller.from, &Connection::default());
        self.visitor(caller);
    }

    fn ready(&self, inner: &mut Inner, peer: Address, connection: &Connection) {
        inner.connection = *connection;
        inner.peer = Some(peer);
        inner.patience = NEVER;
        inner.window.allow_reads(u32::from(connection.reads.clamp(1, 16)));
        self.phase.store(READY, Ordering::Relaxed);
    }
}
