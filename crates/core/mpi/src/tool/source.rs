//! Sources of events (MPI 5.0 section 15.3.8): one, this process, whose events come in the order in which
//! they happened.

use super::{at, need_place, put_text, up};
use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::Result;
use crate::info;
use tern_counters::events;

const NAMES: [(&str, &str); 1] =
    [("process", "This process. Times are those of CLOCK_MONOTONIC, the same for all processes of a node.")];

/// MPI_T_source_get_num
pub fn t_source_get_num(num: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(num, "num_sources")?.set(NAMES.len() as i32);
    Ok(())
}

/// MPI_T_source_get_info
#[allow(clippy::too_many_arguments)]
pub fn t_source_get_info(
    index: i32, name: OptionalOut<u8>, name_len: OptionalOut<i32>, desc: OptionalOut<u8>, desc_len: OptionalOut<i32>,
    ordering: OptionalOut<i32>, ticks_per_second: OptionalOut<i64>, max_ticks: OptionalOut<i64>,
    info: OptionalOut<usize>,
) -> Result<()> {
    up()?;
    let (own, meaning) = at(&NAMES, index, "sources")?;
    put_text(own, name, name_len);
    put_text(meaning, desc, desc_len);
    ordering.set(MPI_T_SOURCE_ORDERED);
    ticks_per_second.set(1_000_000_000);
    max_ticks.set(i64::MAX);
    if !info.is_null() {
        info.set(info::hand_out(Vec::new()));
    }
    Ok(())
}

/// MPI_T_source_get_timestamp
pub fn t_source_get_timestamp(index: i32, timestamp: OptionalOut<i64>) -> Result<()> {
    up()?;
    at(&NAMES, index, "sources")?;
    need_place(timestamp, "timestamp")?.set(events::now() as i64);
    Ok(())
}
