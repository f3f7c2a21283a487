import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideNext, type Next, type SessionFacts } from '../../../src/cloudflare/session/run/next.ts';

const status = fc.constantFrom(
	'running',
	'completed',
	'awaiting_user',
	'awaiting_tools',
	'halted',
	'cancelled',
	'error',
);
const time = fc.integer({ min: 0, max: 100_000 });
const maybeTime = fc.option(time, { nil: undefined });
const count = fc.integer({ min: 0, max: 12 });

const now = 50_000;

/** Any possible rows. Only an existing run can be live, and a removed session has no rows. */
const anyFacts: fc.Arbitrary<SessionFacts> = fc
	.record({
		session: fc.option(
			fc.record({ createdAt: time, expiresAfterMs: maybeTime, usedAt: maybeTime, archiveAfterMs: maybeTime }),
			{ nil: undefined, freq: 8 },
		),
		run: fc.option(
			fc.record({
				status,
				attempt: fc.integer({ min: 1, max: 10 }),
				lost: fc.integer({ min: 0, max: 2 }),
				progress: count,
				stored: count,
				createdAt: time,
				endedAt: maybeTime,
			}),
			{ nil: undefined, freq: 8 },
		),
		isLive: fc.boolean(),
		queue: fc.record({ size: fc.integer({ min: 0, max: 3 }), newestAt: maybeTime }),
		approvalEndsAt: maybeTime,
		callbackAt: maybeTime,
		outboxAt: maybeTime,
		hasTables: fc.boolean(),
	})
	.map(({ session, run, ...facts }) => {
		const rest = { queue: { size: 0, newestAt: undefined }, callbackAt: undefined, isLive: false };
		const noApproval = { approvalEndsAt: undefined };
		if (session === undefined)
			return { ...facts, ...rest, ...noApproval, outboxAt: facts.hasTables ? facts.outboxAt : undefined };
		if (run === undefined) return { ...facts, ...noApproval, session, isLive: false, hasTables: true };
		const stored = Math.max(run.stored, run.progress);
		return {
			...facts,
			...(run.status !== 'awaiting_tools' && noApproval),
			session,
			run: { ...run, stored },
			hasTables: true,
		};
	});

/** Returns the rows after a decided action. */
function carryOut(facts: SessionFacts, { action }: Next): SessionFacts {
	const { run, queue } = facts;
	switch (action.type) {
		case 'take-up':
			return { ...facts, isLive: true, ...(run && { run: { ...run, ...action.attempt } }) };
		case 'give-up':
			return { ...facts, ...(run && { run: { ...run, status: 'error', endedAt: now } }) };
		case 'begin':
			return {
				...facts,
				isLive: true,
				queue: { size: queue.size - 1, newestAt: queue.size > 1 ? queue.newestAt : undefined },
				run: { status: 'running', attempt: 1, lost: 0, progress: 0, stored: 0, createdAt: now, endedAt: undefined },
			};
		case 'deny':
			return {
				...facts,
				isLive: true,
				approvalEndsAt: undefined,
				run: { status: 'running', attempt: 1, lost: 0, progress: 0, stored: 0, createdAt: now, endedAt: undefined },
			};
		case 'remove': {
			const { session: _, run: __, ...rest } = facts;
			return { ...rest, queue: { size: 0, newestAt: undefined }, outboxAt: now };
		}
		case 'archive': {
			const { session: _, run: __, ...rest } = facts;
			return { ...rest, hasTables: false };
		}
		case 'clear':
			return { ...facts, outboxAt: undefined, hasTables: false };
		default:
			return facts;
	}
}

function check(promise: (facts: SessionFacts, next: Next) => void): void {
	fc.assert(
		fc.property(anyFacts, (facts) => promise(facts, decideNext(facts, now))),
		{ numRuns: 3_000 },
	);
}

test('at most three actions are due one after another, whatever rows are stored', () => {
	check((given) => {
		let facts = given;
		let actions = 0;
		for (let next = decideNext(facts, now); next.action.type !== 'none'; next = decideNext(facts, now)) {
			expect(++actions).toBeLessThan(4);
			facts = carryOut(facts, next);
		}
	});
});

test('a session begins a run only if no run is open or waiting', () => {
	check(({ run, isLive, queue }, { action }) => {
		if (action.type !== 'begin') return;
		expect(isLive).toBe(false);
		expect(queue.size).toBeGreaterThan(0);
		expect(['running', 'awaiting_user', 'awaiting_tools']).not.toContain(run?.status);
	});
});

test('a queued message begins its run as soon as possible', () => {
	check(({ session, run, isLive, queue }, { action }) => {
		if (session === undefined || isLive || queue.size === 0) return;
		if (run !== undefined && ['running', 'awaiting_user', 'awaiting_tools'].includes(run.status)) return;
		expect(action.type).toBe('begin');
	});
});

test('plans the next attempt or the end of an interrupted run before anything else', () => {
	check(({ session, run, isLive }, { state, action }) => {
		const isLost = session !== undefined && run?.status === 'running' && !isLive;
		expect(state === 'lost').toBe(isLost);
		expect(action.type === 'take-up' || action.type === 'give-up').toBe(isLost);
	});
});

