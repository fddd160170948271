//! Collective algorithms as schedules over adi.
