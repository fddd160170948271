//! Datatype layouts: constructors, segment walk, pack and unpack.
