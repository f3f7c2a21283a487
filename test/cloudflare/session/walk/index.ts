/** A random walk over people, roles and ways in, which throws where a promise of docs/keys.md is broken. */
import { play } from '../../../script.ts';
import { spent, takeSeen, walkingModel } from './agents.ts';
import { createWorld } from './callers.ts';
import { checkAll } from './checkpoint.ts';
import { Walk } from './walk.ts';
import { deciding, following, linking } from './ways/decisions.ts';
import { making } from './ways/making.ts';
import { about } from './ways/people.ts';
import { keeping, reading, talking } from './ways/sessions.ts';
import { arm, planning, tick, waking } from './ways/wakes.ts';
import { toWay, type Way } from './ways/way.ts';

const ways: readonly Way[] = [
	...[...reading, ...talking, ...keeping, ...linking, ...planning].map(toWay),
	...[...deciding, ...following, ...making, ...about, ...waking],
	{ name: 'restart an object', weight: 4, go: (walk) => walk.restart() },
];

/** Steps between two looks at everything. */
const between = 400;
/** Sessions that are there at a time, about, and how long they become. */
const most = 50;
const longest = 60;

/** Walks so many steps. Returns what it did. */
export async function walkOn(seed: number, steps: number) {
	const walk = new Walk(seed, await createWorld());
	takeSeen();
	spent.clear();
	await arm();
	for (let step = 1; step <= steps; step++) {
		if (step % 1_000 === 1) play(...Array.from({ length: 20_000 }, () => walkingModel));
		walk.said.length = 0;
		const way = await takeStep(walk).catch((cause) => {
			throw new Error(`Step ${step} of seed ${seed}: ${cause.message}\n${walk.said.slice(-30).join('\n')}`, { cause });
		});
		if (steps > 2_000 && step % 500 === 0) console.log(`WALKED ${step} ${way}`);
		if (step % between !== 0 && step !== steps) continue;
		await checkAll(walk).catch((cause) => {
			throw new Error(`After step ${step} of seed ${seed}: ${cause.message}\n${walk.said.slice(-6).join('\n')}`, {
				cause,
			});
		});
	}
	const counts = Object.fromEntries(
		[...walk.counts].sort().map(([name, { ok, refused }]) => [name, `${ok} done, ${refused} refused`]),
	);
	return { seed, steps, sessions: walk.made, ...counts };
}

/** Does one thing that fits. Returns its name. */
async function takeStep(walk: Walk): Promise<string> {
	tick(walk);
	await clear(walk);
	for (;;) {
		const way = walk.pickByWeight(ways);
		if (!(await way.go(walk))) continue;
		const { tools, models } = await walk.observe();
		walk.check(tools.length + models.length === 0, `${way.name}: ${JSON.stringify([...tools, ...models])} came late`);
		return way.name;
	}
}

/** Deletes a session where there are many, or a long one. */
async function clear(walk: Walk): Promise<void> {
	const alive = walk.sessions.filter(({ isGone, parent }) => !isGone && parent === undefined);
	const old = alive.find(({ length }) => length > longest) ?? (alive.length > most ? walk.pick(alive) : undefined);
	if (old === undefined) return;
	const answer = await walk.ask(walk.operator, `/v1/sessions/${old.id}`, { method: 'DELETE', isForOperators: true });
	walk.check(answer.status === 204, `An operator could not delete: ${answer.text}`);
	walk.drop(old);
	walk.forget();
}
