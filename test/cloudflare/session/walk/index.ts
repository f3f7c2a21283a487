/** A random walk over people, roles and entrances. Throws for a broken promise of docs/keys.md. */
import { setClock } from '../../../clock.ts';
import { play } from '../../../script.ts';
import { spent, takeSeen, walkingModel } from './agents.ts';
import { createWorld } from './callers.ts';
import { checkAll } from './checkpoint.ts';
import { restartSome } from './look.ts';
import { observe } from './observe.ts';
import { Walk } from './walk.ts';
import { deciding, following, linking } from './ways/decisions.ts';
import { elicited } from './ways/elicited.ts';
import { files } from './ways/files.ts';
import { making } from './ways/making.ts';
import { keeping } from './ways/managing.ts';
import { about } from './ways/people.ts';
import { protocols } from './ways/protocols.ts';
import { reading, talking } from './ways/sessions.ts';
import { arm, planning, tick, waking } from './ways/wakes.ts';
import { toWay, type Way } from './ways/way.ts';
import { hooks } from './ways/webhooks.ts';

const ways: readonly Way[] = [
	...[...reading, ...talking, ...keeping, ...linking, ...planning].map(toWay),
	...[...deciding, ...following, ...making, ...protocols, ...files, ...elicited, ...hooks, ...about, ...waking],
	{ name: 'restart an object', weight: 4, go: restartSome },
];

/** The number of steps between two checks of everything. */
const between = 400;
/** The approximate number of sessions at a time, and of messages in each session. */
const most = 50;
const longest = 60;

/** Walks this many steps. Returns their counts. */
export async function walkOn(seed: number, steps: number) {
	const walk = new Walk(seed, await createWorld());
	takeSeen();
	spent.clear();
	await arm();
	try {
		for (let step = 1; step <= steps; step++) {
			if (step % 1_000 === 1) play(...Array.from({ length: 20_000 }, () => walkingModel));
			await orTell(walk, `Step ${step} of seed ${seed}`, () => takeStep(walk));
			if (step % between === 0 || step === steps)
				await orTell(walk, `After step ${step} of seed ${seed}`, () => checkAll(walk));
		}
	} finally {
		setClock();
	}
	const counts = [...walk.counts].sort().map(([name, { ok, refused }]) => [name, `${ok} done, ${refused} refused`]);
	return { seed, steps, sessions: walk.made, ...Object.fromEntries(counts) };
}

/** Does the work, and adds the request, the step and the seed to the message of a failure. */
async function orTell(walk: Walk, where: string, work: () => Promise<void>): Promise<void> {
	walk.said.length = 0;
	try {
		await work();
	} catch (cause) {
		const why = cause instanceof Error ? cause.message : String(cause);
		throw new Error(`${where}: ${why}\n${walk.said.slice(-30).join('\n')}`, { cause });
	}
}

/** Takes a possible step. */
async function takeStep(walk: Walk): Promise<void> {
	tick(walk);
	await clear(walk);
	for (;;) {
		const way = walk.pickByWeight(ways);
		if (!(await way.go(walk))) continue;
		const { tools, models } = await observe(walk);
		walk.check(tools.length + models.length === 0, `${way.name}: ${JSON.stringify([...tools, ...models])} came late`);
		return;
	}
}

/** Deletes a session if there are many sessions, or if a session is long. */
async function clear(walk: Walk): Promise<void> {
	const alive = walk.sessions.filter(({ isGone, parent }) => !isGone && parent === undefined);
	const old = alive.find(({ length }) => length > longest) ?? (alive.length > most ? walk.pick(alive) : undefined);
	if (old === undefined) return;
	const answer = await walk.ask(walk.operator, `/v1/sessions/${old.id}`, { method: 'DELETE', isForOperators: true });
	walk.check(answer.status === 204, `An operator could not delete: ${answer.text}`);
	walk.drop(old);
	walk.forget();
}
