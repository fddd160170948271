//! Arguments of MPI_Comm_spawn and MPI_Comm_spawn_multiple: arrays of texts.

use super::error::{Scope, refuse};
use super::text::{Text, given};
use super::{P, get, length, null, put, set_ierror};
use crate::face::{self, Handle, sentinel};
use std::ffi::c_int;

/// A null-terminated list of texts, as C's argv.
struct List {
    _texts: Vec<Text>,
    addresses: Vec<P>,
}

impl List {
    fn of(texts: Vec<Text>) -> List {
        let addresses = texts.iter().map(Text::address).chain([null()]).collect();
        List { _texts: texts, addresses }
    }

    /// The texts at `array`, `step` characters apart, until an empty one; without blanks at their ends.
    unsafe fn until_blank(array: P, width: usize, step: usize) -> List {
        let mut texts = Vec::new();
        for i in 0.. {
            // SAFETY: the program ends the list with a blank text (MPI 5.0 section 11.8.2).
            let text = unsafe { given(array.cast::<u8>().add(i * step).cast(), width) }.trim_ascii_start();
            if text.is_empty() {
                break;
            }
            texts.push(Text::of(text));
        }
        List::of(texts)
    }

    fn address(&self) -> P {
        self.addresses.as_ptr().cast_mut().cast()
    }
}

/// Arguments count at the root only.
unsafe fn at_root(comm: P, root: P) -> bool {
    // SAFETY: as for every argument.
    unsafe { super::is_root(face::comm_in(get::<c_int>(comm)), get(root)) }
}

type Spawn = unsafe extern "C" fn(P, P, c_int, Handle, c_int, Handle, P, P) -> c_int;

/// MPI_Comm_spawn
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn(
    call: Spawn, command: P, argv: P, maxprocs: P, info: P, root: P, comm: P, intercomm: P, errcodes: P, ierror: P,
    command_length: usize, argv_length: usize,
) {
    // SAFETY: as for every argument.
    unsafe {
        let significant = at_root(comm, root);
        let command = Text::trimmed(command, if significant { command_length } else { 0 });
        let list = if !significant || sentinel::is_argv_null(argv) {
            None
        } else {
            Some(List::until_blank(argv, argv_length, argv_length))
        };
        let mut new = face::UNSET;
        let code = call(
            command.address(),
            list.as_ref().map_or(face::ARGV_NULL, List::address),
            get(maxprocs),
            face::info_in(get(info)),
            get(root),
            face::comm_in(get(comm)),
            (&raw mut new).cast(),
            sentinel::errcodes(errcodes),
        );
        if new != face::UNSET {
            put(intercomm, face::comm_out(new));
        }
        set_ierror(ierror, code);
    }
}

type SpawnMultiple = unsafe extern "C" fn(c_int, P, P, P, P, c_int, Handle, P, P) -> c_int;

/// MPI_Comm_spawn_multiple: argument `j` of command `i` is `array_of_argv(i, j)`.
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn_multiple(
    call: SpawnMultiple, count: P, commands: P, argvs: P, maxprocs: P, infos: P, root: P, comm: P, intercomm: P,
    errcodes: P, ierror: P, command_length: usize, argv_length: usize,
) {
    // SAFETY: as for every argument.
    unsafe {
        let significant = at_root(comm, root);
        let n = if significant { length(get::<c_int>(count)) } else { 0 };
        let text = |i: usize| Text::trimmed(commands.cast::<u8>().add(i * command_length).cast(), command_length);
        let names = List::of((0..n).map(text).collect());
        let lists: Vec<List> = match sentinel::is_argv_null(argvs) {
            true => Vec::new(),
            false => {
                let list =
                    |i| List::until_blank(argvs.cast::<u8>().add(i * argv_length).cast(), argv_length, n * argv_length);
                (0..n).map(list).collect()
            }
        };
        let addresses: Vec<P> = lists.iter().map(List::address).collect();
        let mut infos = super::handles::Handles::read(infos, n, face::info_in);
        if let Some(fault) = infos.fault() {
            let scope = Scope::Comm(face::comm_in(get(comm)));
            return refuse("MPI_Comm_spawn_multiple", "array_of_info", fault, scope, ierror);
        }
        let mut new = face::UNSET;
        let code = call(
            get(count),
            names.address(),
            if lists.is_empty() { face::ARGVS_NULL } else { addresses.as_ptr().cast_mut().cast() },
            maxprocs,
            infos.address(),
            get(root),
            face::comm_in(get(comm)),
            (&raw mut new).cast(),
            sentinel::errcodes(errcodes),
        );
        if new != face::UNSET {
            put(intercomm, face::comm_out(new));
        }
        set_ierror(ierror, code);
    }
}
