//! Atomics that say what is done with them. They lie in memory as the machine's do.

use super::client;
use crate::wire::Act;
use std::ops::Deref;
use std::sync::atomic::{self, Ordering};

fn read<T>(at: &T) {
    client::with(|client| client.touch(Act::Read, std::ptr::from_ref(at).cast(), size_of::<T>()));
}

fn write<T>(at: &T) {
    client::with(|client| client.touch(Act::Write, std::ptr::from_ref(at).cast(), size_of::<T>()));
}

fn change<T>(at: &T) {
    client::with(|client| client.touch(Act::Change, std::ptr::from_ref(at).cast(), size_of::<T>()));
}

/// Methods that change a value in one step.
macro_rules! changes {
    ($name:ident $value:ty: $($method:ident)*) => {
        impl $name {$(
            /// As the machine's.
            #[inline]
            pub fn $method(&self, value: $value, order: Ordering) -> $value {
                change(self);
                self.0.$method(value, order)
            }
        )*}
    };
}

macro_rules! numbers {
    ($($name:ident $value:ty),*) => {$(changes!($name $value: fetch_add fetch_sub fetch_max fetch_min);)*};
}

macro_rules! atomics {
    ($($name:ident $value:ty),*) => {$(
        /// The machine's atomic of this name, whose uses are noticed.
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name(atomic::$name);

        impl $name {
            /// As the machine's.
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// As the machine's.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                read(self);
                self.0.load(order)
            }

            /// As the machine's.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                write(self);
                self.0.store(value, order);
            }

            /// As the machine's.
            #[inline]
            pub fn compare_exchange(
                &self, current: $value, new: $value, success: Ordering, failure: Ordering,
            ) -> Result<$value, $value> {
                change(self);
                self.0.compare_exchange(current, new, success, failure)
            }

            /// As the machine's.
            #[inline]
            pub fn compare_exchange_weak(
                &self, current: $value, new: $value, success: Ordering, failure: Ordering,
            ) -> Result<$value, $value> {
                change(self);
                self.0.compare_exchange_weak(current, new, success, failure)
            }
        }

        changes!($name $value: swap fetch_or fetch_and fetch_xor);

        /// What is not used in shared memory, or has no cost there.
        impl Deref for $name {
            type Target = atomic::$name;

            fn deref(&self) -> &atomic::$name {
                &self.0
            }
        }
    )*};
}

atomics!(AtomicBool bool, AtomicI32 i32, AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize);
numbers!(AtomicI32 i32, AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize);
