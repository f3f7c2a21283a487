import { type Client, createClient } from './client.ts';
import { type OutsideOptions, startOutside } from './outside.ts';
import { createRandom, createSeed, type Random } from './random.ts';
import { type Server, startServer } from './server.ts';

/** What a programme may be told; each has its own long defaults. */
export interface Options {
	/** Chooses the moments; printed, so that a run can be had again. */
	readonly seed?: number;
	/** How many of what the programme counts. */
	readonly count?: number;
	/** How often the server is killed meanwhile. */
	readonly kills?: number;
	/** Characters of a long reply. */
	readonly size?: number;
}

/** What a programme measured. */
export type Figures = Readonly<Record<string, number | string>>;

export interface Stage {
	readonly outside: Awaited<ReturnType<typeof startOutside>>;
	readonly server: Server;
	readonly client: Client;
	readonly random: Random;
	readonly seed: number;
}

export interface StageOptions extends OutsideOptions {
	readonly seed?: number;
	/** Further variables of the Worker. */
	readonly variables?: Readonly<Record<string, string>>;
	/** The most that the server's heap may hold. */
	readonly heapMegabytes?: number;
	/** Of the client, of a request that was answered with a 5xx. */
	readonly retries?: number;
}

/** Does its work with a server, a client and everything outside, all new, and clears away. */
export async function onStage<T>(
	{ seed = createSeed(), variables = {}, heapMegabytes, retries, ...options }: StageOptions,
	work: (stage: Stage) => Promise<T>,
): Promise<T> {
	const outside = await startOutside(options);
	try {
		const server = await startServer({ OUTSIDE: outside.url, ...variables }, heapMegabytes);
		try {
			return await work({ outside, server, client: createClient(server, retries), random: createRandom(seed), seed });
		} catch (cause) {
			throw new Error(`${cause instanceof Error ? cause.message : cause} (seed ${seed})`, { cause });
		} finally {
			await server.close();
		}
	} finally {
		await outside.close();
	}
}
