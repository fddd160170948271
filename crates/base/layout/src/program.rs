//! Where the bytes of one element lie: the program of a type, in its simplest form.

use std::rc::Rc;

use crate::spread::Spread;
use tern_memory::Lack;

/// A program and the number of data bytes it names. Bytes are in the order of the type map.
#[derive(Debug)]
pub(crate) struct Program {
    pub node: Node,
    pub size: u64,
    /// Frames that a walk needs for it.
    pub depth: u32,
    pub spread: Spread,
}

#[derive(Debug)]
pub(crate) enum Node {
    Empty,
    /// Equal blocks at up to two strides; a dense run is a grid of one block.
    Grid(Grid),
    /// Blocks of equal length at these offsets.
    Gather {
        at: Box<[i64]>,
        block: u64,
    },
    /// Dense runs of different lengths.
    Runs(Box<[Run]>),
    /// The child `count` times, the first one at `at`.
    Repeat {
        at: i64,
        count: u64,
        stride: i64,
        child: Rc<Program>,
    },
    /// Different children one after the other.
    List(Box<[Item]>),
}

/// `rows` rows of `count` blocks of `block` bytes. Count and rows are at least 1; rows is 1
/// unless count is above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub at: i64,
    pub block: u64,
    pub count: u64,
    pub stride: i64,
    pub rows: u64,
    pub row_stride: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub at: i64,
    pub len: u64,
    /// Position of its first byte in the packed stream of the program.
    pub start: u64,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub at: i64,
    /// Position of its first byte in the packed stream of the program.
    pub start: u64,
    pub child: Rc<Program>,
}

/// Children with at most so many runs are copied into the list of their parent. It bounds a
/// program to this many times the constructor's arguments.
const SPLICE: u64 = 4;

impl Grid {
    pub fn dense(at: i64, block: u64) -> Grid {
        Grid { at, block, count: 1, stride: 0, rows: 1, row_stride: 0 }
    }

    pub fn is_dense(&self) -> bool {
        self.count == 1
    }

    pub fn size(&self) -> u64 {
        self.block * self.count * self.rows
    }

    /// The same grid `times` times at `stride`, if that is a grid.
    pub fn repeated(self, times: u64, stride: i64) -> Option<Grid> {
        if times == 1 {
            return Some(self);
        }
        // The distance at which a repetition continues an existing loop.
        let continues = |n: u64, step: i64| i64::try_from(n).ok().and_then(|n| n.checked_mul(step)) == Some(stride);
        if self.count == 1 {
            if continues(self.block, 1) {
                return Some(Grid { block: self.block.saturating_mul(times), ..self });
            }
            return Some(Grid { count: times, stride, ..self });
        }
        if self.rows == 1 {
            if continues(self.count, self.stride) {
                return Some(Grid { count: self.count.saturating_mul(times), ..self });
            }
            return Some(Grid { rows: times, row_stride: stride, ..self });
        }
        continues(self.rows, self.row_stride).then(|| Grid { rows: self.rows.saturating_mul(times), ..self })
    }

    fn spread(&self) -> Spread {
        let row = Spread::run(self.at, self.block).repeated(self.count, self.stride);
        row.repeated(self.rows, self.row_stride)
    }

    fn offsets(self) -> impl Iterator<Item = i64> {
        (0..self.rows as i64).flat_map(move |row| {
            (0..self.count as i64).map(move |col| self.at + row * self.row_stride + col * self.stride)
        })
    }
}

impl Program {
    fn new(node: Node) -> Rc<Program> {
        let (size, depth, spread) = match &node {
            Node::Empty => (0, 0, Spread::EMPTY),
            Node::Grid(grid) => (grid.size(), 0, grid.spread()),
            Node::Gather { at, block } => {
                let spread = Spread::of(at.iter().map(|&at| Spread::run(at, *block)));
                (at.len() as u64 * block, 1, spread)
            }
            Node::Runs(runs) => {
                let size = runs.last().map_or(0, |run| run.start + run.len);
                (size, 1, Spread::of(runs.iter().map(|run| Spread::run(run.at, run.len))))
            }
            Node::Repeat { at, count, stride, child } => {
                let spread = child.spread.shifted(*at).repeated(*count, *stride);
                (count * child.size, child.depth + 1, spread)
            }
            Node::List(items) => (
                items.last().map_or(0, |item| item.start + item.child.size),
                1 + items.iter().map(|item| item.child.depth).max().unwrap_or(0),
                Spread::of(items.iter().map(|item| item.child.spread.shifted(item.at))),
            ),
        };
        Rc::new(Program { node, size, depth, spread })
    }

