//! Constructors of datatypes (MPI 5.0 sections 5.1.2 to 5.1.11).
//!
//! Each exists twice: the `int` form and the large-count form (`_c`) differ only in what
//! MPI_Type_get_contents hands out later (section 5.1.13).

use crate::args::{Counts, Handles, Out};
use crate::constants::*;
use crate::datatype::{create, layout_error, lookup};
use crate::error::{Error, Result, no_memory};
use crate::objects::{Contents, Datatype};
use std::rc::Rc;
use tern_layout::{DistArg, Distribution, Order, Type};
use tern_memory::Lack;

/// Which form of a constructor the program called.
#[derive(Clone, Copy)]
enum Form {
    Int,
    Large,
}

/// The arguments of a constructor call, kept for MPI_Type_get_contents.
struct Call {
    form: Form,
    contents: Contents,
    /// An argument had no memory.
    lack: Option<Lack>,
}

impl Call {
    fn new(form: Form, combiner: i32, datatypes: Vec<Rc<Datatype>>) -> Call {
        Call { form, contents: Contents { combiner, datatypes, ..Contents::default() }, lack: None }
    }
    /// Appends to one of the lists.
    fn keep(mut self, list: fn(&mut Contents) -> &mut Vec<i64>, values: &[i64]) -> Call {
        let list = list(&mut self.contents);
        match tern_memory::reserve(list, values.len()) {
            Ok(()) => list.extend_from_slice(values),
            Err(lack) => self.lack = Some(lack),
        }
        self
    }
    /// An argument that is `int` in both forms.
    fn integer(mut self, value: i32) -> Call {
        self.contents.integers.push(value as i64);
        self
    }
    fn integers(mut self, values: &[i32]) -> Call {
        self.contents.integers.extend(values.iter().map(|&v| v as i64));
        self
    }
    /// Arguments that are `int` in one form and MPI_Count in the other.
    fn counts(self, values: &[i64]) -> Call {
        match self.form {
            Form::Int => self.keep(|contents| &mut contents.integers, values),
            Form::Large => self.keep(|contents| &mut contents.large_counts, values),
        }
    }
    /// Arguments that are MPI_Aint in one form and MPI_Count in the other.
    fn addresses(self, values: &[i64]) -> Call {
        match self.form {
            Form::Int => self.keep(|contents| &mut contents.addresses, values),
            Form::Large => self.keep(|contents| &mut contents.large_counts, values),
        }
    }
    /// Makes the datatype.
    fn build(self, layout: std::result::Result<Rc<Type>, tern_layout::Error>, newtype: Out<usize>) -> Result<()> {
        for child in &self.contents.datatypes {
            child.check_present()?;
        }
        let layout = layout.map_err(|error| layout_error(error, &self.contents))?;
        self.lack.map_or(Ok(()), Err).map_err(arguments)?;
        newtype.set(create(layout, self.contents));
        Ok(())
    }
}

fn arguments(lack: Lack) -> Box<Error> {
    no_memory("the arguments of the datatype", lack)
}

/// MPI_ERR_COUNT for a negative count or block length.
fn check_count(name: &str, value: i64) -> Result<usize> {
    if value < 0 {
        return err!(MPI_ERR_COUNT, "{name} is {value}: it must not be negative");
    }
    Ok(value as usize)
}

/// Reads an array argument of `len` elements; MPI_ERR_ARG when there is none.
fn array(name: &str, values: Counts, len: usize) -> Result<Vec<i64>> {
    if len > 0 && values.is_null() {
        return err!(MPI_ERR_ARG, "{name} is a null pointer");
    }
    values.list(len)
}

/// Reads an array argument of `int`.
fn int_array(name: &str, values: Counts, len: usize) -> Result<Vec<i32>> {
    Ok(array(name, values, len)?.into_iter().map(|v| v as i32).collect())
}

