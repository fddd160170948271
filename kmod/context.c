// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A context is one open of the device. What belongs to it ends with it. */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "tern.h"

struct tern_context *tern_context_new(void)
{
	struct tern_context *context;

	/* A kernel thread has no memory that could be declared. */
	if (!current->mm)
		return ERR_PTR(-EINVAL);
	if (atomic_long_inc_return(&tern_counts.contexts) > tern_max_contexts) {
		atomic_long_dec(&tern_counts.contexts);
		return ERR_PTR(-EMFILE);
	}
	context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);
	if (context)
		context->words = vmalloc_user(TERN_WORDS * sizeof(u32));
	if (!context || !context->words) {
		kfree(context);
		atomic_long_dec(&tern_counts.contexts);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&context->refs);
	context->mm = current->mm;
	mmgrab(context->mm);
	context->uid = current_euid();
	context->gid = current_egid();
	spin_lock_init(&context->lock);
	INIT_LIST_HEAD(&context->regions);
	xa_init_flags(&context->attachments, XA_FLAGS_ALLOC1);
	return context;
}

static void release(struct kref *refs)
{
	struct tern_context *context = container_of(refs, struct tern_context, refs);

	xa_destroy(&context->attachments);
	mmdrop(context->mm);
	vfree(context->words);
	kfree(context);
	atomic_long_dec(&tern_counts.contexts);
}

void tern_context_get(struct tern_context *context)
{
	kref_get(&context->refs);
}

void tern_context_put(struct tern_context *context)
{
	kref_put(&context->refs, release);
}

/* The descriptor is closed. Copies by others stop at their next chunk, and then the pages are free. */
void tern_context_close(struct tern_context *context)
{
	struct tern_region *region;

	/* Asynchronous copies of this process stop too. */
	WRITE_ONCE(context->closing, true);
	for (;;) {
		spin_lock(&context->lock);
		region = list_first_entry_or_null(&context->regions, struct tern_region, link);
		if (region) {
			/* Who retires it now takes it from the list again, which does no harm. */
			list_del_init(&region->link);
			tern_region_get(region);
		}
		spin_unlock(&context->lock);
		if (!region)
			break;
		tern_retire(region);
		tern_region_put(region);
	}
	tern_context_put(context);
}

/* Tells the process that a region of this word is no more. */
void tern_bump(struct tern_context *context, u32 word)
{
	/* The word is read-only for the process. Its 32 bits may wrap: the process compares for equality. */
	atomic_inc((atomic_t *)&context->words[word]);
}
