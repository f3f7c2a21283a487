import { RunletError } from './errors.ts';

/** Waits for a promise. Throws `timeout` after `ms` milliseconds; a later result is dropped. */
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
