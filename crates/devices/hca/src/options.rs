//! Which HCA to open.

use crate::{Faults, Link};

/// Who makes the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maker {
    /// The software HCA.
    #[default]
    Software,
    /// libibverbs.
    RdmaCore,
}

/// Which HCA to open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which of the two makes it.
    pub maker: Maker,
    /// rdma-core: the device and its port, as "mlx5_0" or "mlx5_0:1"; `None` is the first that has an active port.
    /// Software: the address of an interface by which peers reach this process, as "10.0.0.1"; `None` is loopback.
    pub interface: Option<String>,
    /// What the software HCA behaves like. rdma-core takes no notice.
    pub link: Link,
    /// What goes wrong on purpose, in the software HCA. rdma-core takes no notice.
    pub faults: Faults,
}
