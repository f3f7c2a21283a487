import * as v from 'valibot';
import { searchKey, searchSchema } from './kv-index.ts';

/** Entries with their whole descriptions, which stand beside the index where it had to cut them. */
export async function withDescriptions<E extends { readonly name: string; readonly description: string }>(
	kv: { get(key: string, type: 'json'): Promise<unknown> },
	prefix: string,
	entries: readonly E[],
	search: string | undefined,
): Promise<E[]> {
	if (search === undefined || !entries.some(({ description }) => description.endsWith('…'))) return [...entries];
	const document = v.safeParse(searchSchema, await kv.get(searchKey(prefix, search), 'json'));
	const whole = new Map(Object.entries((document.success && document.output.descriptions) || {}));
	return entries.map((entry) => ({ ...entry, description: whole.get(entry.name) ?? entry.description }));
}
