import { toHex } from '../../../core/base/bytes.ts';

/** Hashes a tool and arguments, so that nobody can find others of the same hash. */
export async function hashCall(tool: string, input: unknown): Promise<string> {
	const bytes = new TextEncoder().encode(JSON.stringify([tool, input]));
	return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
