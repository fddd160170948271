//! Both sides of a request ([`crate::request`]): the origin asks, and an owner that waits answers.

mod answer;
mod ask;
mod at_once;
