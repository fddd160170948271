//! The contract that every communication device implements.
