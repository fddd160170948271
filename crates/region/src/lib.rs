//! Declared memory, and how bytes move between two processes of a node.

