//! Questions about datatypes, and their life: commit, duplicate, free (MPI 5.0 sections 5.1.5
//! to 5.1.13).

use crate::args::{Handles, Out, OutArray, OutCount, TextOut};
use crate::constants::*;
use crate::datatype::{create, lookup, share};
use crate::error::Result;
use crate::objects::{Contents, Datatype, objects};
use std::rc::Rc;

/// MPI_Type_commit (section 5.1.9). Predefined and committed types may be committed again.
pub fn type_commit(datatype: Out<usize>) -> Result<()> {
    let datatype = lookup(datatype.get())?;
    datatype.check_present()?;
    datatype.committed.set(true);
    Ok(())
}

/// MPI_Type_free (section 5.1.9). Communication that uses the type, and types built from it, go on.
pub fn type_free(datatype: Out<usize>) -> Result<()> {
    let handle = datatype.get();
    let object = lookup(handle)?;
    if object.predefined {
        return err!(MPI_ERR_TYPE, "{} is predefined and cannot be freed", object.label());
    }
    crate::attribute::delete_all(&object.attributes, handle)?;
    objects().datatypes.borrow_mut().remove(handle);
    datatype.set(MPI_DATATYPE_NULL);
    Ok(())
}

/// MPI_Type_dup (section 5.1.10). The duplicate is committed if the old type is.
pub fn type_dup(oldtype: Rc<Datatype>, newtype: Out<usize>) -> Result<()> {
    oldtype.check_present()?;
    let contents = Contents { combiner: MPI_COMBINER_DUP, datatypes: vec![oldtype.clone()], ..Contents::default() };
    let copies = crate::attribute::copy_all(&oldtype.attributes, oldtype.handle.get())?;
    let handle = create(oldtype.layout.clone(), contents);
    let made = lookup(handle)?;
    made.committed.set(oldtype.committed.get());
    made.attributes.values.swap(&copies.values);
    newtype.set(handle);
    Ok(())
}

/// MPI_Type_size (section 5.1.5).
pub fn type_size(datatype: Rc<Datatype>, size: OutCount) -> Result<()> {
    size.set(datatype.size());
    Ok(())
}

/// MPI_Type_get_extent (section 5.1.7).
pub fn type_get_extent(datatype: Rc<Datatype>, lb: OutCount, extent: OutCount) -> Result<()> {
    lb.set(datatype.layout.lb());
    extent.set(datatype.layout.extent());
    Ok(())
}

/// MPI_Type_get_true_extent (section 5.1.8).
pub fn type_get_true_extent(datatype: Rc<Datatype>, true_lb: OutCount, true_extent: OutCount) -> Result<()> {
    true_lb.set(datatype.layout.true_lb());
    true_extent.set(datatype.layout.true_extent());
    Ok(())
}

/// MPI_Type_get_envelope (section 5.1.13), without large counts.
pub fn type_get_envelope(
    datatype: Rc<Datatype>, num_integers: Out<i32>, num_addresses: Out<i32>, num_datatypes: Out<i32>,
    combiner: Out<i32>,
) -> Result<()> {
    let contents = &datatype.contents;
    check_int_form(&datatype, "MPI_Type_get_envelope")?;
    num_integers.set(contents.integers.len() as i32);
    num_addresses.set(contents.addresses.len() as i32);
    num_datatypes.set(contents.datatypes.len() as i32);
    combiner.set(contents.combiner);
    Ok(())
}

/// MPI_Type_get_envelope_c (section 5.1.13).
pub fn type_get_envelope_c(
    datatype: Rc<Datatype>, num_integers: OutCount, num_addresses: OutCount, num_large_counts: OutCount,
    num_datatypes: OutCount, combiner: Out<i32>,
) -> Result<()> {
    let contents = &datatype.contents;
    num_integers.set(contents.integers.len() as i64);
    num_addresses.set(contents.addresses.len() as i64);
    num_large_counts.set(contents.large_counts.len() as i64);
    num_datatypes.set(contents.datatypes.len() as i64);
    combiner.set(contents.combiner);
    Ok(())
}

/// A type made by a large-count constructor is only described by the large-count forms.
fn check_int_form(datatype: &Datatype, function: &str) -> Result<()> {
    if datatype.contents.large_counts.is_empty() {
        return Ok(());
    }
    err!(MPI_ERR_TYPE, "{} was made with large counts: call {function}_c", datatype.label())
}

