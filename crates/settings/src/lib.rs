//! The TERN_* settings, declared once.
