//! A naive model of datatypes: the type map as a list, built from the definitions of the
//! standard, and random constructor trees that make a type and its model side by side.

use std::rc::Rc;

use proptest::prelude::*;
use tern_layout::*;

/// An entry of a type map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    Data(Basic),
    Lb,
    Ub,
}

/// A type map: entries at displacements, in order.
#[derive(Clone, Debug, Default)]
pub struct Model(pub Vec<(i64, Entry)>);

impl Model {
    fn basic(basic: Basic) -> Model {
        Model(match basic.pair() {
            None => vec![(0, Entry::Data(basic))],
            Some((value, offset, index)) => {
                vec![(0, Entry::Data(value)), (offset, Entry::Data(index))]
            }
        })
    }

    pub fn data(&self) -> impl Iterator<Item = (i64, Basic)> {
        self.0.iter().filter_map(|&(at, entry)| match entry {
            Entry::Data(basic) => Some((at, basic)),
            _ => None,
        })
    }

    fn marks(&self, mark: Entry) -> impl Iterator<Item = i64> {
        self.0.iter().filter(move |(_, entry)| *entry == mark).map(|(at, _)| *at)
    }

    pub fn size(&self) -> i64 {
        self.data().map(|(_, basic)| basic.size()).sum()
    }

    pub fn true_lb(&self) -> i64 {
        self.data().map(|(at, _)| at).min().unwrap_or(0)
    }

    pub fn true_ub(&self) -> i64 {
        let end = |(at, basic): (i64, Basic)| at + basic.size();
        self.data().map(end).max().unwrap_or(0)
    }

    pub fn lb(&self) -> i64 {
        self.marks(Entry::Lb).min().unwrap_or(self.true_lb())
    }

    pub fn extent(&self) -> i64 {
        if let Some(ub) = self.marks(Entry::Ub).max() {
            return ub - self.lb();
        }
        let align = self.data().map(|(_, basic)| basic.align()).max().unwrap_or(1);
        let span = self.true_ub() - self.lb();
        span + (align - span % align) % align
    }

    /// Copies at these displacements.
    pub fn at(&self, displacements: impl IntoIterator<Item = i64>) -> Model {
        let mut all = Vec::new();
        for by in displacements {
            all.extend(self.0.iter().map(|&(at, entry)| (at + by, entry)));
        }
        Model(all)
    }

    fn bounded(mut self, lb: i64, ub: i64) -> Model {
        self.0.retain(|(_, entry)| matches!(entry, Entry::Data(_)));
        self.0.extend([(lb, Entry::Lb), (ub, Entry::Ub)]);
        self
    }

    /// `count` elements one after the other.
    pub fn times(&self, count: i64) -> Model {
        let extent = self.extent();
        self.at((0..count).map(|i| i * extent))
    }

    /// The offset of each byte of the packed stream.
    pub fn bytes(&self) -> Vec<i64> {
        self.data().flat_map(|(at, basic)| at..at + basic.size()).collect()
    }

