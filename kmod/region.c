// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The life of a region: created, found by its cookie, used, retired, freed. */
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "tern.h"

/* Published regions of all processes, by slot. */
static DEFINE_XARRAY_ALLOC1(published);

/* Attempts to pin memory that is being unmapped or moved at the same time. */
#define ATTEMPTS 16

int tern_region_init(void)
{
	tern_workqueue = alloc_workqueue("tern", WQ_UNBOUND, 0);
	return tern_workqueue ? 0 : -ENOMEM;
}

void tern_region_exit(void)
{
	/* Waits for what is queued. */
	destroy_workqueue(tern_workqueue);
	xa_destroy(&published);
}

static void release(struct kref *refs)
{
	struct tern_region *region = container_of(refs, struct tern_region, refs);

	kvfree(region->pieces);
	atomic_dec(&region->context->region_count);
	tern_context_put(region->context);
	atomic_long_dec(&tern_counts.regions);
	kfree_rcu(region, rcu);
}

void tern_region_get(struct tern_region *region)
{
	kref_get(&region->refs);
}

void tern_region_put(struct tern_region *region)
{
	kref_put(&region->refs, release);
}

/* Ends one use. The last one frees the pages. */
void tern_leave(struct tern_region *region)
{
	if (!refcount_dec_and_test(&region->users))
		return;
	tern_unpin(region);
	complete_all(&region->released);
	tern_region_put(region);
}

/* False when copies are to stop. */
bool tern_is_alive(const struct tern_region *region)
{
	return READ_ONCE(region->alive) && !READ_ONCE(region->stale);
}

static bool may_use(const struct tern_context *context, const struct tern_region *region)
{
	const struct tern_context *owner = region->context;

	return uid_eq(context->uid, owner->uid) || ((region->flags & TERN_GROUP) && gid_eq(context->gid, owner->gid));
}

/*
 * The region of a cookie, with one user more: ENOENT when there is none, and also when it is another user's, so that
 * nothing is learnt about those.
 */
struct tern_region *tern_find(struct tern_context *context, u64 cookie)
{
	struct tern_region *region;

	rcu_read_lock();
	region = xa_load(&published, cookie & TERN_SLOT_MASK);
	if (region && (region->cookie != cookie || !may_use(context, region) || !tern_is_alive(region) ||
		       !refcount_inc_not_zero(&region->users)))
		region = NULL;
	rcu_read_unlock();
	return region ? region : ERR_PTR(-ENOENT);
}

/* Whether a range of a region may be used in this way. */
int tern_enter(struct tern_region *region, u64 offset, u64 len, u32 protection)
{
	if (protection & ~region->protection)
		return -EACCES;
	if (offset > region->len || len > region->len - offset)
		return -ERANGE;
	return 0;
}

/* Takes the single use, if it is one. */
int tern_claim(struct tern_region *region)
{
	if ((region->flags & TERN_SINGLE_USE) && atomic_cmpxchg(&region->claimed, 0, 1))
		return -ENOENT;
	return 0;
}

void tern_unclaim(struct tern_region *region)
{
	if (region->flags & TERN_SINGLE_USE)
		atomic_set(&region->claimed, 0);
}

/* Ends the publication, once. The caller has a reference. */
void tern_retire(struct tern_region *region)
{
	struct tern_context *context = region->context;

	if (test_and_set_bit(0, &region->retired))
		return;
	/* Before the slot is free: the process may give it to another region at once, whose word is not to change then. */
	tern_bump(context, region->word);
	xa_erase(&published, region->cookie & TERN_SLOT_MASK);
	spin_lock(&context->lock);
	list_del_init(&region->link);
	spin_unlock(&context->lock);
	/* Under the lock, so that no page is mapped after the zap. */
	mutex_lock(&region->lock);
	WRITE_ONCE(region->alive, false);
	mutex_unlock(&region->lock);
	tern_unwatch(region);
	tern_zap(region);
	tern_leave(region);
}

