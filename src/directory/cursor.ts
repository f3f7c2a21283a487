import { RunletError } from '../errors.ts';
import type { Listed } from './api.ts';

const form = /^(\d{1,16})\.([\w-]{1,128})$/;

/** The place behind a session in the list, as text. */
export function cursorBehind({ activeAt, id }: Pick<Listed, 'activeAt' | 'id'>): string {
	return `${activeAt}.${id}`;
}

/** Whether a text has the form of a cursor. */
export function isCursor(text: string): boolean {
	return form.test(text);
}

/** What a cursor says; throws `invalid_request` for a text that is none. */
export function parseCursor(text: string): Pick<Listed, 'activeAt' | 'id'> {
	const [, activeAt, id] = form.exec(text) ?? [];
	if (activeAt === undefined || id === undefined)
		throw new RunletError('invalid_request', 'cursor: Expected a cursor that this route gave.', { field: 'cursor' });
	return { activeAt: Number(activeAt), id };
}
