// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Copies that the caller does not wait for: a kernel thread does them, or watches a DMA engine do them. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "tern.h"

struct job {
	struct work_struct work;
	struct tern_context *context;
	struct tern_region *from, *to;
	u64 from_offset, to_offset, len;
	u32 flags;
	/* The caller's word. Its page is pinned and counted. */
	struct page *page;
	size_t at;
};

static void set_status(struct job *job, s32 status)
{
	void *map = kmap_local_page(job->page);

	/* Pairs with the acquire of the caller: the bytes are there before the word tells so. */
	smp_store_release((s32 *)(map + job->at), status);
	flush_dcache_page(job->page);
	kunmap_local(map);
}

/* All that a job has, after its word is written. */
static void end(struct job *job)
{
	struct tern_context *context = job->context;

	if (job->page) {
		unpin_user_pages_dirty_lock(&job->page, 1, true);
		tern_unaccount(context->mm, 1);
	}
	atomic_dec(&context->jobs);
	atomic_long_dec(&tern_counts.jobs);
	kfree(job);
	tern_context_put(context);
}

/* Ends the use of both regions; the single ones end with it. */
static void leave_both(struct tern_region *from, struct tern_region *to, bool used)
{
	if (used && (from->flags & TERN_SINGLE_USE))
		tern_retire(from);
	if (used && (to->flags & TERN_SINGLE_USE))
		tern_retire(to);
	tern_leave(from);
	tern_leave(to);
}

static void run(struct work_struct *work)
{
	struct job *job = container_of(work, struct job, work);
	const bool *stop = &job->context->closing;
	struct tern_cursor from, to;
	u64 moved = 0;
	int error = -EOPNOTSUPP;

	tern_cursor_set(&from, job->from, job->from_offset);
	tern_cursor_set(&to, job->to, job->to_offset);
	if (job->flags & TERN_ASYNC_DMA)
		error = tern_dma_copy(&from, &to, job->len, stop, &moved);
	/* What no engine could do is done here. */
	if (error == -EOPNOTSUPP)
		error = tern_copy_pages(&from, &to, job->len - moved, stop, &moved);
	/* Whoever reads the word may destroy or reuse all of it. */
	leave_both(job->from, job->to, true);
	set_status(job, error ? error : TERN_DONE);
	end(job);
}

static int pin_status(struct job *job, u64 status)
{
	int got, error = tern_account(job->context->mm, 1);

	if (error)
		return error;
	got = pin_user_pages_fast(status & PAGE_MASK, 1, FOLL_WRITE | FOLL_LONGTERM, &job->page);
	if (got != 1) {
		job->page = NULL;
		tern_unaccount(job->context->mm, 1);
		return got < 0 ? got : -EFAULT;
	}
	job->at = offset_in_page(status);
	return 0;
}

/* Starts a copy whose ranges were checked. The use of both regions ends with it, after an error too. */
int tern_start(struct tern_context *context, struct tern_region *from, u64 from_offset, struct tern_region *to,
	       u64 to_offset, u64 len, u32 flags, u64 status)
{
	struct job *job = NULL;
	int error = -EAGAIN;

	if (atomic_inc_return(&context->jobs) <= tern_max_jobs) {
		error = -ENOMEM;
		job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	}
	if (!job) {
		atomic_dec(&context->jobs);
		goto failed;
	}
	atomic_long_inc(&tern_counts.jobs);
	tern_context_get(context);
	job->context = context;
	job->from = from;
	job->to = to;
	job->from_offset = from_offset;
	job->to_offset = to_offset;
	job->len = len;
	job->flags = flags;
	INIT_WORK(&job->work, run);
	error = pin_status(job, status);
	if (error) {
		end(job);
		goto failed;
	}
	set_status(job, TERN_RUNNING);
	queue_work(tern_workqueue, &job->work);
	return 0;

failed:
	tern_unclaim(from);
	tern_unclaim(to);
	leave_both(from, to, false);
	return error;
}
