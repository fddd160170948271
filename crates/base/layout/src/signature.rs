//! The sequence of basic types in one element: element counts, external32, signature checks.

use std::rc::Rc;

use crate::{Basic, Count, Error};

/// The signature of one element, without displacements. Pairs are in it as their two parts.
#[derive(Debug)]
pub(crate) struct Signature {
    node: Node,
    /// Bytes of native data.
    pub bytes: u64,
    /// Basic elements.
    pub elements: u64,
    /// Bytes in external32.
    pub external: u64,
    hash: Hash,
}

#[derive(Debug)]
enum Node {
    Empty,
    Run(Basic, u64),
    Repeat(u64, Rc<Signature>),
    List(Box<[Item]>),
}

#[derive(Debug)]
struct Item {
    /// Bytes and elements before it.
    bytes: u64,
    elements: u64,
    child: Rc<Signature>,
}

/// A polynomial over the canonical basic types, modulo 2^61 - 1: the hash of a sequence
/// follows from those of its parts, whatever their lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hash {
    value: u64,
    /// The base to the power of the length.
    power: u64,
}

const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0f1e_2d3c_4b5a_6978;

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

impl Hash {
    const EMPTY: Hash = Hash { value: 0, power: 1 };

    fn one(basic: Basic) -> Hash {
        let mixed = (basic.canonical() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hash { value: mixed % PRIME, power: BASE }
    }

    fn then(self, next: Hash) -> Hash {
        Hash { value: (multiply(self.value, next.power) + next.value) % PRIME, power: multiply(self.power, next.power) }
    }

    fn times(self, mut count: u64) -> Hash {
        let (mut result, mut square) = (Hash::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        result
    }
}

/// A product that must fit a signed 64-bit count.
fn product(a: u64, b: u64) -> Result<u64, Error> {
    a.checked_mul(b).filter(|&n| n <= i64::MAX as u64).ok_or(Error::TooLarge)
}

impl Signature {
    fn new(node: Node) -> Result<Rc<Signature>, Error> {
        let (bytes, elements, external, hash) = match &node {
            Node::Empty => (0, 0, 0, Hash::EMPTY),
            Node::Run(basic, n) => (
                product(basic.size() as u64, *n)?,
                *n,
                product(basic.external_size() as u64, *n)?,
                Hash::one(*basic).times(*n),
            ),
            Node::Repeat(n, child) => (
                product(child.bytes, *n)?,
                product(child.elements, *n)?,
                product(child.external, *n)?,
                child.hash.times(*n),
            ),
            Node::List(items) => {
                let (mut bytes, mut elements, mut external, mut hash) = (0u64, 0, 0, Hash::EMPTY);
                for item in items {
                    // Each addend is at most i64::MAX, so the sum of two fits 64 bits.
                    bytes = product(bytes + item.child.bytes, 1)?;
                    elements += item.child.elements;
                    external = product(external + item.child.external, 1)?;
                    hash = hash.then(item.child.hash);
                }
                (bytes, elements, external, hash)
            }
        };
        Ok(Rc::new(Signature { node, bytes, elements, external, hash }))
    }

    pub fn empty() -> Rc<Signature> {
        Signature::new(Node::Empty).expect("nothing is small")
    }

    pub fn basic(basic: Basic) -> Rc<Signature> {
        let node = match basic.pair() {
            None => Node::Run(basic, 1),
            Some((value, _, index)) if value == index => Node::Run(value, 2),
            Some((value, _, index)) => {
                let part = |basic, bytes, elements| Item { bytes, elements, child: Signature::basic(basic) };
                Node::List(Box::new([part(value, 0, 0), part(index, value.size() as u64, 1)]))
            }
        };
        Signature::new(node).expect("a basic type is small")
    }

    pub fn repeat(child: &Rc<Signature>, count: u64) -> Result<Rc<Signature>, Error> {
        match &child.node {
            _ if count == 1 => Ok(child.clone()),
            _ if count == 0 => Ok(Signature::empty()),
            Node::Empty => Ok(child.clone()),
            Node::Run(basic, n) => Signature::new(Node::Run(*basic, product(*n, count)?)),
            Node::Repeat(n, inner) => Signature::new(Node::Repeat(product(*n, count)?, inner.clone())),
            Node::List(_) => Signature::new(Node::Repeat(count, child.clone())),
        }
    }

    /// One after the other: each child so many times. Equal neighbours are joined.
    pub fn list(parts: impl Iterator<Item = (u64, Rc<Signature>)>) -> Result<Rc<Signature>, Error> {
        let mut joined: Vec<(u64, Rc<Signature>)> = Vec::new();
        for (count, child) in parts.filter(|(count, child)| *count > 0 && child.elements > 0) {
            match joined.last_mut() {
                Some((before, last)) if Rc::ptr_eq(last, &child) => *before = product(*before + count, 1)?,
                Some((before, last)) => match (&last.node, &child.node) {
                    (Node::Run(a, n), Node::Run(b, m)) if a == b => {
                        let total = product(*n, *before)? + product(*m, count)?;
                        (*before, *last) = (1, Signature::new(Node::Run(*a, product(total, 1)?))?);
                    }
                    _ => tern_memory::push(&mut joined, (count, child))?,
                },
                None => tern_memory::push(&mut joined, (count, child))?,
            }
        }
        let (mut bytes, mut elements) = (0u64, 0u64);
        let mut items = tern_memory::room(joined.len())?;
        for (count, child) in joined {
            let child = Signature::repeat(&child, count)?;
            let item = Item { bytes, elements, child };
            bytes = product(bytes + item.child.bytes, 1)?;
            elements = product(elements + item.child.elements, 1)?;
            items.push(item);
        }
        match items.len() {
            0 => Ok(Signature::empty()),
            1 => Ok(items.remove(0).child),
            _ => Signature::new(Node::List(items.into())),
        }
    }

    /// The basic elements in the first `bytes` bytes; None if the last one is cut.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        let (mut signature, mut bytes, mut before) = (self, bytes, 0);
        loop {
            match &signature.node {
                _ if bytes == 0 => return Some(before),
                Node::Empty => return None,
                Node::Run(basic, n) => {
                    let size = basic.size() as u64;
                    return (bytes.is_multiple_of(size) && bytes / size <= *n).then_some(before + bytes / size);
                }
                Node::Repeat(_, child) => {
                    before += bytes / child.bytes * child.elements;
                    bytes %= child.bytes;
                    signature = child;
                }
                Node::List(items) => {
                    let item = &items[items.partition_point(|item| item.bytes <= bytes) - 1];
                    before += item.elements;
                    bytes -= item.bytes;
                    signature = &item.child;
                }
            }
        }
    }

    /// The bytes of the first `elements` basic elements, of which there are as many.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        let (mut signature, mut elements, mut before) = (self, elements, 0);
        loop {
            match &signature.node {
                _ if elements == 0 => return before,
                Node::Empty => return before,
                Node::Run(basic, _) => return before + elements * basic.size() as u64,
                Node::Repeat(_, child) => {
                    before += elements / child.elements * child.bytes;
                    elements %= child.elements;
                    signature = child;
                }
                Node::List(items) => {
                    let item = &items[items.partition_point(|item| item.elements <= elements) - 1];
                    before += item.bytes;
                    elements -= item.elements;
                    signature = &item.child;
                }
            }
        }
    }
}

