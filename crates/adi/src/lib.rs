//! Point-to-point protocols: matching, eager, rendezvous.
