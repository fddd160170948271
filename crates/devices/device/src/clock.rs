//! The quickest clock there is. Each architecture has its own register; others than these ask the system.

/// Ticks of a clock of which nobody asks for the unit: a third of a nanosecond, or a few times as much.
#[inline]
pub fn ticks() -> u64 {
    if let Some(now) = tern_atomics::now() {
        return now;
    }
    // No call, which would touch pages that the processor has forgotten since the last change of process.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    return counter::ticks();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return by_system();
}

/// Nanoseconds by the system's clock.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn by_system() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// The generic timer of arm64. It counts at any rate from 1 MHz (most often 24 or 25 MHz) to 1 GHz, which a register tells; its steps are
/// longer than a tick then, and worth several.
#[cfg(any(target_arch = "aarch64", test))]
mod counter {
    /// Ticks of one step, as a power of two, so that a second has 2^30 to 2^31 ticks: one takes from a half to a whole nanosecond.
    #[inline]
    pub(super) fn doublings(frequency: u64) -> u32 {
        (frequency | 1).leading_zeros().saturating_sub(33)
    }

    #[cfg(target_arch = "aarch64")]
    #[inline]
    pub(super) fn ticks() -> u64 {
        let (count, frequency): (u64, u64);
        // SAFETY: Linux lets processes read both registers.
        unsafe {
            std::arch::asm!(
                "mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) count, out(reg) frequency,
                options(nostack, nomem, preserves_flags),
            );
        }
        count << doublings(frequency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on() {
        let before = ticks();
        let mut after = before;
        // A clock that stands still keeps the test here for ever.
        while after == before {
            after = ticks();
        }
        assert!(after > before, "{after} after {before}");
    }

    #[test]
    fn a_tick_of_a_counter_is_a_part_of_a_nanosecond() {
        for frequency in [1_000_000, 24_000_000, 25_000_000, 62_500_000, 121_875_000, 1_050_000_000] {
            let in_a_second = frequency << counter::doublings(frequency);
            assert!((1 << 30..1 << 31).contains(&in_a_second), "{frequency} Hz: {in_a_second} ticks");
        }
        // What a faulty firmware leaves, and more than there is: no shift that a processor does not have.
        assert!([0, 1 << 31, u64::MAX].into_iter().all(|frequency| counter::doublings(frequency) < 64));
    }
}
