import { RunletError } from '../../core/errors.ts';
import type { Listed } from '../rpc/directory.ts';
import { sessionCursor } from '../wire/page.ts';

/** The place behind a session in the list, as text. */
export function createCursor({ activeAt, id }: Pick<Listed, 'activeAt' | 'id'>): string {
	return `${activeAt}.${id}`;
}

/** What a cursor says; throws `invalid_request` for a text that is none. */
export function parseCursor(text: string): Pick<Listed, 'activeAt' | 'id'> {
	const [, activeAt, id] = sessionCursor.exec(text) ?? [];
	if (activeAt === undefined || id === undefined)
		throw new RunletError('invalid_request', 'cursor: Expected a cursor that this route gave.', { field: 'cursor' });
	return { activeAt: Number(activeAt), id };
}
