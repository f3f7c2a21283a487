import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Actor, isSamePerson, ways } from '../../../src/core/base/actor.ts';

/** Few names, so that two actors often share a name. Some of them would become equal if they were only joined. */
const owners = ['shop', 'office', '["shop","kim"]', 'shop","kim'];
const users = ['kim', 'lee', '', 'key', 'shop'];
const ids = ['1', '2', 'kim'];

const owner = fc.constantFrom(...owners);
const user = fc.constantFrom(...users);
const id = fc.constantFrom(...ids);
const way = fc.constantFrom(...ways);
const toActor = (of: fc.Arbitrary<string>, via: fc.Arbitrary<Actor['via']> = way): fc.Arbitrary<Actor> =>
	fc.record({ owner: of, user, via, id }, { requiredKeys: ['owner', 'via', 'id'] });

/** An actor without a maker. */
const plain = toActor(owner);
const made = (by: fc.Arbitrary<Actor>, of: fc.Arbitrary<string> = owner): fc.Arbitrary<Actor> =>
	fc.tuple(toActor(of, fc.constantFrom('token', 'link', 'key')), by).map(([actor, madeBy]) => ({ ...actor, madeBy }));
/** An actor of any kind: without a maker, with a maker, or with a maker who has a maker too. */
const actor = fc.oneof(plain, made(plain), made(made(plain)));

/** Fewer runs would seldom have two actors who share a name. */
const runs = { numRuns: 2_000 };

test('every actor is the same person as itself', () => {
	fc.assert(
		fc.property(actor, (one) => isSamePerson(one, one) && isSamePerson(one, structuredClone(one))),
		runs,
	);
});

test('the comparison of two actors is symmetric', () => {
	fc.assert(
		fc.property(actor, actor, (one, other) => isSamePerson(one, other) === isSamePerson(other, one)),
		runs,
	);
});

test('the comparison of actors without makers is transitive', () => {
	const few = toActor(fc.constantFrom('shop', 'office'));
	let met = 0;
	fc.assert(
		fc.property(few, few, few, (one, two, three) => {
			if (!isSamePerson(one, two) || !isSamePerson(two, three)) return true;
			met++;
			return isSamePerson(one, three);
		}),
		{ numRuns: 10_000 },
	);
	expect(met).toBeGreaterThan(0);
});

test('a named user of an owner is one person, whatever the source and the id', () => {
	fc.assert(
		fc.property(owner, user, way, way, id, id, (of, name, via, another, first, second) =>
			isSamePerson({ owner: of, user: name, via, id: first }, { owner: of, user: name, via: another, id: second }),
		),
		runs,
	);
});

test('two users of an owner are two people, and a user and a key without a user are two people', () => {
	fc.assert(
		fc.property(plain, plain, (one, other) => one.user === other.user || !isSamePerson(one, other)),
		runs,
	);
});

test('without a user, the keys, accounts and MCP clients of one owner are one person', () => {
	const nameless = fc.constantFrom<Actor['via']>('key', 'account', 'mcp');
	fc.assert(
		fc.property(owner, nameless, nameless, id, id, (of, via, another, first, second) =>
			isSamePerson({ owner: of, via, id: first }, { owner: of, via: another, id: second }),
		),
		runs,
	);
});

test('without a user, each token, link, webhook, schedule and child is a separate person', () => {
	const own = fc.constantFrom<Actor['via']>('token', 'link', 'webhook', 'schedule', 'child');
	fc.assert(
		fc.property(owner, own, way, id, id, (of, via, another, first, second) => {
			const isSame = via === another && first === second;
			return isSamePerson({ owner: of, via, id: first }, { owner: of, via: another, id: second }) === isSame;
		}),
		runs,
	);
});

test('actors of two owners are never the same person', () => {
	const all = (of: string) => {
		const own = fc.constant(of);
		return fc.oneof(toActor(own), made(toActor(own), own), made(made(toActor(own), own), own));
	};
	const strangers = fc
		.uniqueArray(owner, { minLength: 2, maxLength: 2 })
		.chain(([one = '', other = '']) => fc.tuple(all(one), all(other)));
	fc.assert(
		fc.property(strangers, ([one, other]) => !isSamePerson(one, other)),
		runs,
	);
});

test('a token or a link for a user is the same person as that user and as its maker, and as nobody else', () => {
	fc.assert(
		fc.property(toActor(owner), user, actor, actor, ({ owner: of, via, id: own }, name, madeBy, other) => {
			const holder = { owner: of, user: name, via, id: own };
			const expected = isSamePerson(holder, other) || isSamePerson(madeBy, other);
			return isSamePerson({ ...holder, madeBy }, other) === expected;
		}),
		runs,
	);
	const kim: Actor = { owner: 'shop', user: 'kim', via: 'account', id: 'kim' };
	const token: Actor = { owner: 'shop', user: 'lee', via: 'token', id: '1', madeBy: kim };
	expect(isSamePerson(token, kim)).toBe(true);
	expect(isSamePerson(token, { owner: 'shop', user: 'lee', via: 'key', id: '2' })).toBe(true);
	expect(isSamePerson(token, { owner: 'shop', user: 'sam', via: 'key', id: '3' })).toBe(false);
	// So the comparison is not transitive: the maker and the holder are two people.
	expect(isSamePerson(kim, { owner: 'shop', user: 'lee', via: 'key', id: '2' })).toBe(false);
});

test('a token or a link without a user is the same person as its maker, and as nobody else', () => {
	fc.assert(
		fc.property(owner, way, id, actor, actor, (of, via, own, madeBy, other) => {
			return isSamePerson({ owner: of, via, id: own, madeBy }, other) === isSamePerson(madeBy, other);
		}),
		runs,
	);
});
