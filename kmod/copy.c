// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Copies by the processor: between a region and the caller's memory, and between two regions. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "tern.h"

/* The last piece that begins at or before a byte has it. */
void tern_cursor_set(struct tern_cursor *cursor, struct tern_region *region, u64 offset)
{
	u32 low = 0, high = region->count;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (region->pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	cursor->region = region;
	cursor->at = offset;
	cursor->piece = low;
}

/* The page of the next byte, where it lies in that, and how many bytes follow there. 0 behind the end. */
size_t tern_cursor_page(const struct tern_cursor *cursor, struct page **page, size_t *at)
{
	const struct tern_piece *piece = &cursor->region->pieces[cursor->piece];
	u64 inside = cursor->at - piece->start;
	u64 address = piece->address + inside;

	*at = offset_in_page(address);
	*page = cursor->region->pages[piece->page + (address >> PAGE_SHIFT) - (piece->address >> PAGE_SHIFT)];
	return min_t(u64, piece->len - inside, PAGE_SIZE - *at);
}

/* `len` is at most what tern_cursor_page has told. */
void tern_cursor_advance(struct tern_cursor *cursor, u64 len)
{
	const struct tern_region *region = cursor->region;
	const struct tern_piece *piece = &region->pieces[cursor->piece];

	cursor->at += len;
	if (cursor->at == piece->start + piece->len && cursor->piece + 1 < region->count)
		cursor->piece++;
}

/* An error when a copy is to stop here. */
static int interruption(const struct tern_region *from, const struct tern_region *to, const bool *stop)
{
	cond_resched();
	if (fatal_signal_pending(current))
		return -EINTR;
	if (stop && READ_ONCE(*stop))
		return -ECANCELED;
	if (!tern_is_alive(from) || !tern_is_alive(to))
		return -ENOENT;
	return 0;
}

/* Copies between pinned pages; the ranges were checked. */
int tern_copy_pages(struct tern_cursor *from, struct tern_cursor *to, u64 len, const bool *stop, u64 *moved)
{
	struct page *source, *target;
	size_t source_at, target_at, part, since = TERN_CHUNK;
	void *source_map, *target_map;
	int error;

	while (len) {
		if (since >= TERN_CHUNK) {
			error = interruption(from->region, to->region, stop);
			if (error)
				return error;
			since = 0;
		}
		part = min_t(u64, len, tern_cursor_page(from, &source, &source_at));
		part = min(part, tern_cursor_page(to, &target, &target_at));
		source_map = kmap_local_page(source);
		target_map = kmap_local_page(target);
		/* The ranges of a region may overlap. */
		memmove(target_map + target_at, source_map + source_at, part);
		flush_dcache_page(target);
		kunmap_local(target_map);
		kunmap_local(source_map);
		tern_cursor_advance(from, part);
		tern_cursor_advance(to, part);
		since += part;
		len -= part;
		*moved += part;
	}
	return 0;
}

/* Copies `len` bytes between a region and one segment of the caller's. */
static int copy_segment(struct tern_cursor *cursor, u64 address, u64 len, u32 direction, u64 *moved)
{
	void __user *local = u64_to_user_ptr(address);
	size_t at, part, left, since = TERN_CHUNK;
	struct page *page;
	void *map;
	int error;

	while (len) {
		if (since >= TERN_CHUNK) {
			error = interruption(cursor->region, cursor->region, NULL);
			if (error)
				return error;
			since = 0;
		}
		part = min_t(u64, len, tern_cursor_page(cursor, &page, &at));
		map = kmap_local_page(page);
		if (direction == TERN_READ) {
			left = copy_to_user(local, map + at, part);
		} else {
			left = copy_from_user(map + at, local, part);
			flush_dcache_page(page);
		}
		kunmap_local(map);
		*moved += part - left;
		if (left)
			return -EFAULT;
		tern_cursor_advance(cursor, part);
		local += part;
		since += part;
		len -= part;
	}
	return 0;
}

/* Bytes of a list of segments of the caller's. */
static int segments_len(u64 segments, u32 count, u64 *len)
{
	struct tern_segment segment;
	int error;
	u32 i;

	*len = 0;
	for (i = 0; i < count; i++) {
		error = tern_segment(segments, i, &segment);
		if (error)
			return error;
		if (check_add_overflow(*len, segment.len, len))
			return -EOVERFLOW;
	}
	return 0;
}

static int inline_now(struct tern_region *region, struct tern_inline *arg)
{
	struct tern_segment segment;
	struct tern_cursor cursor;
	u64 rest = arg->len;
	int error = 0;
	u32 i;

	tern_cursor_set(&cursor, region, arg->offset);
	for (i = 0; i < arg->count && rest && !error; i++) {
		error = tern_segment(arg->segments, i, &segment);
		if (error)
			break;
		segment.len = min(segment.len, rest);
		error = copy_segment(&cursor, segment.address, segment.len, arg->direction, &arg->moved);
		rest -= segment.len;
	}
	return error;
}

static int inline_later(struct tern_context *context, struct tern_region *region, struct tern_inline *arg)
{
	u32 protection = arg->direction == TERN_READ ? TERN_WRITE : TERN_READ;
	struct tern_region *local = tern_region_new(context, arg->segments, arg->count, protection);
	int error = PTR_ERR_OR_ZERO(local);

	if (!error) {
		/* The list may have changed since it was summed up. */
		error = local->len < arg->len ? -ERANGE : tern_pin(local);
		if (error)
			tern_leave(local);
	}
	if (error) {
		tern_unclaim(region);
		tern_leave(region);
		return error;
	}
	if (arg->direction == TERN_READ)
		return tern_start(context, region, arg->offset, local, 0, arg->len, arg->flags, arg->status);
	return tern_start(context, local, 0, region, arg->offset, arg->len, arg->flags, arg->status);
}

static bool are_flags_right(u32 flags, u64 status)
{
	switch (flags) {
	case 0:
		return !status;
	case TERN_ASYNC_THREAD:
	case TERN_ASYNC_DMA:
		return status && IS_ALIGNED(status, sizeof(s32));
	}
	return false;
}

int tern_inline(struct tern_context *context, struct tern_inline *arg)
{
	struct tern_region *region;
	u64 room;
	int error;

	arg->moved = 0;
	if (arg->reserved || !are_flags_right(arg->flags, arg->status) || !arg->count || arg->count > tern_max_segments ||
	    (arg->direction != TERN_READ && arg->direction != TERN_WRITE))
		return -EINVAL;
	error = segments_len(arg->segments, arg->count, &room);
	if (error)
		return error;
	region = tern_find(context, arg->cookie);
	if (IS_ERR(region))
		return PTR_ERR(region);
	error = arg->len > room ? -ERANGE : tern_enter(region, arg->offset, arg->len, arg->direction);
	if (!error)
		error = tern_claim(region);
	if (error) {
		tern_leave(region);
		return error;
	}
	if (arg->flags)
		return inline_later(context, region, arg);
	error = inline_now(region, arg);
	if (region->flags & TERN_SINGLE_USE)
		tern_retire(region);
	tern_leave(region);
	return error;
}

/* Takes the single uses of both, or of none. */
static int claim_both(struct tern_region *from, struct tern_region *to)
{
	int error = tern_claim(from);

	if (!error && from != to) {
		error = tern_claim(to);
		if (error)
			tern_unclaim(from);
	}
	return error;
}

static int copy_now(struct tern_region *from, struct tern_region *to, struct tern_copy *arg)
{
	struct tern_cursor source, target;
	int error;

	tern_cursor_set(&source, from, arg->from_offset);
	tern_cursor_set(&target, to, arg->to_offset);
	error = tern_copy_pages(&source, &target, arg->len, NULL, &arg->moved);
	if (from->flags & TERN_SINGLE_USE)
		tern_retire(from);
	if (to->flags & TERN_SINGLE_USE)
		tern_retire(to);
	tern_leave(from);
	tern_leave(to);
	return error;
}

int tern_copy(struct tern_context *context, struct tern_copy *arg)
{
	struct tern_region *from, *to;
	int error;

	arg->moved = 0;
	if (arg->reserved || !are_flags_right(arg->flags, arg->status))
		return -EINVAL;
	from = tern_find(context, arg->from);
	if (IS_ERR(from))
		return PTR_ERR(from);
	to = tern_find(context, arg->to);
	if (IS_ERR(to)) {
		tern_leave(from);
		return PTR_ERR(to);
	}
	error = tern_enter(from, arg->from_offset, arg->len, TERN_READ);
	if (!error)
		error = tern_enter(to, arg->to_offset, arg->len, TERN_WRITE);
	if (!error)
		error = claim_both(from, to);
	if (error) {
		tern_leave(from);
		tern_leave(to);
		return error;
	}
	if (arg->flags)
		return tern_start(context, from, arg->from_offset, to, arg->to_offset, arg->len, arg->flags, arg->status);
	return copy_now(from, to, arg);
}
