//! Categories: the parts of Tern (MPI 5.0 section 15.3.9). The first holds all others, and these the
//! settings, counters and events of their part. Nothing is ever added.

use super::{at, index_of, need_place, put_indices, put_text, up};
use crate::args::OptionalOut;
use crate::error::Result;
use tern_counters::events;
use tern_counters::{CATEGORIES, Category};

const ROOT: Category = Category { name: "tern", meaning: "All parts of Tern." };

fn all() -> impl Iterator<Item = Category> {
    std::iter::once(ROOT).chain(CATEGORIES.iter().copied())
}

fn find(index: i32) -> Result<Category> {
    at(&all().collect::<Vec<_>>(), index, "categories").copied()
}

/// Indices of the entries of a list that are in `category`.
fn members<T>(list: &[T], category: Category, of: impl Fn(&T) -> &'static str) -> impl Iterator<Item = usize> {
    (0..).zip(list).filter(move |(_, entry)| of(entry) == category.name).map(|(index, _)| index)
}

fn cvars(category: Category) -> impl Iterator<Item = usize> {
    members(tern_settings::ALL, category, |entry| entry.category())
}

fn pvars(category: Category) -> impl Iterator<Item = usize> {
    members(tern_counters::ALL, category, |entry| entry.category)
}

fn event_types(category: Category) -> impl Iterator<Item = usize> {
    members(&events::Kind::ALL, category, |kind| kind.category())
}

fn categories(category: Category) -> impl Iterator<Item = usize> {
    let inside = if category == ROOT { CATEGORIES.len() } else { 0 };
    1..1 + inside
}

/// MPI_T_category_get_num
pub fn t_category_get_num(num: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(num, "num_cat")?.set(all().count() as i32);
    Ok(())
}

/// MPI_T_category_get_info
#[allow(clippy::too_many_arguments)]
pub fn t_category_get_info(
    index: i32, name: OptionalOut<u8>, name_len: OptionalOut<i32>, desc: OptionalOut<u8>, desc_len: OptionalOut<i32>,
    num_cvars: OptionalOut<i32>, num_pvars: OptionalOut<i32>, num_categories: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let category = find(index)?;
    put_text(category.name, name, name_len);
    put_text(category.meaning, desc, desc_len);
    num_cvars.set(cvars(category).count() as i32);
    num_pvars.set(pvars(category).count() as i32);
    num_categories.set(categories(category).count() as i32);
    Ok(())
}

/// MPI_T_category_get_num_events
pub fn t_category_get_num_events(index: i32, num: OptionalOut<i32>) -> Result<()> {
    up()?;
    let category = find(index)?;
    need_place(num, "num_events")?.set(event_types(category).count() as i32);
    Ok(())
}

/// MPI_T_category_get_index
pub fn t_category_get_index(name: Option<&str>, index: OptionalOut<i32>) -> Result<()> {
    up()?;
    index_of(&all().collect::<Vec<_>>(), "categories", name, index, |category, name| category.name == name)
}

/// MPI_T_category_get_cvars
pub fn t_category_get_cvars(index: i32, len: i32, indices: OptionalOut<i32>) -> Result<()> {
    up()?;
    put_indices(cvars(find(index)?), len, indices)
}

/// MPI_T_category_get_pvars
pub fn t_category_get_pvars(index: i32, len: i32, indices: OptionalOut<i32>) -> Result<()> {
    up()?;
    put_indices(pvars(find(index)?), len, indices)
}

/// MPI_T_category_get_events
pub fn t_category_get_events(index: i32, len: i32, indices: OptionalOut<i32>) -> Result<()> {
    up()?;
    put_indices(event_types(find(index)?), len, indices)
}

/// MPI_T_category_get_categories
pub fn t_category_get_categories(index: i32, len: i32, indices: OptionalOut<i32>) -> Result<()> {
    up()?;
    put_indices(categories(find(index)?), len, indices)
}

/// MPI_T_category_changed: never.
pub fn t_category_changed(update_number: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(update_number, "update_number")?.set(0);
    Ok(())
}
