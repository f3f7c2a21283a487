import type { Context } from 'hono';

/** Whose request it is: the name of the owner's ledger and directory. Without API keys it is this machine's. */
export function ownerOf(_: Context): string {
	return 'local';
}
