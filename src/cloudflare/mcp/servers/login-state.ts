import * as v from 'valibot';
import type { Entry } from '../../objects/directory/registry.ts';

/** What is stored in the open of a login: the server that it is for, and whether there are tokens. */
export const loginHead = v.object({ url: v.string(), isLoggedIn: v.boolean() });

/** Whether an owner is logged in to a server. A login for another address under the same name does not count. */
export function isLoggedIn(entry: Pick<Entry, 'definition'> | undefined, { url }: { readonly url: string }): boolean {
	if (entry === undefined) return false;
	const head = v.parse(loginHead, JSON.parse(entry.definition));
	return head.url === url && head.isLoggedIn;
}