    pub fn empty() -> Rc<Program> {
        Program::new(Node::Empty)
    }

    pub fn dense(at: i64, len: u64) -> Rc<Program> {
        if len == 0 { Program::empty() } else { Program::new(Node::Grid(Grid::dense(at, len))) }
    }

    /// `child` `count` times, the first at its own place, the next `stride` bytes on.
    pub fn repeat(child: &Rc<Program>, count: u64, stride: i64) -> Rc<Program> {
        if count == 0 || child.size == 0 {
            return Program::empty();
        }
        if count == 1 {
            return child.clone();
        }
        match &child.node {
            Node::Grid(grid) => {
                if let Some(grid) = grid.repeated(count, stride) {
                    return Program::new(Node::Grid(grid));
                }
            }
            Node::Repeat { at, count: inner, stride: step, child: grandchild }
                if *inner == 1 || i64::try_from(*inner).ok().and_then(|n| n.checked_mul(*step)) == Some(stride) =>
            {
                let step = if *inner == 1 { stride } else { *step };
                let node = Node::Repeat { at: *at, count: inner * count, stride: step, child: grandchild.clone() };
                return Program::new(node);
            }
            _ => {}
        }
        Program::new(Node::Repeat { at: 0, count, stride, child: child.clone() })
    }

    /// The same program `by` bytes further on.
    pub fn shifted(self: &Rc<Program>, by: i64) -> Rc<Program> {
        if by == 0 {
            return self.clone();
        }
        Program::new(match &self.node {
            Node::Empty => Node::Empty,
            Node::Grid(grid) => Node::Grid(Grid { at: grid.at + by, ..*grid }),
            Node::Repeat { at, count, stride, child } => {
                Node::Repeat { at: at + by, count: *count, stride: *stride, child: child.clone() }
            }
            _ => Node::Repeat { at: by, count: 1, stride: 0, child: self.clone() },
        })
    }

    /// Offset and length, if the program is one run.
    pub fn as_dense(&self) -> Option<(i64, u64)> {
        match &self.node {
            Node::Grid(grid) if grid.is_dense() => Some((grid.at, grid.block)),
            Node::Empty => Some((0, 0)),
            _ => None,
        }
    }
}

/// Builds a program from parts in the order of the type map.
#[derive(Default)]
pub(crate) struct ListBuilder {
    parts: Vec<Part>,
    /// A part had no memory: there is no program.
    lack: Option<Lack>,
}

enum Part {
    Run { at: i64, len: u64 },
    Child { at: i64, child: Rc<Program> },
}

impl ListBuilder {
    /// Appends `len` dense bytes at `at`; joins them to the run before if they continue it.
    pub fn run(&mut self, at: i64, len: u64) {
        if len == 0 {
            return;
        }
        if let Some(Part::Run { at: last, len: before }) = self.parts.last_mut()
            && last.wrapping_add_unsigned(*before) == at
        {
            *before += len;
            return;
        }
        self.push(Part::Run { at, len });
    }

    /// Appends a child at displacement `at`.
    pub fn child(&mut self, at: i64, child: &Rc<Program>) {
        match &child.node {
            Node::Empty => {}
            Node::Grid(grid) if grid.count * grid.rows <= SPLICE => {
                grid.offsets().for_each(|offset| self.run(at + offset, grid.block));
            }
            Node::Runs(runs) if runs.len() as u64 <= SPLICE => {
                runs.iter().for_each(|run| self.run(at + run.at, run.len));
            }
            Node::Gather { at: offsets, block } if offsets.len() as u64 <= SPLICE => {
                offsets.iter().for_each(|offset| self.run(at + offset, *block));
            }
            _ => self.push(Part::Child { at, child: child.clone() }),
        }
    }

    fn push(&mut self, part: Part) {
        if self.lack.is_none() {
            self.lack = tern_memory::push(&mut self.parts, part).err();
        }
    }

    /// Errors: there is no memory for the list.
    pub fn build(mut self) -> Result<Rc<Program>, Lack> {
        self.lack.map_or(Ok(()), Err)?;
        if self.parts.len() <= 1 {
            return Ok(match self.parts.pop() {
                None => Program::empty(),
                Some(Part::Run { at, len }) => Program::dense(at, len),
                Some(Part::Child { at, child }) => child.shifted(at),
            });
        }
        if let Some(regular) = self.regular() {
            return Ok(regular);
        }
        if self.parts.iter().all(|part| matches!(part, Part::Run { .. })) {
            return self.runs();
        }
        let mut start = 0;
        let items = self.parts.into_iter().map(|part| {
            let (at, child) = match part {
                Part::Run { at, len } => (0, Program::dense(at, len)),
                Part::Child { at, child } => (at, child),
            };
            let item = Item { at, start, child };
            start += item.child.size;
            item
        });
        Ok(Program::new(Node::List(tern_memory::collect(items)?.into())))
    }

