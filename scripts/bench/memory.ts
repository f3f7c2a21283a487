import type { Plan } from './plan.ts';
import { readHeap, readMemory } from './process.ts';
import type { Stage } from './stage.ts';
import { durable, type Subject, session } from './subjects.ts';
import { type Bar, toTable } from './table.ts';

const live = 150;
const atOnce = 10;
const replies = 10;
const short: Plan = { tools: 0, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };
/** A reply of 5 MB. */
const long: Plan = { tools: 0, deltas: 1_000, perWrite: 10, paceMs: 0, padding: 5_000 };

/** The memory of each further conversation, in megabytes. */
interface Held {
	/** In the process of workerd, with the caches of SQLite and free memory that the allocators keep. */
	readonly process: number;
	/** In the isolate, which is what Cloudflare limits. */
	readonly isolate: number;
}

export interface Memory {
	/** For each live object of the loop by hand. */
	readonly durable: Held;
	/** For each live session. */
	readonly session: Held;
	/** For each stored reply of 5 MB that has no reader any more. */
	readonly reply: Held;
}

export async function measureMemory(stage: Stage): Promise<Memory> {
	const byHand = await openMeter(stage, durable);
	const ours = await openMeter(stage, { ...session, entry: 'scripts/bench/workers/counted.ts' });
	return {
		durable: await byHand.measure(short, live),
		session: await ours.measure(short, live),
		reply: await ours.measure(long, replies),
	};
}

/** Starts a subject that collects its garbage on request. */
async function openMeter({ start }: Stage, subject: Subject) {
	const server = await start(subject, true);
	const talkAtOnce = async (plan: Plan) => {
		const talk = async () => (await subject.begin(server.url))(plan);
		await Promise.all(Array.from({ length: atOnce }, talk));
	};
	const readHeld = async (): Promise<Held> => {
		for (let n = 0; n < 3; n++) await (await fetch(`${server.url}/bench/garbage`)).text();
		return { process: readMemory(server.pid) / 1e6, isolate: (await readHeap(server.inspector ?? 0)) / 1e6 };
	};
	return {
		/**
		 * Measures the memory that each new conversation adds while its object is live. An object stays live for ten
		 * seconds after its run.
		 */
		measure: async (plan: Plan, conversations: number): Promise<Held> => {
			// The first conversations compile the code, and fill the shared memory that this many conversations need
			// at once.
			await talkAtOnce(plan);
			const before = await readHeld();
			for (let begun = 0; begun < conversations; begun += atOnce) await talkAtOnce(plan);
			const after = await readHeld();
			return {
				process: (after.process - before.process) / conversations,
				isolate: (after.isolate - before.isolate) / conversations,
			};
		},
	};
}

export function toMemoryTable({ durable: byHand, session: ours, reply }: Memory): string {
	const toRow = (what: string, { process, isolate }: Held) => [what, process.toFixed(2), isolate.toFixed(2)];
	return toTable([
		['memory, MB', 'of the process', 'of the isolate'],
		toRow(`a live object of ${durable.name}`, byHand),
		toRow(`a live object of ${session.name}`, ours),
		toRow('what a reply of 5 MB leaves', reply),
	]);
}

export function listMemoryBars({ session: ours, reply }: Memory): readonly Bar[] {
	return [
		{ what: 'a live session', value: ours.process, unit: 'MB', most: 0.9 },
		{ what: 'what a reply of 5 MB leaves', value: reply.process, unit: 'MB', most: 0.9 },
		{ what: 'what a reply of 5 MB leaves in the isolate', value: reply.isolate, unit: 'MB', most: 0.9 },
	];
}
