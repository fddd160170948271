//! Datatype layouts: constructors, segment walk, pack and unpack.
/// Placeholder until the engine lands.
#[derive(Debug)]
pub struct Type {}
impl Type {
    pub fn is_contiguous(&self) -> bool { true }
    pub fn size(&self) -> i64 { 0 }
}
