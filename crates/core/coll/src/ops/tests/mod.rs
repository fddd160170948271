//! Kernels against a scalar model, and the table of what is allowed against a listing.

mod kernels;
mod listing;
mod long_double;
mod model;
mod speed;
