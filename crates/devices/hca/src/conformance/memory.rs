//! Registration, and requests that are wrong in themselves.

use super::world::*;
use crate::{Access, Data, Error, Operation, SendFlags, SendRequest, Status};

pub fn registration_has_limits(factory: Factory) -> Result<(), String> {
    let domain = factory()?.protection_domain().expect("a protection domain");
    let mut byte = 0u8;
    let refused = |address: *mut u8, len, access| {
        // SAFETY: it is refused.
        let registered = unsafe { domain.register(address, len, access) };
        let Err(why) = registered else { panic!("{len} bytes at {address:?} were registered") };
        // The kernel says of addresses that cannot be mapped what it says of too little memory.
        assert!(matches!(why, Error::Registration(_) | Error::Resources(_)), "{why}");
    };
    // What is not mapped; and a wrap around the end of all addresses.
    refused(std::ptr::without_provenance_mut(8 << 20 << 40), 4096, Access::ALL);
    refused(&mut byte, usize::MAX - 100, Access::ALL);
    // Memory of constants may be read, and not written.
    static CONSTANT: [u8; 64] = [7; 64];
    refused(CONSTANT.as_ptr().cast_mut(), 64, Access::ALL);
    // SAFETY: nobody writes there.
    let region = unsafe { domain.register(CONSTANT.as_ptr().cast_mut(), 64, Access::REMOTE_READ) };
    assert_eq!(region.map(|region| region.len()).expect("constants may be read"), 64);
    Ok(())
}

pub fn a_region_that_is_gone_is_not_touched(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let here = one.buffer(8);
    let there = other.buffer(8);
    let remote = there.remote(0);
    assert_eq!(one.execute(Operation::Write(remote), &[here.whole()]).status, Status::Success);
    drop(there);
    // Others take its place in whatever tables there are.
    let _others: Vec<Buffer> = (0..10).map(|_| other.buffer(8)).collect();
    assert_eq!(one.execute(Operation::Write(remote), &[here.whole()]).status, Status::RemoteAccess);
    Ok(())
}

pub fn registered_twice_is_two_regions(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let mut here = one.buffer(8);
    here.fill(&pattern(1, 8));
    let mut memory = [0u64; 4];
    let address = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the regions end before the memory.
    let narrow = unsafe { other.domain.register(address.wrapping_add(8), 8, Access::ALL) }.expect("registered");
    // SAFETY: as above.
    let wide = unsafe { other.domain.register(address, 32, Access::ALL) }.expect("registered");
    assert_ne!(narrow.remote_key(), wide.remote_key());
    let to = |address, key| Operation::Write(crate::Remote { address, key });
    let write = |address, key| one.execute(to(address, key), &[here.whole()]).status;
    assert_eq!(write(narrow.address(), narrow.remote_key()), Status::Success);
    drop(narrow);
    assert_eq!(write(wide.address() + 24, wide.remote_key()), Status::Success);
    drop(wide);
    let word = u64::from_le_bytes(pattern(1, 8).try_into().expect("eight bytes"));
    // SAFETY: ours; volatile, since it was written by others.
    let found = unsafe { std::ptr::read_volatile(&memory) };
    assert_eq!(found, [0, word, 0, word]);
    Ok(())
}

pub fn what_cannot_be_posted_is_an_error(factory: Factory) -> Result<(), String> {
    let alone = Side::new(factory()?, &SideOptions::default());
    let early = alone.post(1, Operation::Send, &[]);
    assert!(matches!(early, Err(Error::State(_))), "{early:?}");

    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(64), other.buffer(64));
    let limits = one.pair.limits();
    let invalid = |operation: Operation, data: Data<'_>| {
        let request = SendRequest { id: 1, operation, data, flags: SendFlags::SIGNALED, receive_queue: 0 };
        let outcome = one.pair.post_send(&request);
        assert!(matches!(outcome, Err(Error::Invalid(_))), "{request:?}: {outcome:?}");
    };
    let many = vec![here.part(0, 1); limits.gather as usize + 1];
    invalid(Operation::Send, Data::Segments(&many));
    let long = vec![0; limits.inline as usize + 1];
    invalid(Operation::Send, Data::Inline(&[&long]));
    invalid(Operation::Read(there.remote(0)), Data::Inline(&[b"no"]));
    invalid(Operation::FetchAdd(there.remote(0), 1), Data::Segments(&[here.part(0, 4)]));
    // None of this has harmed the connection.
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::Success);
    Ok(())
}
