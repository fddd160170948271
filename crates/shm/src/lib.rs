//! Shared memory inside a node.
