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

/** What more there is for each conversation, in megabytes. */
interface Held {
	/** In the memory of workerd, with the caches of SQLite and what the allocators do not give back. */
	readonly process: number;
	/** In the isolate, which is what Cloudflare limits. */
	readonly isolate: number;
}

export interface Memory {
	/** For each live object of the loop by hand. */
	readonly durable: Held;
	/** For each live session. */
	readonly session: Held;
	/** For each reply of 5 MB that a session stored, and that nobody reads any more. */
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

/** Starts a subject that collects its garbage when it is told to. */
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
		/** What each of so many new conversations adds, right after its run: an object lives ten seconds longer. */
		measure: async (plan: Plan, conversations: number): Promise<Held> => {
			// The first ones compile the code, and fill what is kept for all: as much as so many at once need.
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
