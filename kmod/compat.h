/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What differs between the kernels from 5.15 on. */
#ifndef TERN_COMPAT_H
#define TERN_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
#error "Linux 5.15 is the oldest kernel for this module"
#endif
#ifndef CONFIG_MMU_NOTIFIER
#error "the kernel must have CONFIG_MMU_NOTIFIER"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Pages that are only read. From 6.2 on the kernel itself sees to it that a later write of the owner changes the
 * pinned page and not a copy of it. Before, a pin for writing does, which is possible for private memory only.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define TERN_PIN_FOR_READING (FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE)
#else
#define TERN_PIN_FOR_READING FOLL_LONGTERM
#endif

#endif
