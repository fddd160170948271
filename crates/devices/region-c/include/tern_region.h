/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory that processes of one Linux machine declare to each other, and copies from and into it, in one copy where the
 * kernel allows that. No kernel module and no MPI is needed; a kernel module of Tern's may be used. docs/region-library.md and tern_region(3) describe it.
 *
 * Functions that return int return 0, or an error: a negative errno value. tern_region_text says what it means here.
 * All functions may be called by many threads.
 */
#ifndef TERN_REGION_H
#define TERN_REGION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program for the old interface would no longer work. */
#define TERN_REGION_VERSION 1

/* This process's place in a space. */
typedef struct tern_region_space tern_region_space;
/* An asynchronous copy. */
typedef struct tern_region_status tern_region_status;
/* The name of a region in all processes of its space, never 0: a number without pointers, to be sent by whatever means. */
typedef uint64_t tern_region_cookie;

/* A byte of a region: where a copy begins. */
typedef struct {
    tern_region_cookie cookie;
    uint64_t offset; /* over all segments of the region */
} tern_region_spot;

/* Protection of a region; direction of an inline copy: from the region or into it. */
#define TERN_REGION_READ 1u
#define TERN_REGION_WRITE 2u

/* Flags of a region. */
#define TERN_REGION_SINGLE_USE 1u /* ends with the first copy that names it and is allowed */

/* Options of a space. */
#define TERN_REGION_NO_MAPPED 1u /* memory of others is not mapped */
#define TERN_REGION_NO_CMA 2u    /* process_vm_readv and process_vm_writev are not used */
#define TERN_REGION_SERVER 4u    /* a thread answers peers that cannot reach this process's memory themselves */
#define TERN_REGION_USE_MODULE 8u /* private memory is declared to Tern's kernel module, where that is installed */

/* Who does an asynchronous copy. */
#define TERN_REGION_SELF 0u   /* this process, a part with each poll */
#define TERN_REGION_IDLE 1u   /* a DMA engine, if that pays, or a copy thread, if a core has nothing to do now */
#define TERN_REGION_THREAD 2u /* a copy thread */
#define TERN_REGION_ENGINE 3u /* a DMA engine; where there is none, as TERN_REGION_IDLE */

/* Ways between two processes, and how each stands. */
#define TERN_REGION_MAPPED 0u
#define TERN_REGION_MODULE 1u
#define TERN_REGION_CMA 2u
#define TERN_REGION_PIPE 3u
#define TERN_REGION_UNPROVEN 0
#define TERN_REGION_WORKS 1
#define TERN_REGION_LEFT 2
#define TERN_REGION_OFF 3
#define TERN_REGION_ABSENT 4

/* Most members of a space. */
#define TERN_REGION_MEMBERS 1024u

/*
 * Joins the space of that name as member `me` of `members`. Processes of one user that say the same name are in one space.
 * All say the same number of members, and the same `span`: bytes of shared memory that each can allocate, rounded up to
 * 64 KiB. `span` costs nothing until it is used. Members join in any order.
 */
int tern_region_open(const char *name, uint32_t members, uint32_t me, uint64_t span, uint32_t options,
                     tern_region_space **space);
/* As tern_region_open, in the file of a descriptor that all members have, such as a memfd. It was empty at first. */
int tern_region_open_file(int descriptor, uint32_t members, uint32_t me, uint64_t span, uint32_t options,
                          tern_region_space **space);
/* Leaves the space, after its regions' last use. -EBUSY while asynchronous copies were not released. */
int tern_region_close(tern_region_space *space);
/* Removes a name that killed processes have left. Members that have joined stay together. */
int tern_region_remove(const char *name);

/* Memory that other members can map; NULL without. */
void *tern_region_allocate(tern_region_space *space, size_t len);
/* Frees it. No region lies in it any more. */
int tern_region_free(tern_region_space *space, void *memory);

/* Declares memory: the bytes of the segments in order. It stays until the region is destroyed, or has had its single use. */
int tern_region_create(tern_region_space *space, const struct iovec *segments, size_t count, uint32_t protection,
                       uint32_t flags, tern_region_cookie *cookie);
/* Ends a region of this process, after copies under way. Then nobody touches the memory. */
int tern_region_destroy(tern_region_space *space, tern_region_cookie cookie);

/* Copies between regions of any members. */
int tern_region_copy(tern_region_space *space, tern_region_spot from, tern_region_spot to, uint64_t len);
/* Copies between memory of this process, which needs no declaration, and a region. */
int tern_region_inline_copy(tern_region_space *space, const struct iovec *local, size_t count, tern_region_spot spot,
                            uint64_t len, uint32_t direction);

/* The same without waiting. All memory stays until the copy is over. */
int tern_region_start_copy(tern_region_space *space, tern_region_spot from, tern_region_spot to, uint64_t len,
                           uint32_t by, tern_region_status **status);
int tern_region_start_inline_copy(tern_region_space *space, const struct iovec *local, size_t count,
                                  tern_region_spot spot, uint64_t len, uint32_t direction, uint32_t by,
                                  tern_region_status **status);
/* -EINPROGRESS while the copy is under way, then its result. Goes on with it, and answers peers. Never waits. */
int tern_region_poll(tern_region_status *status);
/* Waits for the result. */
int tern_region_wait(tern_region_status *status);
/* Forgets a copy; one under way is given up, and moves nothing after this. */
void tern_region_release(tern_region_status *status);

/* Goes on with asynchronous copies, and answers peers: 1 when there was something to do, 0, or an error. Never waits. */
int tern_region_progress(tern_region_space *space);
/* 1 while the member lives, 0 when it does not or has not joined. */
int tern_region_is_alive(tern_region_space *space, uint32_t member);
/* How a way stands between this process and a member. */
int tern_region_standing(tern_region_space *space, uint32_t member, uint32_t way);

/* What an error means, in English. The text stays. */
const char *tern_region_text(int error);

#ifdef __cplusplus
}
#endif

#endif