/// MPI_Type_get_contents (section 5.1.13), without large counts.
pub fn type_get_contents(
    datatype: Rc<Datatype>, max_integers: i32, max_addresses: i32, max_datatypes: i32, integers: OutArray<i32>,
    addresses: OutArray<i64>, datatypes: Handles,
) -> Result<()> {
    check_int_form(&datatype, "MPI_Type_get_contents")?;
    hand_out(
        &datatype,
        [max_integers as i64, max_addresses as i64, 0, max_datatypes as i64],
        integers,
        addresses,
        None,
        datatypes,
    )
}

/// MPI_Type_get_contents_c (section 5.1.13).
#[allow(clippy::too_many_arguments)]
pub fn type_get_contents_c(
    datatype: Rc<Datatype>, max_integers: i64, max_addresses: i64, max_large_counts: i64, max_datatypes: i64,
    integers: OutArray<i32>, addresses: OutArray<i64>, large_counts: OutArray<i64>, datatypes: Handles,
) -> Result<()> {
    let room = [max_integers, max_addresses, max_large_counts, max_datatypes];
    hand_out(&datatype, room, integers, addresses, Some(large_counts), datatypes)
}

fn hand_out(
    datatype: &Datatype, room: [i64; 4], integers: OutArray<i32>, addresses: OutArray<i64>,
    large_counts: Option<OutArray<i64>>, datatypes: Handles,
) -> Result<()> {
    let contents = &datatype.contents;
    if contents.combiner == MPI_COMBINER_NAMED {
        return err!(MPI_ERR_TYPE, "{} is a named predefined datatype and has no contents", datatype.label());
    }
    let needed = [
        ("max_integers", contents.integers.len()),
        ("max_addresses", contents.addresses.len()),
        ("max_large_counts", contents.large_counts.len()),
        ("max_datatypes", contents.datatypes.len()),
    ];
    for (&(name, need), max) in needed.iter().zip(room) {
        if max < need as i64 {
            return err!(MPI_ERR_ARG, "{name} is {max}, but there are {need}: ask MPI_Type_get_envelope");
        }
    }
    for (i, &value) in contents.integers.iter().enumerate() {
        integers.set(i, value as i32);
    }
    for (i, &value) in contents.addresses.iter().enumerate() {
        addresses.set(i, value);
    }
    if let Some(out) = large_counts {
        for (i, &value) in contents.large_counts.iter().enumerate() {
            out.set(i, value);
        }
    }
    for (i, child) in contents.datatypes.iter().enumerate() {
        datatypes.set(i, share(child));
    }
    Ok(())
}

/// MPI_Type_size_x, the deprecated name of the large-count form.
pub fn type_size_x(datatype: Rc<Datatype>, size: OutCount) -> Result<()> {
    size.set(datatype.size());
    Ok(())
}

/// MPI_Type_get_extent_x, the deprecated name of the large-count form.
pub fn type_get_extent_x(datatype: Rc<Datatype>, lb: OutCount, extent: OutCount) -> Result<()> {
    type_get_extent(datatype, lb, extent)
}

/// MPI_Type_get_true_extent_x, the deprecated name of the large-count form.
pub fn type_get_true_extent_x(datatype: Rc<Datatype>, true_lb: OutCount, true_extent: OutCount) -> Result<()> {
    type_get_true_extent(datatype, true_lb, true_extent)
}

/// MPI_Type_get_name (section 7.8). MPI_DATATYPE_NULL has a name too.
pub fn type_get_name(datatype: usize, type_name: TextOut, resultlen: Out<i32>) -> Result<()> {
    let length = match datatype {
        MPI_DATATYPE_NULL => type_name.set("MPI_DATATYPE_NULL", MPI_MAX_OBJECT_NAME),
        _ => type_name.set(&lookup(datatype)?.name.borrow(), MPI_MAX_OBJECT_NAME),
    };
    resultlen.set(length);
    Ok(())
}

/// MPI_Type_set_name (section 7.8). What is too long is cut.
pub fn type_set_name(datatype: Rc<Datatype>, type_name: &str) -> Result<()> {
    let end = type_name.floor_char_boundary(MPI_MAX_OBJECT_NAME as usize - 1);
    *datatype.name.borrow_mut() = type_name[..end].into();
    Ok(())
}