/// Runs of equal basic types of a number of elements, in order: (basic type, how many).
/// Neighbouring runs differ. Pairs come as their two parts.
pub struct SignatureRuns<'a> {
    /// A signature, its current child or repetition, and how many it has.
    stack: Vec<(&'a Signature, u64, u64)>,
    ahead: Option<(Basic, u64)>,
}

impl<'a> SignatureRuns<'a> {
    pub(crate) fn new(signature: &'a Signature, count: Count) -> SignatureRuns<'a> {
        let mut runs = SignatureRuns { stack: Vec::new(), ahead: None };
        let count = u64::try_from(count).unwrap_or(0);
        match signature.node {
            _ if count == 0 => {}
            Node::Empty => {}
            Node::Run(basic, n) => runs.ahead = Some((basic, n.saturating_mul(count))),
            _ => runs.stack.push((signature, 0, signature.children().saturating_mul(count))),
        }
        runs
    }

    fn pull(&mut self) -> Option<(Basic, u64)> {
        loop {
            let (signature, index, end) = self.stack.last_mut()?;
            if index == end {
                self.stack.pop();
                continue;
            }
            let child: &'a Signature = match &signature.node {
                Node::List(items) => &items[*index as usize % items.len()].child,
                Node::Repeat(_, child) => child,
                Node::Empty | Node::Run(..) => return None,
            };
            *index += 1;
            match child.node {
                Node::Empty => {}
                Node::Run(basic, n) => return Some((basic, n)),
                _ => self.stack.push((child, 0, child.children())),
            }
        }
    }
}

impl Signature {
    /// The hash of so many elements.
    pub(crate) fn hash(&self, count: Count) -> u64 {
        self.hash.times(u64::try_from(count).unwrap_or(0)).value
    }

    fn children(&self) -> u64 {
        match &self.node {
            Node::Empty | Node::Run(..) => 0,
            Node::Repeat(n, _) => *n,
            Node::List(items) => items.len() as u64,
        }
    }
}

impl Iterator for SignatureRuns<'_> {
    type Item = (Basic, u64);

    fn next(&mut self) -> Option<(Basic, u64)> {
        let (basic, mut count) = self.ahead.take().or_else(|| self.pull())?;
        while let Some(run) = self.pull() {
            if run.0 != basic {
                self.ahead = Some(run);
                break;
            }
            count += run.1;
        }
        Some((basic, count))
    }
}