static void retire_work(struct work_struct *work)
{
	struct tern_region *region = container_of(work, struct tern_region, retire_work);

	tern_retire(region);
	tern_region_put(region);
}

/* As tern_retire, from where one cannot sleep. */
void tern_retire_later(struct tern_region *region)
{
	tern_region_get(region);
	if (!queue_work(tern_workqueue, &region->retire_work))
		tern_region_put(region);
}

/* Pins the pages with the notifier at work, so that no unmapping goes unseen. */
static int pin_watched(struct tern_region *region)
{
	unsigned long sequence;
	int attempt, error;

	error = tern_watch(region);
	for (attempt = 0; !error && attempt < ATTEMPTS; attempt++) {
		sequence = mmu_interval_read_begin(&region->notifier);
		spin_lock(&region->state_lock);
		region->stale = false;
		spin_unlock(&region->state_lock);
		error = tern_pin(region);
		if (error)
			break;
		/* Pinning itself breaks the sharing of pages, which the notifier sees. */
		if (!mmu_interval_read_retry(&region->notifier, sequence) && !READ_ONCE(region->stale))
			return 0;
		tern_unpin(region);
		if (fatal_signal_pending(current))
			error = -EINTR;
	}
	return error ? error : -EAGAIN;
}

static void publish(struct tern_region *region, struct tern_create *arg, u32 slot)
{
	struct tern_context *context = region->context;
	bool stale;

	region->cookie = (get_random_u64() & ~(u64)TERN_SLOT_MASK) | slot;
	arg->cookie = region->cookie;
	arg->word = region->word;
	/* The region is not our own any more once it is published. */
	tern_region_get(region);
	spin_lock(&context->lock);
	list_add_tail(&region->link, &context->regions);
	spin_unlock(&context->lock);
	xa_store(&published, slot, region, GFP_KERNEL);
	spin_lock(&region->state_lock);
	region->published = true;
	stale = region->stale;
	spin_unlock(&region->state_lock);
	if (stale)
		tern_retire(region);
	tern_region_put(region);
}

int tern_create(struct tern_context *context, struct tern_create *arg)
{
	struct tern_region *region;
	u32 slot;
	int error;

	if (arg->reserved || !arg->protection || (arg->protection & ~(TERN_READ | TERN_WRITE)) ||
	    (arg->flags & ~(TERN_SINGLE_USE | TERN_GROUP)))
		return -EINVAL;
	if ((arg->flags & TERN_GROUP) && !tern_allow_group)
		return -EPERM;
	region = tern_region_new(context, arg->segments, arg->count, arg->protection);
	if (IS_ERR(region))
		return PTR_ERR(region);
	region->flags = arg->flags;
	INIT_WORK(&region->retire_work, retire_work);
	/* The slot stays empty until the region is whole. */
	error = xa_alloc(&published, &slot, NULL, XA_LIMIT(1, TERN_SLOT_MASK), GFP_KERNEL_ACCOUNT);
	if (error) {
		tern_leave(region);
		return error == -EBUSY ? -EMFILE : error;
	}
	region->word = slot % TERN_WORDS;
	/* Before the pages are pinned: what is unmapped after that changes the word. */
	arg->generation = READ_ONCE(context->words[region->word]);
	error = pin_watched(region);
	if (error) {
		tern_unwatch(region);
		xa_erase(&published, slot);
		tern_leave(region);
		return error;
	}
	publish(region, arg, slot);
	return 0;
}

/* Afterwards nobody touches the memory by this region. EINTR: killed before others had ended. */
int tern_destroy(struct tern_context *context, u64 cookie)
{
	struct tern_region *region = tern_find(context, cookie);
	int error = 0;

	if (IS_ERR(region))
		return PTR_ERR(region);
	tern_region_get(region);
	tern_leave(region);
	if (region->context != context) {
		error = -EPERM;
	} else {
		tern_retire(region);
		if (wait_for_completion_killable(&region->released))
			error = -EINTR;
	}
	tern_region_put(region);
	return error;
}
