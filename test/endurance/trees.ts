import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { checkCharges } from './charges.ts';
import { type Script, threeTools } from './script.ts';
import { outcomes, type Sent, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** The number of concurrent trees, and the number of children in each tree. */
const [inFlight, childrenEach] = [3, 3];
/** How long an interrupted tree delays the next new tree, in milliseconds. */
const roomMs = 15_000;

const family = v.looseObject({
	status: v.string(),
	error: v.optional(v.looseObject({ code: v.string() })),
	budget: v.looseObject({ reserved: v.looseObject({ tokens: v.number() }) }),
	children: v.optional(
		v.array(v.looseObject({ id: v.string(), callId: v.string(), spent: v.optional(v.object({ tokens: v.number() })) })),
		[],
	),
});

/** The first turn of a tree gives its children their tasks. Each child works as the agent `worker`. */
const script: Script = (asked) => {
	const work = threeTools(200);
	if (asked.tag.includes('child')) return work(asked);
	const tasks = Array.from({ length: childrenEach }, (_, n) => `${asked.tag}.child-${n}`);
	const calls = tasks.map((task) => ({ id: task, tool: 'worker', input: { task } }));
	return { ...work({ ...asked, turn: 2 }), calls: asked.turn === 0 ? calls : [] };
};

/**
 * SIGKILLs the server at random moments of trees: sessions that delegate three calls to children, which have their
 * own tools. Every parent and child ends. No call has two children. No child gets its task twice. No tool has an
 * effect twice. No reservation is left. The ledger has the spending of the parents, which matches the model's
 * bill.
 */
export function trees({ count = 100, seed }: Options): Promise<Figures> {
	return onStage({ script, pieceLength: 20, paceMs: 20, toolMs: 300, seed }, async (stage) => {
		const sent: Sent[] = [];
		let isOver = false;
		const clients = Array.from({ length: inFlight }, async (_, n) => {
			for (let round = 0; !isOver; round++) {
				const tag = `tree-${n}-${round}`;
				const session = await stage.client.begin(tag, { agent: 'tree' });
				sent.push({ tag, session });
				await Promise.race([stage.outside.upstream.final(tag), pause(roomMs)]);
			}
		});
		const killing = async (): Promise<void> => {
			for (let n = 0; n < count; n++) {
				await pause(stage.random(200, 4_000));
				await stage.server.restart();
			}
			isOver = true;
		};
		await Promise.all([killing(), ...clients]);
		const quietMs = await untilQuiet(stage, sent);
		const found = await checkTrees(stage, sent);
		const charges = await checkCharges(stage, sent);
		return {
			...charges,
			seed: stage.seed,
			kills: count,
			'trees acknowledged': sent.length,
			...found,
			'seconds from the last kill to the last end': (quietMs / 1_000).toFixed(1),
			'unsafe calls repeated': stage.outside.effects.repeated('unsafe'),
		};
	});
}

/** How long a cancelled child may take to end, in milliseconds. */
const patienceMs = 90_000;

async function checkTrees(stage: Stage, sent: readonly Sent[]): Promise<Figures> {
	const children: Sent[] = [];
	let [completed, interrupted, cancelled] = [0, 0, 0];
	for (const { tag, session } of sent) {
		const parent = await untilSettled(stage, session);
		if (parent.status === 'completed') completed++;
		else if (parent.error?.code === 'interrupted') interrupted++;
		else throw new Error(`${tag}: the tree is ${parent.status} (${parent.error?.code})`);
		if (new Set(parent.children.map(({ callId }) => callId)).size !== parent.children.length)
			throw new Error(`${tag}: two children have one call`);
		for (const { id, callId } of parent.children) {
			const tasks = (await stage.client.history(id)).filter(({ role }) => role === 'user');
			if (tasks.length > 1) throw new Error(`${callId}: the child was given its task ${tasks.length} times`);
			const { status } = await stage.client.state(id);
			if (status === 'idle') cancelled++;
			else children.push({ tag: callId, session: id });
		}
	}
	const ends = await outcomes(stage, children);
	return {
		completed,
		'out of attempts': interrupted,
		'children that completed': ends.completed,
		'children out of attempts': ends.interrupted,
		'children cancelled with their parent': cancelled,
	};
}

/** Reads a tree when it has no reservation left. */
async function untilSettled({ client }: Stage, session: string): Promise<v.InferOutput<typeof family>> {
	const until = performance.now() + patienceMs;
	for (;;) {
		const found = v.parse(family, await client.state(session));
		if (found.budget.reserved.tokens === 0) return found;
		if (performance.now() > until)
			throw new Error(`${session}: ${found.budget.reserved.tokens} tokens are still set aside`);
		await pause(500);
	}
}
