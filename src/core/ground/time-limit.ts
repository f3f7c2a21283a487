import { RunletError } from './errors.ts';

/** The promise, or a `timeout` after so many milliseconds. What comes later is dropped. */
export async function withTimeLimit<T>(work: PromiseLike<T>, ms: number, what: string): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new RunletError('timeout', `${what} did not answer within ${ms} ms.`)), ms);
	});
	try {
		return await Promise.race([work, late]);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}
