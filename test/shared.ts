/** What is made once for all test files (`test/share.ts`). */

/** The environment variable with the address of who makes it. Without it nothing is shared: `npm run endurance`. */
export const addressVariable = 'RUNLET_TEST_SHARE';

/** Returns what is made once, or `undefined` where nothing is shared. */
export async function findShared(path: string): Promise<unknown> {
	const address = process.env[addressVariable];
	if (address === undefined) return undefined;
	const response = await fetch(`${address}${path}`);
	const text = await response.text();
	if (!response.ok) throw new Error(`${path} could not be made: ${text}`);
	return JSON.parse(text);
}
