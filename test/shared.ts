/**
 * The environment variable with the address of the server (`test/share.ts`). Without it nothing is shared, as in `npm run
 * endurance`.
 */
export const addressVariable = 'RUNLET_TEST_SHARE';

/** Returns the shared result of a path, or `undefined` if nothing is shared. */
export async function findShared(path: string): Promise<unknown> {
	const address = process.env[addressVariable];
	if (address === undefined) return undefined;
	const response = await fetch(`${address}${path}`);
	const text = await response.text();
	if (!response.ok) throw new Error(`${path} could not be made: ${text}`);
	return JSON.parse(text);
}
