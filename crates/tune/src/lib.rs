//! Costs and thresholds by which protocols and algorithms are chosen.
