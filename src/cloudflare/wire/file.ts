import * as v from 'valibot';
import { count, cursor, nextCursor } from './page.ts';

const path = v.pipe(v.string(), v.description('Relative to the workspace, with / between names.'));

/** A file of a session's workspace. */
export const file = v.object({
	path,
	size: v.pipe(v.number(), v.description('Bytes.')),
	mime: v.pipe(v.string(), v.description('The media type by its name and its bytes.')),
	modifiedAt: v.string(),
});

export const filePage = v.object({ files: v.array(file), cursor: nextCursor });

/** The path of a file is the cursor of the files behind it. */
export const fileQuery = v.object({
	cursor: v.optional(v.pipe(v.string(), v.maxLength(1_024))),
	limit: v.optional(count(1_000), '100'),
});

/** A change of a file. */
const fileChange = v.object({
	id: v.string(),
	path,
	kind: v.picklist(['created', 'changed', 'deleted', 'moved']),
	from: v.optional(v.pipe(v.string(), v.description('Where a file that moved was before.'))),
	callId: v.optional(v.pipe(v.string(), v.description('The call that did it. Missing for what people did.'))),
	at: v.string(),
	diff: v.optional(
		v.pipe(v.string(), v.description('As `git diff` writes it. Missing for what is no text, and for long texts.')),
	),
});

export const fileChangePage = v.object({ changes: v.array(fileChange), cursor: nextCursor });

export const fileChangeQuery = v.object({
	cursor: v.optional(cursor(/^\d{1,15}\.\d{1,6}$/)),
	limit: v.optional(count(200), '100'),
});
