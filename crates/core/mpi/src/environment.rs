//! What a program may ask about the library and the machine (MPI 5.0 section 9.1).

use crate::args::{Out, TextOut};
use crate::comm::hardware::{self, KINDS};
use crate::constants::*;
use crate::error::Result;
use crate::info;
use crate::info_map::InfoMap;
use crate::runtime::runtime;

/// MPI_Get_version
pub fn get_version(version: Out<i32>, subversion: Out<i32>) -> Result<()> {
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

/// Name and version of the library, in one line.
pub fn library_version() -> String {
    format!("Tern {} (MPI {MPI_VERSION}.{MPI_SUBVERSION})", env!("CARGO_PKG_VERSION"))
}

/// MPI_Get_library_version
pub fn get_library_version(version: TextOut, resultlen: Out<i32>) -> Result<()> {
    resultlen.set(version.set(&library_version(), MPI_MAX_LIBRARY_VERSION_STRING));
    Ok(())
}

/// MPI_Get_processor_name: the name of the node.
pub fn get_processor_name(name: TextOut, resultlen: Out<i32>) -> Result<()> {
    resultlen.set(name.set(&runtime().job.node_name(&tern_node::hostname()), MPI_MAX_PROCESSOR_NAME));
    Ok(())
}

/// MPI_Get_hw_resource_info (section 9.1.2): of each kind of resource, whether this process is
/// restricted to one part of it.
pub fn get_hw_resource_info(hw_info: Out<usize>) -> Result<()> {
    let mut map = InfoMap::new();
    for (kind, restricted) in KINDS.iter().zip(hardware::restricted()) {
        info::put(&mut map, kind.name, if restricted { "true" } else { "false" });
    }
    hw_info.set(info::hand_out(map));
    Ok(())
}