test('a run has three attempts without progress, and ten with progress', () => {
	fc.assert(
		fc.property(fc.array(count, { minLength: 40, maxLength: 40 }), (steps) => {
			let stored = 0;
			let vain = 0;
			let attempt = { attempt: 1, lost: 0, progress: 0 };
			for (const step of steps) {
				stored += step;
				vain = step > 0 ? 1 : vain + 1;
				const run = { ...attempt, stored, status: 'running' as const, createdAt: 0, endedAt: undefined };
				const session = { createdAt: 0, expiresAfterMs: undefined };
				const { action } = decideNext({ ...nothing, session, run, hasTables: true }, now);
				if (action.type !== 'take-up') {
					expect(action.type).toBe('give-up');
					expect(vain === 3 || attempt.attempt === 10).toBe(true);
					return;
				}
				expect(vain).toBeLessThan(3);
				attempt = action.attempt;
				expect(attempt.attempt).toBeLessThanOrEqual(10);
			}
			expect.unreachable('a run has no more than ten lives');
		}),
	);
});

test('a run with working children has ten attempts, even without stored messages', () => {
	const session = { createdAt: 0, expiresAfterMs: undefined };
	let attempt = { attempt: 1, lost: 0, progress: 4 };
	for (let lives = 1; ; lives++) {
		const run = {
			...attempt,
			stored: 4,
			hasChildren: true,
			status: 'running' as const,
			createdAt: 0,
			endedAt: undefined,
		};
		const { action } = decideNext({ ...nothing, session, run, hasTables: true }, now);
		if (action.type !== 'take-up') {
			expect([action.type, lives]).toEqual(['give-up', 10]);
			return;
		}
		attempt = action.attempt;
	}
});

test('a session is removed only after its lifetime, and never with a running run or an open callback', () => {
	check((facts, { action }) => {
		if (action.type !== 'remove') return;
		const { session, run, isLive, queue, callbackAt } = facts;
		expect(isLive || run?.status === 'running' || callbackAt !== undefined).toBe(false);
		const last = Math.max(run?.endedAt ?? run?.createdAt ?? session?.createdAt ?? 0, queue.newestAt ?? 0);
		expect(last + (session?.expiresAfterMs ?? Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(now);
	});
});

test('a session is archived only if it is idle, owes nothing, and was not used for the time', () => {
	check((facts, { action }) => {
		if (action.type !== 'archive') return;
		const { session, run, isLive, queue, callbackAt, outboxAt } = facts;
		expect([isLive, queue.size, callbackAt, outboxAt]).toEqual([false, 0, undefined, undefined]);
		expect(['running', 'awaiting_user', 'awaiting_tools']).not.toContain(run?.status);
		const last = Math.max(run?.endedAt ?? run?.createdAt ?? session?.createdAt ?? 0, session?.usedAt ?? 0);
		expect(last + (session?.archiveAfterMs ?? Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(now);
	});
});

test('nothing is due before the alarm', () => {
	fc.assert(
		fc.property(anyFacts, fc.integer({ min: 0, max: 500_000 }), (facts, wait) => {
			const { action, wakeAt } = decideNext(facts, now);
			if (action.type !== 'none') return;
			const later = Math.min(now + wait, (wakeAt ?? Number.POSITIVE_INFINITY) - 1);
			if (later < now) return;
			expect(decideNext(facts, later).action.type).toBe('none');
			const { callbackAt = Number.POSITIVE_INFINITY, outboxAt = Number.POSITIVE_INFINITY } = facts;
			expect(Math.min(callbackAt, outboxAt)).toBeGreaterThan(later);
		}),
		{ numRuns: 3_000 },
	);
});

test('something is due at each alarm', () => {
	check((facts, { wakeAt }) => {
		if (wakeAt === undefined) return;
		const at = Math.max(now, wakeAt);
		const { action, state } = decideNext(facts, at);
		const isTold = [facts.callbackAt, facts.outboxAt].some((due) => due !== undefined && due <= at);
		expect(action.type !== 'none' || isTold || state === 'running' || state === 'ending').toBe(true);
	});
});

const nothing: SessionFacts = {
	hasTables: false,
	isLive: false,
	queue: { size: 0, newestAt: undefined },
	callbackAt: undefined,
	outboxAt: undefined,
};

test('without stored rows there is no action', () => {
	expect(decideNext(nothing, now)).toEqual({ state: 'missing', action: { type: 'none' } });
});

test('the alarm watches a fork, and removes an interrupted import when its time is over', () => {
	const decide = (importing: SessionFacts['importing']) => decideNext({ ...nothing, hasTables: true, importing }, now);
	const [later, over] = [now + 86_400_000, now];
	expect(decide({ endsAt: later })).toMatchObject({ action: { type: 'none' }, wakeAt: later });
	expect(decide({ endsAt: later, isFork: true }).wakeAt).toBeLessThan(later);
	for (const isFork of [true, false]) expect(decide({ endsAt: over, isFork }).action).toEqual({ type: 'remove' });
});

test('if no run is open, the alarm denies waiting calls whose time for approval is over', () => {
	check(({ session, run, isLive, importing, approvalEndsAt }, { action, wakeAt, state }) => {
		if (session === undefined || run === undefined || isLive || importing || approvalEndsAt === undefined) return;
		if (state !== 'waiting') return;
		expect(action.type).toBe(approvalEndsAt <= now ? 'deny' : 'none');
		expect(wakeAt).toBeLessThanOrEqual(approvalEndsAt);
	});
});
