/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the parts of the module know of each other. */
#ifndef TERN_H
#define TERN_H

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "include/uapi/tern_ioctl.h"

/* Bytes between two looks at signals and at whether a region is still there. */
#define TERN_CHUNK (64UL << 10)

/* A cookie is the number of a slot and random bits above it. */
#define TERN_SLOT_BITS 20
#define TERN_SLOT_MASK ((1UL << TERN_SLOT_BITS) - 1)

/* One open of the device. */
struct tern_context {
	struct kref refs;
	/* Of the process that has opened the device; no other one may use the descriptor. */
	struct mm_struct *mm;
	kuid_t uid;
	kgid_t gid;
	spinlock_t lock; /* regions */
	struct list_head regions;
	atomic_t region_count;
	u32 *words; /* TERN_WORDS, mapped by the process */
	struct xarray attachments; /* between the ioctl and its mmap */
	atomic_t jobs;
	bool closing;
};

/* A part of a region in one piece of its owner's addresses. */
struct tern_piece {
	u64 address;
	u64 len;
	u64 start; /* first byte, counted from the start of the region */
	unsigned long page; /* first page, as index of the region's pages */
};

/*
 * Declared memory, with its pages pinned. Two counts: `refs` keeps the structure, `users` keeps the pages. The
 * structure is found under RCU, and used when `users` was not 0.
 *
 * A region of a cookie is published, and retired once. Local memory of an asynchronous copy is a region too, which is
 * never published and has no notifier.
 */
struct tern_region {
	struct kref refs;
	refcount_t users;
	struct rcu_head rcu;
	struct tern_context *context;
	struct list_head link; /* in the context */
	u64 cookie;
	u32 protection;
	u32 flags;
	u32 word;
	u64 len;
	u32 count;
	struct tern_piece *pieces;
	unsigned long page_count;
	unsigned long pinned; /* of them pinned */
	struct page **pages;
	atomic_t claimed; /* the single use */
	struct completion released; /* the pages are unpinned */
	struct mutex lock; /* `alive`, against pages that are being mapped */
	bool alive;
	unsigned long retired; /* bit 0 */
	spinlock_t state_lock; /* the next two */
	bool stale; /* the owner has unmapped something of it */
	bool published;
	bool has_notifier;
	u64 low, high; /* addresses that the notifier watches */
	struct mmu_interval_notifier notifier;
	struct work_struct retire_work;
};

/* A place in a region. */
struct tern_cursor {
	struct tern_region *region;
	u64 at;
	u32 piece;
};

/* Pages of a region that a process may map. */
struct tern_attachment {
	struct kref refs;
	struct tern_region *region;
	unsigned long first; /* page */
	unsigned long count;
	u32 protection;
};

/* Live things of the whole machine: leaks show here. */
struct tern_counts {
	atomic_long_t contexts;
	atomic_long_t regions;
	atomic_long_t pinned_pages;
	atomic_long_t jobs;
	atomic_long_t attachments;
	atomic_long_t dma_bytes; /* copied by DMA engines since the module was loaded */
};

extern struct tern_counts tern_counts;
extern struct workqueue_struct *tern_workqueue;
extern unsigned int tern_max_contexts, tern_max_regions, tern_max_segments, tern_max_jobs;
extern bool tern_allow_group, tern_use_dma;

/* context.c */
struct tern_context *tern_context_new(void);
void tern_context_get(struct tern_context *context);
void tern_context_put(struct tern_context *context);
void tern_context_close(struct tern_context *context);
void tern_bump(struct tern_context *context, u32 word);

/* pages.c */
struct tern_region *tern_region_new(struct tern_context *context, u64 segments, u32 count, u32 protection);
int tern_pin(struct tern_region *region);
void tern_unpin(struct tern_region *region);
int tern_account(struct mm_struct *mm, unsigned long pages);
void tern_unaccount(struct mm_struct *mm, unsigned long pages);
int tern_segment(u64 segments, u32 index, struct tern_segment *segment);

/* region.c */
int tern_region_init(void);
void tern_region_exit(void);
int tern_create(struct tern_context *context, struct tern_create *arg);
int tern_destroy(struct tern_context *context, u64 cookie);
void tern_retire(struct tern_region *region);
void tern_retire_later(struct tern_region *region);
struct tern_region *tern_find(struct tern_context *context, u64 cookie);
int tern_enter(struct tern_region *region, u64 offset, u64 len, u32 protection);
int tern_claim(struct tern_region *region);
void tern_unclaim(struct tern_region *region);
void tern_leave(struct tern_region *region);
void tern_region_get(struct tern_region *region);
void tern_region_put(struct tern_region *region);
bool tern_is_alive(const struct tern_region *region);

/* notifier.c */
int tern_watch(struct tern_region *region);
void tern_unwatch(struct tern_region *region);

/* copy.c */
void tern_cursor_set(struct tern_cursor *cursor, struct tern_region *region, u64 offset);
size_t tern_cursor_page(const struct tern_cursor *cursor, struct page **page, size_t *at);
void tern_cursor_advance(struct tern_cursor *cursor, u64 len);
int tern_copy_pages(struct tern_cursor *from, struct tern_cursor *to, u64 len, const bool *stop, u64 *moved);
int tern_inline(struct tern_context *context, struct tern_inline *arg);
int tern_copy(struct tern_context *context, struct tern_copy *arg);

/* async.c */
int tern_start(struct tern_context *context, struct tern_region *from, u64 from_offset, struct tern_region *to,
	       u64 to_offset, u64 len, u32 flags, u64 status);

/* dma.c */
bool tern_dma_is_there(void);
void tern_dma_init(void);
void tern_dma_exit(void);
int tern_dma_copy(struct tern_cursor *from, struct tern_cursor *to, u64 len, const bool *stop, u64 *moved);

/* attach.c */
int tern_attach_init(void);
void tern_attach_exit(void);
struct address_space *tern_mapping(void);
int tern_attach(struct tern_context *context, struct file *file, struct tern_attach *arg);
int tern_mmap(struct file *file, struct vm_area_struct *vma);
void tern_zap(struct tern_region *region);

#endif
