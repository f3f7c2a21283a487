import { type Client, createClient } from './client.ts';
import { type OutsideOptions, startOutside } from './outside.ts';
import { createRandom, createSeed, type Random } from './random.ts';
import { type Server, startServer } from './server.ts';

/** The options of a programme. Each programme has its own defaults, for the long form. */
export interface Options {
	/** The seed of all random choices. It is printed, so that a programme can be repeated. */
	readonly seed?: number;
	/** The number of the programme's items, or the megabytes of its session. */
	readonly count?: number;
	/** How often the server is killed. */
	readonly kills?: number;
	/** Characters of a long reply. */
	readonly size?: number;
}

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
	/** The limit of the server's heap. */
	readonly heapMegabytes?: number;
	/** How often the client repeats a request after a 5xx. */
	readonly retries?: number;
}

/** Calls `work` with a new server, client and outside, and removes them. */
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