macro_rules! both_forms {
    ($($(#[$doc:meta])* $name:ident, $large:ident => $body:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments)]
            pub fn $name($($arg: $ty),*) -> Result<()> {
                $body(Form::Int, $($arg),*)
            }
            $(#[$doc])*
            /// Large-count form.
            #[allow(clippy::too_many_arguments)]
            pub fn $large($($arg: $ty),*) -> Result<()> {
                $body(Form::Large, $($arg),*)
            }
        )*
    };
}

both_forms! {
    /// MPI_Type_contiguous (section 5.1.2).
    type_contiguous, type_contiguous_c =>
        contiguous(count: i64, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_vector (section 5.1.2). The stride is in extents of `oldtype`.
    type_vector, type_vector_c =>
        vector(count: i64, blocklength: i64, stride: i64, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_hvector (section 5.1.2). The stride is in bytes.
    type_create_hvector, type_create_hvector_c =>
        hvector(count: i64, blocklength: i64, stride: i64, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_indexed (section 5.1.2). Displacements are in extents of `oldtype`.
    type_indexed, type_indexed_c =>
        indexed(count: i64, blocklengths: Counts, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_hindexed (section 5.1.2). Displacements are in bytes.
    type_create_hindexed, type_create_hindexed_c =>
        hindexed(count: i64, blocklengths: Counts, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_indexed_block (section 5.1.2). Displacements are in extents of `oldtype`.
    type_create_indexed_block, type_create_indexed_block_c =>
        indexed_block(count: i64, blocklength: i64, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_hindexed_block (section 5.1.2). Displacements are in bytes.
    type_create_hindexed_block, type_create_hindexed_block_c =>
        hindexed_block(count: i64, blocklength: i64, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_struct (section 5.1.2). Displacements are in bytes.
    type_create_struct, type_create_struct_c =>
        structure(count: i64, blocklengths: Counts, displacements: Counts, types: Handles, newtype: Out<usize>);
    /// MPI_Type_create_subarray (section 5.1.3).
    type_create_subarray, type_create_subarray_c =>
        subarray(ndims: i32, sizes: Counts, subsizes: Counts, starts: Counts, order: i32, oldtype: Rc<Datatype>,
            newtype: Out<usize>);
    /// MPI_Type_create_darray (section 5.1.4).
    type_create_darray, type_create_darray_c =>
        darray(size: i32, rank: i32, ndims: i32, gsizes: Counts, distribs: Counts, dargs: Counts, psizes: Counts,
            order: i32, oldtype: Rc<Datatype>, newtype: Out<usize>);
    /// MPI_Type_create_resized (section 5.1.7).
    type_create_resized, type_create_resized_c =>
        resized(oldtype: Rc<Datatype>, lb: i64, extent: i64, newtype: Out<usize>);
}

fn contiguous(form: Form, count: i64, oldtype: Rc<Datatype>, newtype: Out<usize>) -> Result<()> {
    check_count("count", count)?;
    let layout = Type::contiguous(count, &oldtype.layout);
    Call::new(form, MPI_COMBINER_CONTIGUOUS, vec![oldtype]).counts(&[count]).build(layout, newtype)
}

fn vector(
    form: Form, count: i64, blocklength: i64, stride: i64, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    check_count("count", count)?;
    check_count("blocklength", blocklength)?;
    let layout = Type::vector(count, blocklength, stride, &oldtype.layout);
    Call::new(form, MPI_COMBINER_VECTOR, vec![oldtype]).counts(&[count, blocklength, stride]).build(layout, newtype)
}

fn hvector(
    form: Form, count: i64, blocklength: i64, stride: i64, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    check_count("count", count)?;
    check_count("blocklength", blocklength)?;
    let layout = Type::hvector(count, blocklength, stride, &oldtype.layout);
    Call::new(form, MPI_COMBINER_HVECTOR, vec![oldtype])
        .counts(&[count, blocklength])
        .addresses(&[stride])
        .build(layout, newtype)
}

/// Reads the arrays of an indexed type.
fn blocks(count: i64, blocklengths: Counts, displacements: Counts) -> Result<(Vec<i64>, Vec<i64>)> {
    let len = check_count("count", count)?;
    let lengths = array("array_of_blocklengths", blocklengths, len)?;
    for (i, &length) in lengths.iter().enumerate() {
        check_count(&format!("array_of_blocklengths[{i}]"), length)?;
    }
    Ok((lengths, array("array_of_displacements", displacements, len)?))
}

fn indexed(
    form: Form, count: i64, blocklengths: Counts, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    let (lengths, places) = blocks(count, blocklengths, displacements)?;
    let layout = Type::indexed(&lengths, &places, &oldtype.layout);
    Call::new(form, MPI_COMBINER_INDEXED, vec![oldtype])
        .counts(&[count])
        .counts(&lengths)
        .counts(&places)
        .build(layout, newtype)
}

fn hindexed(
    form: Form, count: i64, blocklengths: Counts, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    let (lengths, places) = blocks(count, blocklengths, displacements)?;
    let layout = Type::hindexed(&lengths, &places, &oldtype.layout);
    Call::new(form, MPI_COMBINER_HINDEXED, vec![oldtype])
        .counts(&[count])
        .counts(&lengths)
        .addresses(&places)
        .build(layout, newtype)
}

fn indexed_block(
    form: Form, count: i64, blocklength: i64, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    let len = check_count("count", count)?;
    check_count("blocklength", blocklength)?;
    let places = array("array_of_displacements", displacements, len)?;
    let layout = Type::indexed_block(blocklength, &places, &oldtype.layout);
    Call::new(form, MPI_COMBINER_INDEXED_BLOCK, vec![oldtype])
        .counts(&[count, blocklength])
        .counts(&places)
        .build(layout, newtype)
}

fn hindexed_block(
    form: Form, count: i64, blocklength: i64, displacements: Counts, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    let len = check_count("count", count)?;
    check_count("blocklength", blocklength)?;
    let places = array("array_of_displacements", displacements, len)?;
    let layout = Type::hindexed_block(blocklength, &places, &oldtype.layout);
    Call::new(form, MPI_COMBINER_HINDEXED_BLOCK, vec![oldtype])
        .counts(&[count, blocklength])
        .addresses(&places)
        .build(layout, newtype)
}

fn structure(
    form: Form, count: i64, blocklengths: Counts, displacements: Counts, types: Handles, newtype: Out<usize>,
) -> Result<()> {
    let (lengths, places) = blocks(count, blocklengths, displacements)?;
    if count > 0 && types.is_null() {
        return err!(MPI_ERR_ARG, "array_of_types is a null pointer");
    }
    let mut children = tern_memory::room(lengths.len()).map_err(arguments)?;
    (0..lengths.len()).try_for_each(|i| lookup(types.get(i)).map(|child| children.push(child)))?;
    let layouts = children.iter().map(|child: &Rc<Datatype>| child.layout.clone());
    let layouts = tern_memory::collect(layouts).map_err(arguments)?;
    let layout = Type::structure(&lengths, &places, &layouts);
    Call::new(form, MPI_COMBINER_STRUCT, children)
        .counts(&[count])
        .counts(&lengths)
        .addresses(&places)
        .build(layout, newtype)
}

fn check_order(order: i32) -> Result<Order> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => err!(MPI_ERR_ARG, "order is {order}: it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"),
    }
}

fn check_ndims(ndims: i32) -> Result<usize> {
    if ndims < 1 {
        return err!(MPI_ERR_ARG, "ndims is {ndims}: it must be at least 1");
    }
    Ok(ndims as usize)
}

#[allow(clippy::too_many_arguments)]
fn subarray(
    form: Form, ndims: i32, sizes: Counts, subsizes: Counts, starts: Counts, order: i32, oldtype: Rc<Datatype>,
    newtype: Out<usize>,
) -> Result<()> {
    let dims = check_ndims(ndims)?;
    let sizes = array("array_of_sizes", sizes, dims)?;
    let subsizes = array("array_of_subsizes", subsizes, dims)?;
    let starts = array("array_of_starts", starts, dims)?;
    for d in 0..dims {
        let (size, part, start) = (sizes[d], subsizes[d], starts[d]);
        if size < 1 || part < 1 || part > size || start < 0 || start > size - part {
            return err!(MPI_ERR_ARG, "dimension {d}: {part} elements from {start} do not lie in an array of {size}");
        }
    }
    let layout = Type::subarray(&sizes, &subsizes, &starts, check_order(order)?, &oldtype.layout);
    Call::new(form, MPI_COMBINER_SUBARRAY, vec![oldtype])
        .integer(ndims)
        .counts(&sizes)
        .counts(&subsizes)
        .counts(&starts)
        .integer(order)
        .build(layout, newtype)
}

fn check_distribution(distrib: i32, darg: i32) -> Result<(Distribution, DistArg)> {
    let distribution = match distrib {
        MPI_DISTRIBUTE_NONE => Distribution::None,
        MPI_DISTRIBUTE_BLOCK => Distribution::Block,
        MPI_DISTRIBUTE_CYCLIC => Distribution::Cyclic,
        _ => return err!(MPI_ERR_ARG, "{distrib} in array_of_distribs is no MPI_DISTRIBUTE_… value"),
    };
    let argument = if darg == MPI_DISTRIBUTE_DFLT_DARG { DistArg::Default } else { DistArg::Size(darg as i64) };
    Ok((distribution, argument))
}

#[allow(clippy::too_many_arguments)]
fn darray(
    form: Form, size: i32, rank: i32, ndims: i32, gsizes: Counts, distribs: Counts, dargs: Counts, psizes: Counts,
    order: i32, oldtype: Rc<Datatype>, newtype: Out<usize>,
) -> Result<()> {
    let dims = check_ndims(ndims)?;
    let gsizes = array("array_of_gsizes", gsizes, dims)?;
    let distribs = int_array("array_of_distribs", distribs, dims)?;
    let dargs = int_array("array_of_dargs", dargs, dims)?;
    let psizes = int_array("array_of_psizes", psizes, dims)?;
    let (kinds, arguments): (Vec<_>, Vec<_>) = distribs
        .iter()
        .zip(&dargs)
        .map(|(&distrib, &darg)| check_distribution(distrib, darg))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .unzip();
    let grid: Vec<i64> = psizes.iter().map(|&p| p as i64).collect();
    let order_of = check_order(order)?;
    let layout = Type::darray(size, rank, &gsizes, &kinds, &arguments, &grid, order_of, &oldtype.layout);
    Call::new(form, MPI_COMBINER_DARRAY, vec![oldtype])
        .integers(&[size, rank, ndims])
        .counts(&gsizes)
        .integers(&distribs)
        .integers(&dargs)
        .integers(&psizes)
        .integer(order)
        .build(layout, newtype)
}

fn resized(form: Form, oldtype: Rc<Datatype>, lb: i64, extent: i64, newtype: Out<usize>) -> Result<()> {
    let layout = Type::resized(lb, extent, &oldtype.layout);
    Call::new(form, MPI_COMBINER_RESIZED, vec![oldtype]).addresses(&[lb, extent]).build(layout, newtype)
}
