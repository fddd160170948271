//! Random types against the type map of their definition.

mod model;

use model::{Model, specs};
use proptest::prelude::*;
use tern_layout::*;

/// Memory for elements of a model, with the buffer address somewhere in it.
struct Memory {
    bytes: Vec<u8>,
    origin: i64,
}

impl Memory {
    /// Room for the data of `model`; None if that is too much.
    fn new(model: &Model, fill: impl Fn(usize) -> u8) -> Option<Memory> {
        let (low, high) = (model.true_lb().min(0), model.true_ub().max(0));
        let room = usize::try_from(high - low).ok().filter(|&room| room < 1 << 22)?;
        Some(Memory { bytes: (0..room).map(fill).collect(), origin: -low })
    }

    fn base(&self) -> *const u8 {
        self.bytes.as_ptr().wrapping_offset(self.origin as isize)
    }

    fn base_mut(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_offset(self.origin as isize)
    }

    fn at(&mut self, offset: i64) -> &mut u8 {
        &mut self.bytes[(offset + self.origin) as usize]
    }
}

/// Bytes without a period that strides could hide behind.
fn noise(i: usize) -> u8 {
    ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8
}

/// Lengths of the pieces that `total` bytes are cut into.
fn pieces(total: usize, cuts: &[usize]) -> Vec<usize> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (total + 1)).collect();
    at.extend([0, total]);
    at.sort_unstable();
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn merged(bytes: &[i64]) -> Vec<(i64, u64)> {
    let mut runs: Vec<(i64, u64)> = Vec::new();
    for &at in bytes {
        match runs.last_mut() {
            Some((from, len)) if *from + *len as i64 == at => *len += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sizes_and_bounds(spec in specs()) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        prop_assert_eq!(ty.size(), model.size());
        prop_assert_eq!(ty.lb(), model.lb());
        prop_assert_eq!(ty.extent(), model.extent());
        prop_assert_eq!(ty.true_lb(), model.true_lb());
        prop_assert_eq!(ty.true_ub(), model.true_ub());
        prop_assert_eq!(ty.basic_elements(), model.data().count() as i64);
        let (spread, runs) = (ty.spread(), merged(&model.bytes()));
        let end = |run: &(i64, u64)| run.0 + run.1 as i64;
        if let (Some(first), Some(last)) = (runs.first(), runs.last()) {
            prop_assert_eq!((spread.first, spread.end), (first.0, end(last)));
            prop_assert!(spread.runs >= runs.len() as u64);
            prop_assert_eq!(spread.disjoint, runs.windows(2).all(|pair| pair[1].0 >= end(&pair[0])));
            // Runs that meet are merged here, and then begin earlier.
            prop_assert!(!spread.ascending || runs.windows(2).all(|pair| pair[1].0 >= pair[0].0));
        } else {
            prop_assert_eq!(spread.runs, 0);
        }
        let dense = model.bytes().iter().enumerate().all(|(i, &at)| at == i as i64);
        let plain = dense && model.lb() == 0 && model.extent() == model.size();
        prop_assert_eq!(ty.is_contiguous(), plain);
    }

    #[test]
    fn pack_and_unpack_in_pieces(
        spec in specs(),
        count in 0..4i64,
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        let model = model.times(count);
        let memory = Memory::new(&model, noise);
        prop_assume!(memory.is_some());
        let mut memory = memory.unwrap();
        let places = model.bytes();
        let stream: Vec<u8> = places.iter().map(|&at| *memory.at(at)).collect();
        let mut cursor = Cursor::new(&ty, count);
        let mut out = vec![0; stream.len()];
        let mut done = 0;
        for len in pieces(stream.len(), &cuts) {
            let part = &mut out[done..done + len];
            // SAFETY: memory has room for the data of the model.
            let by_type = unsafe { ty.pack(memory.base(), count, done as u64, part) };
            prop_assert_eq!((by_type, &*part), (len, &stream[done..done + len]));
            part.fill(0);
            // SAFETY: the same.
            let by_cursor = unsafe { cursor.pack(memory.base(), part) };
            prop_assert_eq!((by_cursor, &*part), (len, &stream[done..done + len]));
            done += len;
            prop_assert_eq!(cursor.position(), done as u64);
        }
        prop_assert_eq!(cursor.remaining(), 0);

        // A receive into overlapping entries is erroneous (MPI 5.0, section 5.1.11).
        prop_assume!(!model.overlaps());
        let mut want = Memory::new(&model, |_| 0).unwrap();
        places.iter().zip(&stream).for_each(|(&at, &byte)| *want.at(at) = byte);
        let mut by_type = Memory::new(&model, |_| 0).unwrap();
        let mut by_cursor = Memory::new(&model, |_| 0).unwrap();
        cursor.seek(0);
        let mut done = 0;
        for len in pieces(stream.len(), &cuts) {
            let part = &stream[done..done + len];
            // SAFETY: memory has room for the data of the model.
            let used = unsafe { ty.unpack(by_type.base_mut(), count, done as u64, part) };
            prop_assert_eq!(used, len);
            // SAFETY: the same.
            let used = unsafe { cursor.unpack(by_cursor.base_mut(), part) };
            prop_assert_eq!(used, len);
            done += len;
        }
        prop_assert_eq!(&by_type.bytes, &want.bytes);
        prop_assert_eq!(&by_cursor.bytes, &want.bytes);
    }

    #[test]
    fn segments_are_the_merged_bytes(
        spec in specs(), count in 0..4i64, from in any::<usize>(), len in any::<usize>(),
    ) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        let places = model.times(count).bytes();
        let from = from % (places.len() + 1);
        let len = len % (places.len() - from + 1);
        let runs: Vec<_> = ty.segments(1000, count, from as u64, len as u64).collect();
        let want: Vec<i64> = places[from..from + len].iter().map(|at| at + 1000).collect();
        prop_assert_eq!(runs, merged(&want));
        if let Some(run) = ty.dense_run(count) {
            let all = merged(&places);
            prop_assert!(all.len() <= 1);
            if let [only] = all[..] {
                prop_assert_eq!(run, only);
            }
        }
    }

    #[test]
    fn copy_is_pack_and_unpack(
        source in specs(), source_count in 0..4i64,
        target in specs(), target_count in 0..4i64,
        limit in any::<u64>(),
    ) {
        let built = (source.build(), target.build());
        prop_assume!(built.0.is_some() && built.1.is_some());
        let ((from, from_model), (to, to_model)) = (built.0.unwrap(), built.1.unwrap());
        let from_model = from_model.times(source_count);
        let to_model = to_model.times(target_count);
        let memories = (Memory::new(&from_model, noise), Memory::new(&to_model, |_| 0));
        prop_assume!(memories.0.is_some() && memories.1.is_some());
        // A receive into overlapping entries is erroneous (MPI 5.0, section 5.1.11).
        prop_assume!(!to_model.overlaps());
        let (mut read, mut written) = (memories.0.unwrap(), memories.1.unwrap());
        let (of, into) = (from_model.bytes(), to_model.bytes());
        let size = of.len().min(into.len());
        let mut want = Memory::new(&to_model, |_| 0).unwrap();
        for i in 0..size {
            *want.at(into[i]) = *read.at(of[i]);
        }
        // SAFETY: both memories have room for the data of their models.
        let moved = unsafe {
            Type::copy(&from, read.base(), source_count, &to, written.base_mut(), target_count)
        };
        prop_assert_eq!(moved, size as u64);
        prop_assert_eq!(&written.bytes, &want.bytes);

        // In two parts, by cursors that go on where they stopped.
        let mut written = Memory::new(&to_model, |_| 0).unwrap();
        let mut source = Cursor::new(&from, source_count);
        let mut target = Cursor::new(&to, target_count);
        let first = limit % (size as u64 + 1);
        // SAFETY: the same.
        let moved = unsafe { target.copy_from(written.base_mut(), &mut source, read.base(), first) };
        prop_assert_eq!(moved, first);
        // SAFETY: the same.
        let rest = unsafe { target.copy_from(written.base_mut(), &mut source, read.base(), u64::MAX) };
        prop_assert_eq!(first + rest, size as u64);
        prop_assert_eq!(&written.bytes, &want.bytes);
    }

    #[test]
    fn elements_and_signature(spec in specs(), count in 0..4i64) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        let all: Vec<Basic> = model.times(count).data().map(|(_, basic)| basic).collect();
        let runs: Vec<_> = ty.signature(count).collect();
        let spread = runs.iter().flat_map(|&(basic, n)| std::iter::repeat_n(basic, n as usize));
        prop_assert_eq!(spread.collect::<Vec<_>>(), all.clone());
        prop_assert!(runs.windows(2).all(|pair| pair[0].0 != pair[1].0));

        let mut bytes = 0;
        for (i, basic) in all.iter().enumerate() {
            prop_assert_eq!(ty.elements(bytes), Some(i as i64));
            prop_assert_eq!(ty.bytes_of_elements(i as i64), Some(bytes));
            for cut in 1..basic.size() as u64 {
                prop_assert_eq!(ty.elements(bytes + cut), None);
            }
            bytes += basic.size() as u64;
        }
        // The same sequence as a struct of single elements, and one that differs in a place.
        let single = |all: &[Basic]| {
            let types: Vec<_> = all.iter().map(|&basic| Type::basic(basic)).collect();
            let places = vec![0; all.len()];
            Type::structure(&vec![1; all.len()], &places, &types).unwrap()
        };
        prop_assert!(ty.same_signature(count, &single(&all), 1));
        if let Some(i) = all.len().checked_sub(1) {
            let mut other = all.clone();
            other[i / 2] = match other[i / 2].size() {
                1 => Basic::Bool,
                2 => Basic::Uint16,
                4 => Basic::Uint32,
                8 => Basic::Uint64,
                _ => Basic::Float128,
            };
            prop_assert!(!ty.same_signature(count, &single(&other), 1));
        }
    }

    #[test]
    fn external32_round_trip(spec in specs(), count in 0..4i64) {
        let built = spec.build();
        prop_assume!(built.is_some());
        let (ty, model) = built.unwrap();
        let model = model.times(count);
        let memory = Memory::new(&model, |_| 0);
        prop_assume!(memory.is_some() && !model.overlaps());
        let mut memory = memory.unwrap();
        let elements: Vec<_> = model.data().collect();
        let mut external = Vec::new();
        for (_, basic) in &elements {
            match basic {
                // Spare bits of the wider format do not come back.
                Basic::LongDouble => external.extend([0x40, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                _ => {
                    let from = external.len();
                    external.extend((from..from + basic.external_size() as usize).map(noise));
                }
            }
        }
        prop_assert_eq!(ty.external_size(count), Some(external.len() as i64));
        // SAFETY: memory has room for the data of the model.
        let read = unsafe { ty.unpack_external(memory.base_mut(), count, &external) };
        prop_assert_eq!(read, external.len());
        let mut done = 0;
        for (at, basic) in elements {
            let wide = basic.external_size() as usize;
            let swapped: Vec<u8> = external[done..done + wide].iter().rev().copied().collect();
            let native: Vec<u8> = (0..basic.size()).map(|i| *memory.at(at + i)).collect();
            match basic {
                Basic::LongDouble => {}
                Basic::ComplexDouble => {
                    prop_assert_eq!(&native[..8], &swapped[8..]);
                    prop_assert_eq!(&native[8..], &swapped[..8]);
                }
                // A long comes back sign extended.
                _ => prop_assert_eq!(&native[..wide], &swapped[..]),
            }
            done += wide;
        }
        let mut out = vec![0; external.len()];
        // SAFETY: memory has room for the data of the model.
        let written = unsafe { ty.pack_external(memory.base(), count, &mut out) };
        prop_assert_eq!(written, external.len());
        prop_assert_eq!(out, external);
    }
}
