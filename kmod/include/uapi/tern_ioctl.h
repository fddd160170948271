/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The interface of /dev/tern. Its description is docs/kernel-module.md.
 *
 * All structures have the same layout for programs of 32 and 64 bits. Fields named `reserved` are zero, and unknown
 * flags are refused with EINVAL, so that later versions can give them a meaning.
 */
#ifndef TERN_IOCTL_H
#define TERN_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Changes when a program for the old interface would no longer work. */
#define TERN_VERSION 1

/* tern_about.features */
#define TERN_HAS_NOTIFY 1 /* unmapped memory ends its region: see the words of generation */
#define TERN_HAS_DMA 2    /* some DMA engine copies memory now */
#define TERN_HAS_GROUP 4  /* TERN_GROUP is allowed */

/* Number of generation words. They are mapped, for reading, from offset 0 of the descriptor. */
#define TERN_WORDS 4096

/* tern_create.protection */
#define TERN_READ 1
#define TERN_WRITE 2

/* tern_create.flags */
#define TERN_SINGLE_USE 1 /* the region ends with the first copy that names it and is allowed */
#define TERN_GROUP 2      /* other users of the same effective group may use it too */

/* tern_inline.flags, tern_copy.flags: at most one of them */
#define TERN_ASYNC_THREAD 1 /* a kernel thread copies; the status word tells the end */
#define TERN_ASYNC_DMA 2    /* a DMA engine copies, or where none can, a kernel thread */

/* Values of a status word; an error is a negative errno. */
#define TERN_DONE 0
#define TERN_RUNNING 1

struct tern_about {
	__u32 version;
	__u32 features;
};

/* Bytes of the calling process. */
struct tern_segment {
	__u64 address;
	__u64 len;
};

struct tern_create {
	__u64 segments; /* address of struct tern_segment[count] */
	__u32 count;
	__u32 protection;
	__u32 flags;
	__u32 word;       /* out: index of the generation word */
	__u32 generation; /* out: value of that word while the region is there */
	__u32 reserved;
	__u64 cookie; /* out */
};

/* A copy between the caller's memory and a region. */
struct tern_inline {
	__u64 segments; /* address of struct tern_segment[count] */
	__u32 count;
	__u32 direction; /* TERN_READ: from the region; TERN_WRITE: into it */
	__u64 cookie;
	__u64 offset; /* into the region */
	__u64 len;
	__u32 flags;
	__u32 reserved;
	__u64 status; /* address of the __s32 status word of an asynchronous copy, otherwise 0 */
	__u64 moved;  /* out: bytes copied; 0 of an asynchronous copy */
};

/* A copy between two regions. */
struct tern_copy {
	__u64 from;
	__u64 from_offset;
	__u64 to;
	__u64 to_offset;
	__u64 len;
	__u32 flags;
	__u32 reserved;
	__u64 status; /* as in tern_inline */
	__u64 moved;  /* out: as in tern_inline */
};

/* Maps whole pages of a region into the caller. munmap ends it. */
struct tern_attach {
	__u64 cookie;
	__u64 offset; /* of the first page, into the region */
	__u64 len;    /* a multiple of the page size */
	__u32 protection;
	__u32 reserved;
	__u64 address; /* out */
};

#define TERN_IOC_ABOUT _IOR(0xE5, 0, struct tern_about)
#define TERN_IOC_CREATE _IOWR(0xE5, 1, struct tern_create)
#define TERN_IOC_DESTROY _IOW(0xE5, 2, __u64)
#define TERN_IOC_INLINE _IOWR(0xE5, 3, struct tern_inline)
#define TERN_IOC_COPY _IOWR(0xE5, 4, struct tern_copy)
#define TERN_IOC_ATTACH _IOWR(0xE5, 5, struct tern_attach)

#endif
