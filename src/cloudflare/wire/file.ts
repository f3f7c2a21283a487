import * as v from 'valibot';
import { described } from './field.ts';
import { count, cursor, nextCursor } from './page.ts';

const path = described(v.string(), 'Relative to the workspace, with / between names.');

export const file = v.object({
	path,
	size: described(v.number(), 'Bytes.'),
	mime: described(v.string(), 'The media type by its name and its bytes.'),
	modifiedAt: v.string(),
});

export const filePage = v.object({ files: v.array(file), cursor: nextCursor });

/** The query of a page. The page begins after the path that the cursor names. */
export const fileQuery = v.object({
	cursor: v.optional(v.pipe(v.string(), v.maxLength(1_024))),
	limit: v.optional(count(1_000), '100'),
});

const fileChange = v.object({
	id: v.string(),
	path,
	kind: v.picklist(['created', 'changed', 'deleted', 'moved']),
	from: v.optional(described(v.string(), 'Where a file that moved was before.')),
	callId: v.optional(described(v.string(), 'The call that did it. Missing for what people did.')),
	at: v.string(),
	diff: v.optional(described(v.string(), 'As `git diff` writes it. Missing for what is no text, and for long texts.')),
});

export const fileChangePage = v.object({ changes: v.array(fileChange), cursor: nextCursor });

export const fileChangeQuery = v.object({
	cursor: v.optional(cursor(/^\d{1,15}\.\d{1,6}$/)),
	limit: v.optional(count(200), '100'),
});
