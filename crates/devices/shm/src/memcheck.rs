//! What valgrind's memcheck cannot see: that another process has written to memory of this one. So a receive that a peer has filled
//! is told to it, or the program's first look at the data would be reported. A request to valgrind is a sequence of instructions
//! that does nothing elsewhere (its manual, "The Client Request mechanism").

use tern_device::Memory;

/// VG_USERREQ__RUNNING_ON_VALGRIND.
const RUNNING: u64 = 0x1001;
/// VG_USERREQ__MAKE_MEM_DEFINED: the tool's letters, and its number there.
const DEFINED: u64 = (b'M' as u64) << 24 | (b'C' as u64) << 16 | 2;

/// Asks valgrind; 0 without it.
#[inline]
fn request(what: u64, first: u64, second: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let arguments = [what, first, second, 0, 0, 0];
        let mut answer = 0u64;
        // SAFETY: the rotations add up to 128 bits, and a register is exchanged with itself. Valgrind, which knows the
        // sequence, reads the arguments and writes the answer.
        unsafe {
            std::arch::asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                inout("rdx") answer, in("rax") &raw const arguments, in("rdi") 0u64,
            );
        }
        answer
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (what, first, second);
        0
    }
}

/// True under valgrind.
pub fn is_running() -> bool {
    request(RUNNING, 0, 0) != 0
}

/// Says that a message of `size` bytes has been written to `memory` of this process, as far as it has room.
#[cold]
pub fn filled(memory: &Memory, size: u64) {
    let len = size.min(memory.len);
    let block = if memory.is_dense() { len } else { memory.block };
    for (number, at) in (0..len).step_by(block.max(1) as usize).enumerate() {
        let address = memory.address.wrapping_add_signed(number as i64 * memory.stride);
        request(DEFINED, address, block.min(len - at));
    }
}