    /// The parts as one repetition, if they are equal and at equal distances.
    fn regular(&self) -> Option<Rc<Program>> {
        let place = |part: &Part| match part {
            Part::Run { at, .. } | Part::Child { at, .. } => *at,
        };
        let same = |a: &Part, b: &Part| match (a, b) {
            (Part::Run { len: a, .. }, Part::Run { len: b, .. }) => a == b,
            (Part::Child { child: a, .. }, Part::Child { child: b, .. }) => Rc::ptr_eq(a, b),
            _ => false,
        };
        let first = &self.parts[0];
        let stride = place(&self.parts[1]).checked_sub(place(first))?;
        let equal = self
            .parts
            .windows(2)
            .all(|pair| same(&pair[0], &pair[1]) && place(&pair[1]).checked_sub(place(&pair[0])) == Some(stride));
        let one = match first {
            _ if !equal => return None,
            Part::Run { at, len } => Program::dense(*at, *len),
            Part::Child { at, child } => child.shifted(*at),
        };
        Some(Program::repeat(&one, self.parts.len() as u64, stride))
    }

    /// The parts, which are all runs, as a list of offsets or of runs.
    fn runs(self) -> Result<Rc<Program>, Lack> {
        let runs = || {
            self.parts.iter().filter_map(|part| match part {
                Part::Run { at, len } => Some((*at, *len)),
                Part::Child { .. } => None,
            })
        };
        let block = runs().next().map_or(0, |(_, len)| len);
        if runs().all(|(_, len)| len == block) {
            let mut at = tern_memory::room(self.parts.len())?;
            at.extend(runs().map(|(at, _)| at));
            return Ok(Program::new(Node::Gather { at: at.into(), block }));
        }
        let mut start = 0;
        let mut all = tern_memory::room(self.parts.len())?;
        all.extend(runs().map(|(at, len)| {
            let run = Run { at, len, start };
            start += len;
            run
        }));
        Ok(Program::new(Node::Runs(all.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(program: &Program) -> Grid {
        match program.node {
            Node::Grid(grid) => grid,
            ref other => panic!("not a grid: {other:?}"),
        }
    }

    #[test]
    fn nested_repetitions_collapse() {
        let int = Program::dense(0, 4);
        let three = Program::repeat(&int, 3, 4);
        assert_eq!(three.as_dense(), Some((0, 12)));
        let vector = Program::repeat(&three, 5, 20);
        assert_eq!(grid(&vector), Grid { at: 0, block: 12, count: 5, stride: 20, rows: 1, row_stride: 0 });
        let longer = Program::repeat(&vector, 2, 100);
        assert_eq!(grid(&longer).count, 10);
        let rows = Program::repeat(&vector, 7, 1000);
        assert_eq!((grid(&rows).rows, grid(&rows).row_stride, rows.size), (7, 1000, 420));
        let planes = Program::repeat(&rows, 2, 7000);
        assert_eq!((grid(&planes).rows, planes.depth), (14, 0));
        let cubes = Program::repeat(&rows, 2, 9000);
        assert_eq!((cubes.depth, cubes.size), (1, 840));
    }

    #[test]
    fn lists_find_regular_and_adjacent_runs() {
        let mut list = ListBuilder::default();
        [(0, 4), (4, 4), (16, 8), (32, 8)].into_iter().for_each(|(at, len)| list.run(at, len));
        assert_eq!(
            grid(&list.build().unwrap()),
            Grid { at: 0, block: 8, count: 3, stride: 16, rows: 1, row_stride: 0 }
        );

        let mut list = ListBuilder::default();
        [(0, 4), (8, 4), (20, 4)].into_iter().for_each(|(at, len)| list.run(at, len));
        assert!(matches!(&list.build().unwrap().node, Node::Gather { block: 4, at } if **at == [0, 8, 20]));

        let mut list = ListBuilder::default();
        [(0, 4), (8, 8)].into_iter().for_each(|(at, len)| list.run(at, len));
        assert!(matches!(&list.build().unwrap().node, Node::Runs(runs) if runs[1] == Run { at: 8, len: 8, start: 4 }));
    }

    #[test]
    fn a_huge_repetition_is_one_node() {
        let double = Program::dense(0, 8);
        let vector = Program::repeat(&double, 1 << 33, 64);
        assert_eq!((vector.size, vector.depth), (8 << 33, 0));
    }
}
