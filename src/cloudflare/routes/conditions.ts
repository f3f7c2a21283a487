import type { Context } from 'hono';
import { RunletError } from '../../core/ground/errors.ts';
import type { Condition } from '../objects/publisher/api.ts';

const tag = /^\s*(W\/)?"([\x21\x23-\x7e]*)"\s*$/;

/** Returns the condition of `If-Match` and `If-None-Match` for a change (RFC 9110, 13.1). */
export function readCondition(c: Context): Condition {
	const match = c.req.header('if-match');
	const noneMatch = c.req.header('if-none-match');
	if (noneMatch !== undefined && noneMatch.trim() !== '*') {
		throw new RunletError('invalid_request', 'If-None-Match: only * is possible where something is changed.', {
			field: 'If-None-Match',
		});
	}
	return {
		...(match !== undefined && { ifMatch: match.trim() === '*' ? '*' : strongTags(match) }),
		...(noneMatch !== undefined && { ifNoneMatch: true }),
	};
}

/** Whether the client already has the version with this entity tag. */
export function isFresh(c: Context, etag: string): boolean {
	const header = c.req.header('if-none-match');
	if (header === undefined) return false;
	return header.split(',').some((entry) => entry.trim() === '*' || tag.exec(entry)?.[2] === etag);
}

function strongTags(header: string): string[] {
	return header.split(',').flatMap((entry) => {
		const parsed = tag.exec(entry);
		if (parsed === null) {
			const message = 'If-Match: expected entity tags in quotes, as ETag has them, or *.';
			throw new RunletError('invalid_request', message, { field: 'If-Match' });
		}
		return parsed[1] === undefined ? [parsed[2] ?? ''] : [];
	});
}
