// SPDX-License-Identifier: GPL-2.0 OR MIT
/* When the owner unmaps, moves or exchanges pages of a region, the region ends. */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>

#include "tern.h"

static bool meets(const struct tern_region *region, const struct mmu_notifier_range *range)
{
	u32 i;

	for (i = 0; i < region->count; i++) {
		const struct tern_piece *piece = &region->pieces[i];

		if (piece->address < range->end && range->start < piece->address + piece->len)
			return true;
	}
	return false;
}

/* The pages are pinned, so that nothing must be waited for: who still copies has pages that nobody else gets. */
static bool invalidate(struct mmu_interval_notifier *notifier, const struct mmu_notifier_range *range,
		       unsigned long sequence)
{
	struct tern_region *region = container_of(notifier, struct tern_region, notifier);
	bool now;

	switch (range->event) {
	case MMU_NOTIFY_UNMAP:
	case MMU_NOTIFY_CLEAR:
	case MMU_NOTIFY_MIGRATE:
	case MMU_NOTIFY_EXCLUSIVE:
	case MMU_NOTIFY_RELEASE:
		break;
	default:
		/* Other rights, for mprotect, fork or the balancing of NUMA nodes: the pages stay. */
		return true;
	}
	if (range->event != MMU_NOTIFY_RELEASE && !meets(region, range))
		return true;
	spin_lock(&region->state_lock);
	mmu_interval_set_seq(notifier, sequence);
	now = region->published && !region->stale;
	WRITE_ONCE(region->stale, true);
	spin_unlock(&region->state_lock);
	if (now) {
		/* Before the memory is gone for the owner, as what it reads next must tell. */
		tern_bump(region->context, region->word);
		tern_retire_later(region);
	}
	return true;
}

static const struct mmu_interval_notifier_ops operations = {
	.invalidate = invalidate,
};

int tern_watch(struct tern_region *region)
{
	unsigned long low = region->low & PAGE_MASK;
	int error = mmu_interval_notifier_insert(&region->notifier, region->context->mm, low,
						 PAGE_ALIGN(region->high) - low, &operations);

	region->has_notifier = !error;
	return error;
}

void tern_unwatch(struct tern_region *region)
{
	if (region->has_notifier)
		mmu_interval_notifier_remove(&region->notifier);
	region->has_notifier = false;
}
