import { RunletError } from '../ground/errors.ts';
import type { Replacement } from './plan.ts';

/** How much a workspace may hold. */
export interface Quota {
	readonly files: number;
	readonly bytes: number;
	/** Bytes of one file. */
	readonly fileBytes: number;
}

/** How much it holds. */
export type Usage = Pick<Quota, 'files' | 'bytes'>;

/** The quota where nothing else is said. */
export const usualQuota: Quota = { files: 20_000, bytes: 268_435_456, fileBytes: 33_554_432 };

/** Returns the usage after a change. Throws `too_large`, which says what is full, if it would be over the quota. */
export function addUsage({ files, bytes }: Usage, replaced: readonly Replacement<unknown>[], quota: Quota): Usage {
	let after = { files, bytes };
	for (const { path, before, after: file } of replaced) {
		after = {
			files: after.files + (file === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
			bytes: after.bytes + (file?.size ?? 0) - (before?.size ?? 0),
		};
		if (file !== undefined && file.size > quota.fileBytes)
			throw createFull(`${path} has ${file.size} bytes, and a file at most ${quota.fileBytes}. Make it smaller.`);
	}
	// A change that makes it smaller is never refused.
	if (after.files > quota.files && after.files > files)
		throw createFull(`the workspace holds at most ${quota.files} files. Delete some first.`);
	if (after.bytes > quota.bytes && after.bytes > bytes)
		throw createFull(`the workspace holds at most ${quota.bytes} bytes. Delete some files first.`);
	return after;
}

function createFull(what: string): RunletError {
	return new RunletError('too_large', `workspace: ${what}`, { field: 'workspace' });
}