    /// Whether some byte is named twice.
    pub fn overlaps(&self) -> bool {
        let mut bytes = self.bytes();
        bytes.sort_unstable();
        bytes.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// A dimension of a darray: global size, distribution, block (0: the default), processes.
pub type Share = (i64, u8, i64, i64);

/// A constructor call.
#[derive(Clone, Debug)]
pub enum Spec {
    Basic(Basic),
    Dup(Box<Spec>),
    Contiguous(i64, Box<Spec>),
    Vector(i64, i64, i64, Box<Spec>),
    Hvector(i64, i64, i64, Box<Spec>),
    Indexed(Vec<(i64, i64)>, Box<Spec>),
    Hindexed(Vec<(i64, i64)>, Box<Spec>),
    IndexedBlock(i64, Vec<i64>, Box<Spec>),
    HindexedBlock(i64, Vec<i64>, Box<Spec>),
    Struct(Vec<(i64, i64, Spec)>),
    Resized(i64, i64, Box<Spec>),
    /// Size, subsize and start of each dimension; Fortran order.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Spec>),
    /// Dimensions, a number to draw the rank from, Fortran order.
    Darray(Vec<Share>, i64, bool, Box<Spec>),
}

fn order(fortran: bool) -> Order {
    if fortran { Order::Fortran } else { Order::C }
}

/// The linear index of every element of an array in storage order, with its indices.
fn storage(sizes: &[i64], fortran: bool) -> Vec<Vec<i64>> {
    (0..sizes.iter().product())
        .map(|linear: i64| {
            let mut rest = linear;
            let mut indices = vec![0; sizes.len()];
            let dimensions: Vec<usize> = match fortran {
                true => (0..sizes.len()).collect(),
                false => (0..sizes.len()).rev().collect(),
            };
            for i in dimensions {
                indices[i] = rest % sizes[i];
                rest /= sizes[i];
            }
            indices
        })
        .collect()
}

fn block_of(&(gsize, distribution, block, processes): &Share) -> i64 {
    match (distribution, block) {
        (0, 0) => (gsize + processes - 1) / processes,
        (1, 0) => 1,
        (2, _) => gsize,
        (_, block) => block,
    }
}

impl Spec {
    /// The type and its model. None when the model grows too large, or the arguments do not
    /// fit each other.
    pub fn build(&self) -> Option<(Rc<Type>, Model)> {
        let (ty, model) = match self {
            Spec::Basic(basic) => (Type::basic(*basic), Model::basic(*basic)),
            Spec::Dup(child) => {
                let (ty, model) = child.build()?;
                (Type::dup(&ty), model)
            }
            Spec::Contiguous(count, child) => {
                let (ty, model) = child.build()?;
                (Type::contiguous(*count, &ty).unwrap(), model.times(*count))
            }
            Spec::Vector(count, length, stride, child) => {
                let (ty, model) = child.build()?;
                let made = Type::vector(*count, *length, *stride, &ty).unwrap();
                let step = stride * model.extent();
                (made, model.times(*length).at((0..*count).map(|i| i * step)))
            }
            Spec::Hvector(count, length, stride, child) => {
                let (ty, model) = child.build()?;
                let made = Type::hvector(*count, *length, *stride, &ty).unwrap();
                (made, model.times(*length).at((0..*count).map(|i| i * stride)))
            }
            Spec::Resized(lb, extent, child) => {
                let (ty, model) = child.build()?;
                let made = Type::resized(*lb, *extent, &ty).unwrap();
                (made, model.bounded(*lb, lb + extent))
            }
            Spec::Struct(parts) => build_struct(parts)?,
            Spec::Subarray(dimensions, fortran, child) => build_subarray(dimensions, *fortran, child)?,
            Spec::Darray(shares, rank, fortran, child) => build_darray(shares, *rank, *fortran, child)?,
            _ => self.build_indexed()?,
        };
        (model.0.len() < 3000).then_some((ty, model))
    }

    fn build_indexed(&self) -> Option<(Rc<Type>, Model)> {
        let split = |parts: &[(i64, i64)]| -> (Vec<i64>, Vec<i64>) { parts.iter().copied().unzip() };
        let (ty, parts, unit, model) = match self {
            Spec::Indexed(parts, child) => {
                let (ty, model) = child.build()?;
                let (lengths, places) = split(parts);
                let made = Type::indexed(&lengths, &places, &ty).unwrap();
                (made, parts.clone(), model.extent(), model)
            }
            Spec::Hindexed(parts, child) => {
                let (ty, model) = child.build()?;
                let (lengths, places) = split(parts);
                let made = Type::hindexed(&lengths, &places, &ty).unwrap();
                (made, parts.clone(), 1, model)
            }
            Spec::IndexedBlock(length, places, child) => {
                let (ty, model) = child.build()?;
                let parts = places.iter().map(|&at| (*length, at)).collect();
                let made = Type::indexed_block(*length, places, &ty).unwrap();
                (made, parts, model.extent(), model)
            }
            Spec::HindexedBlock(length, places, child) => {
                let (ty, model) = child.build()?;
                let parts = places.iter().map(|&at| (*length, at)).collect();
                let made = Type::hindexed_block(*length, places, &ty).unwrap();
                (made, parts, 1, model)
            }
            other => panic!("not indexed: {other:?}"),
        };
        let mut all = Model::default();
        for (length, at) in parts {
            all.0.extend(model.times(length).at([at * unit]).0);
        }
        Some((ty, all))
    }
}

fn build_struct(parts: &[(i64, i64, Spec)]) -> Option<(Rc<Type>, Model)> {
    let mut all = Model::default();
    let (mut lengths, mut places, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for (length, at, spec) in parts {
        let (ty, model) = spec.build()?;
        all.0.extend(model.times(*length).at([*at]).0);
        lengths.push(*length);
        places.push(*at);
        types.push(ty);
    }
    Some((Type::structure(&lengths, &places, &types).unwrap(), all))
}

fn build_subarray(dimensions: &[(i64, i64, i64)], fortran: bool, child: &Spec) -> Option<(Rc<Type>, Model)> {
    let (ty, model) = child.build()?;
    let sizes: Vec<i64> = dimensions.iter().map(|d| d.0).collect();
    let subsizes: Vec<i64> = dimensions.iter().map(|d| d.1).collect();
    let starts: Vec<i64> = dimensions.iter().map(|d| d.2).collect();
    let made = Type::subarray(&sizes, &subsizes, &starts, order(fortran), &ty).unwrap();
    let extent = model.extent();
    let inside = |indices: &Vec<i64>| {
        let within = |(&i, d): (&i64, &(i64, i64, i64))| i >= d.2 && i < d.2 + d.1;
        indices.iter().zip(dimensions).all(within)
    };
    let places = storage(&sizes, fortran);
    let picked = places.iter().enumerate().filter(|(_, indices)| inside(indices));
    let all = model.at(picked.map(|(linear, _)| linear as i64 * extent));
    Some((made, all.bounded(0, places.len() as i64 * extent)))
}

fn build_darray(shares: &[Share], rank: i64, fortran: bool, child: &Spec) -> Option<(Rc<Type>, Model)> {
    let (ty, model) = child.build()?;
    if shares.iter().any(|share| share.1 == 0 && block_of(share) * share.3 < share.0) {
        return None;
    }
    let gsizes: Vec<i64> = shares.iter().map(|s| s.0).collect();
    let psizes: Vec<i64> = shares.iter().map(|s| if s.1 == 2 { 1 } else { s.3 }).collect();
    let kinds = [Distribution::Block, Distribution::Cyclic, Distribution::None];
    let distribs: Vec<_> = shares.iter().map(|s| kinds[s.1 as usize]).collect();
    let dargs: Vec<_> = shares.iter().map(|s| if s.2 == 0 { DistArg::Default } else { DistArg::Size(s.2) }).collect();
    let size: i64 = psizes.iter().product();
    let rank = rank % size;
    let mut coordinates = vec![0; psizes.len()];
    let mut rest = rank;
    for i in (0..psizes.len()).rev() {
        coordinates[i] = rest % psizes[i];
        rest /= psizes[i];
    }
    let made = Type::darray(size as i32, rank as i32, &gsizes, &distribs, &dargs, &psizes, order(fortran), &ty);
    let extent = model.extent();
    let mine =
        |indices: &Vec<i64>| (0..shares.len()).all(|i| indices[i] / block_of(&shares[i]) % psizes[i] == coordinates[i]);
    let places = storage(&gsizes, fortran);
    let picked = places.iter().enumerate().filter(|(_, indices)| mine(indices));
    let all = model.at(picked.map(|(linear, _)| linear as i64 * extent));
    Some((made.unwrap(), all.bounded(0, places.len() as i64 * extent)))
}

fn basics() -> impl Strategy<Value = Spec> {
    let list = [
        Basic::Byte,
        Basic::Int16,
        Basic::Int32,
        Basic::Float64,
        Basic::ComplexDouble,
        Basic::Long,
        Basic::ShortInt,
        Basic::DoubleInt,
        Basic::LongDoubleInt,
    ];
    prop::sample::select(list.to_vec()).prop_map(Spec::Basic).boxed()
}

/// A count below `end`, seldom 0.
fn few(end: i64) -> impl Strategy<Value = i64> {
    prop_oneof![1 => Just(0), 15 => 1..end]
}

/// Random types of up to five levels.
pub fn specs() -> impl Strategy<Value = Spec> {
    basics().prop_recursive(5, 20, 3, |child| {
        let boxed = child.clone().prop_map(Box::new).boxed();
        let parts = |way: std::ops::Range<i64>| prop::collection::vec((few(4), way), 0..9);
        let places = |way: std::ops::Range<i64>| prop::collection::vec(way, 0..9);
        let dimension = (1..5i64)
            .prop_flat_map(|size| (1..=size).prop_flat_map(move |sub| (Just(size), Just(sub), 0..=size - sub)));
        let share = (1..9i64, 0..3u8, 0..4i64, 1..4i64);
        prop_oneof![
            boxed.clone().prop_map(Spec::Dup),
            (few(6), boxed.clone()).prop_map(|(n, c)| Spec::Contiguous(n, c)),
            (few(6), few(4), -4..6i64, boxed.clone()).prop_map(|(n, l, s, c)| Spec::Vector(n, l, s, c)),
            (few(6), few(4), -100..200i64, boxed.clone()).prop_map(|(n, l, s, c)| Spec::Hvector(n, l, s, c)),
            (parts(-5..12), boxed.clone()).prop_map(|(p, c)| Spec::Indexed(p, c)),
            (parts(-100..200), boxed.clone()).prop_map(|(p, c)| Spec::Hindexed(p, c)),
            (few(4), places(-5..12), boxed.clone()).prop_map(|(l, p, c)| Spec::IndexedBlock(l, p, c)),
            (few(4), places(-100..200), boxed.clone()).prop_map(|(l, p, c)| Spec::HindexedBlock(l, p, c)),
            prop::collection::vec((few(4), -100..200i64, child), 1..5).prop_map(Spec::Struct),
            (-40..40i64, -20..120i64, boxed.clone()).prop_map(|(l, e, c)| Spec::Resized(l, e, c)),
            (prop::collection::vec(dimension, 1..4), any::<bool>(), boxed.clone())
                .prop_map(|(d, f, c)| Spec::Subarray(d, f, c)),
            (prop::collection::vec(share, 1..4), 0..27i64, any::<bool>(), boxed)
                .prop_map(|(s, r, f, c)| Spec::Darray(s, r, f, c)),
        ]
    })
}
