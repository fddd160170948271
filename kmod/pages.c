// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The pages of a region: found from its segments, counted against the limit of the process, pinned. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "tern.h"

/* Pages that are pinned before the next look at signals. */
#define PIN_STEP 1024

/* Reads one segment of a list of the caller's. */
int tern_segment(u64 segments, u32 index, struct tern_segment *segment)
{
	const struct tern_segment __user *list = u64_to_user_ptr(segments);

	return copy_from_user(segment, list + index, sizeof(*segment)) ? -EFAULT : 0;
}

/* Pages are counted once for each region that has them. */
int tern_account(struct mm_struct *mm, unsigned long pages)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if ((u64)atomic64_add_return(pages, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	atomic_long_add(pages, &tern_counts.pinned_pages);
	return 0;
}

void tern_unaccount(struct mm_struct *mm, unsigned long pages)
{
	atomic64_sub(pages, &mm->pinned_vm);
	atomic_long_sub(pages, &tern_counts.pinned_pages);
}

static int add_piece(struct tern_region *region, const struct tern_segment *segment)
{
	struct tern_piece *piece = &region->pieces[region->count];
	u64 address = untagged_addr((unsigned long)segment->address);
	u64 end, pages;

	if (!segment->len)
		return 0;
	if (segment->address != (unsigned long)segment->address)
		return -EFAULT;
	if (check_add_overflow(address, segment->len, &end) || end > TASK_SIZE)
		return -EFAULT;
	if (check_add_overflow(region->len, segment->len, &end))
		return -EOVERFLOW;
	pages = ((address + segment->len - 1) >> PAGE_SHIFT) - (address >> PAGE_SHIFT) + 1;
	if (pages > INT_MAX / sizeof(struct page *) - region->page_count)
		return -EOVERFLOW;

	piece->address = address;
	piece->len = segment->len;
	piece->start = region->len;
	piece->page = region->page_count;
	region->low = region->count ? min(region->low, address) : address;
	region->high = max(region->high, address + segment->len);
	region->len += segment->len;
	region->page_count += pages;
	region->count++;
	return 0;
}

/* A region of `count` segments of the caller's, not pinned yet, with one user. tern_leave ends it. */
struct tern_region *tern_region_new(struct tern_context *context, u64 segments, u32 count, u32 protection)
{
	struct tern_region *region;
	struct tern_segment segment;
	int error = 0;
	u32 i;

	if (!count || count > tern_max_segments)
		return ERR_PTR(-EINVAL);
	if (atomic_inc_return(&context->region_count) > tern_max_regions) {
		atomic_dec(&context->region_count);
		return ERR_PTR(-EMFILE);
	}
	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region) {
		atomic_dec(&context->region_count);
		return ERR_PTR(-ENOMEM);
	}
	atomic_long_inc(&tern_counts.regions);
	kref_init(&region->refs);
	refcount_set(&region->users, 1);
	tern_context_get(context);
	region->context = context;
	INIT_LIST_HEAD(&region->link);
	region->protection = protection;
	init_completion(&region->released);
	mutex_init(&region->lock);
	spin_lock_init(&region->state_lock);
	region->alive = true;

	region->pieces = kvmalloc_array(count, sizeof(*region->pieces), GFP_KERNEL_ACCOUNT);
	if (!region->pieces)
		error = -ENOMEM;
	for (i = 0; i < count && !error; i++) {
		error = tern_segment(segments, i, &segment);
		if (!error)
			error = add_piece(region, &segment);
	}
	if (!error && !region->len)
		error = -EINVAL;
	if (error) {
		tern_leave(region);
		return ERR_PTR(error);
	}
	return region;
}

static int pin_piece(struct tern_region *region, const struct tern_piece *piece, unsigned int flags)
{
	unsigned long start = piece->address & PAGE_MASK;
	unsigned long pages = ((piece->address + piece->len - 1) >> PAGE_SHIFT) - (piece->address >> PAGE_SHIFT) + 1;
	unsigned long done = 0;
	int got;

	while (done < pages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast(start + (done << PAGE_SHIFT), min(pages - done, (unsigned long)PIN_STEP), flags,
					  region->pages + piece->page + done);
		/* Memory that is shared and cannot be written has no copies that a write could go to. */
		if (got == -EFAULT && (flags & FOLL_FORCE)) {
			flags &= ~(FOLL_FORCE | FOLL_WRITE);
			continue;
		}
		if (got <= 0)
			return got ? got : -EFAULT;
		done += got;
		region->pinned += got;
		cond_resched();
	}
	return 0;
}

/* Pins all pages of a region of the calling process. After an error none of them are pinned or counted. */
int tern_pin(struct tern_region *region)
{
	unsigned int flags = region->protection & TERN_WRITE ? FOLL_WRITE | FOLL_LONGTERM : TERN_PIN_FOR_READING;
	int error = tern_account(region->context->mm, region->page_count);
	u32 i;

	if (error)
		return error;
	region->pages = kvmalloc_array(region->page_count, sizeof(*region->pages), GFP_KERNEL_ACCOUNT);
	if (!region->pages) {
		tern_unaccount(region->context->mm, region->page_count);
		return -ENOMEM;
	}
	for (i = 0; i < region->count && !error; i++)
		error = pin_piece(region, &region->pieces[i], flags);
	if (error)
		tern_unpin(region);
	return error;
}

void tern_unpin(struct tern_region *region)
{
	if (!region->pages)
		return;
	unpin_user_pages_dirty_lock(region->pages, region->pinned, region->protection & TERN_WRITE);
	kvfree(region->pages);
	region->pages = NULL;
	region->pinned = 0;
	tern_unaccount(region->context->mm, region->page_count);
}
