//! What is in a file of a page.

/// What is in a file.
#[derive(Debug, PartialEq)]
pub enum Page {
    /// The page.
    Text(String),
    /// What is in the file of that name.
    Same(String),
}
