//! The layout that a type has in a file of another representation.

use std::collections::HashMap;
use std::rc::Rc;

use tern_layout::{Basic, Constructor, Type};

use crate::{Class, Error, Representation};

/// Types that were made of types so many times are refused: the walk over them recurses.
const DEEPEST: u32 = 1000;

/// `ty` with every basic type replaced by as many bytes as it has in the file.
pub(super) fn in_file(representation: &Representation, ty: &Rc<Type>) -> Result<Rc<Type>, Error> {
    let mut maker = Maker { representation, byte: Type::basic(Basic::Byte), made: HashMap::new() };
    maker.make(ty, 0)
}

struct Maker<'a> {
    representation: &'a Representation,
    byte: Rc<Type>,
    /// By the address of the type: parts that are shared are made once.
    made: HashMap<*const Type, Rc<Type>>,
}

impl Maker<'_> {
    fn make(&mut self, ty: &Rc<Type>, depth: u32) -> Result<Rc<Type>, Error> {
        if depth > DEEPEST {
            let text =
                format!("the datatype is nested more than {DEEPEST} deep, too much for files that are not native");
            return Err(Error::new(Class::Type, text));
        }
        if let Some(done) = self.made.get(&Rc::as_ptr(ty)) {
            return Ok(done.clone());
        }
        let made = match ty.kind() {
            Constructor::Named(basic)
            | Constructor::F90Integer { basic, .. }
            | Constructor::F90Real { basic, .. }
            | Constructor::F90Complex { basic, .. } => {
                let bytes = self.representation.item_bytes(*basic)?;
                Type::contiguous(bytes as i64, &self.byte)
            }
            kind => {
                let children = kind.children().iter().map(|child| self.make(child, depth + 1));
                let children = children.collect::<Result<Vec<_>, Error>>()?;
                rebuild(kind, &children)
            }
        };
        let made =
            made.map_err(|error| Error::new(Class::Type, format!("the datatype has no form in the file: {error}")))?;
        self.made.insert(Rc::as_ptr(ty), made.clone());
        Ok(made)
    }
}

/// The same constructor call with other children.
fn rebuild(kind: &Constructor, children: &[Rc<Type>]) -> Result<Rc<Type>, tern_layout::Error> {
    use Constructor::*;
    // Only a struct can be made of nothing.
    let Some(child) = children.first() else {
        return Type::structure(&[], &[], &[]);
    };
    match kind {
        Named(_) | F90Integer { .. } | F90Real { .. } | F90Complex { .. } => Ok(child.clone()),
        Dup(_) => Ok(Type::dup(child)),
        Contiguous { count, .. } => Type::contiguous(*count, child),
        Vector { count, blocklength, stride, .. } => Type::vector(*count, *blocklength, *stride, child),
        Hvector { count, blocklength, stride, .. } => Type::hvector(*count, *blocklength, *stride, child),
        Indexed { blocklengths, displacements, .. } => Type::indexed(blocklengths, displacements, child),
        Hindexed { blocklengths, displacements, .. } => Type::hindexed(blocklengths, displacements, child),
        IndexedBlock { blocklength, displacements, .. } => Type::indexed_block(*blocklength, displacements, child),
        HindexedBlock { blocklength, displacements, .. } => Type::hindexed_block(*blocklength, displacements, child),
        Struct { blocklengths, displacements, .. } => Type::structure(blocklengths, displacements, children),
        Resized { lb, extent, .. } => Type::resized(*lb, *extent, child),
        Subarray { sizes, subsizes, starts, order, .. } => Type::subarray(sizes, subsizes, starts, *order, child),
        Darray { size, rank, gsizes, distribs, dargs, psizes, order, .. } => {
            Type::darray(*size, *rank, gsizes, distribs, dargs, psizes, *order, child)
        }
    }
}
