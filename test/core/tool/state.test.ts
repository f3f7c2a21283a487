import * as fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { tool } from '../../../src/core/index.ts';
import { draftState, storeChanges } from '../../../src/core/tool/state.ts';

describe('the state of a session', () => {
	test('stores copies of JSON values, and lists its keys in order, optionally by prefix', async () => {
		const state = tool.inMemoryState({ 'cart:b': 1 });
		const items = ['pen'];
		await state.set('cart:a', items);
		items.push('paper');
		await state.set('name', 'Ada');
		expect(await state.get('cart:a')).toEqual(['pen']);
		expect(await state.get('nothing')).toBeUndefined();
		expect(await state.list()).toEqual(['cart:a', 'cart:b', 'name']);
		expect(await state.list('cart:')).toEqual(['cart:a', 'cart:b']);
		expect([await state.delete('name'), await state.delete('name')]).toEqual([true, false]);
	});

	test('checks a value against a schema when the value is read', async () => {
		const state = tool.inMemoryState({ count: 3, name: 'Ada' });
		const count: number | undefined = await state.get('count', v.number());
		expect(count).toBe(3);
		expect(await state.get('missing', v.number())).toBeUndefined();
		await expect(state.get('name', v.number())).rejects.toThrow(
			/^state: name: the value is of another form \(.*number/,
		);
	});

	test('refuses a value that it cannot store, with the reason', async () => {
		const state = tool.inMemoryState();
		for (const [key, value, says] of [
			['', 1, 'a key is a text of 1 to 256 characters'],
			['k'.repeat(257), 1, 'a key is a text'],
			['\ud800', 1, 'a key is a text'],
			['a', undefined, 'Use delete to remove a key'],
			['a', () => 1, 'JSON cannot hold function'],
			['a', 1n, 'JSON cannot hold'],
			['a', 'é'.repeat(65_536), 'a value has at most 131072 bytes as JSON, this one 131074'],
		] as const)
			await expect(state.set(key, value)).rejects.toThrow(says);
		expect(await state.list()).toEqual([]);
	});

	test('refuses a new key after 1,000 keys, but still changes existing keys', async () => {
		const state = tool.inMemoryState(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n])));
		await expect(state.set('one more', 1)).rejects.toThrow('state: one more: a session has at most 1000 keys.');
		await state.set('k0', 'new');
		expect([await state.get('k0'), (await state.list()).length]).toEqual(['new', 1_000]);
	});
});

const key = fc.constantFrom('a', 'b', 'c', '__proto__');
const operation = fc.oneof(
	fc.record({ set: key, value: fc.jsonValue() }),
	fc.record({ delete: key }),
	fc.record({ get: key }),
);

test('the changes of a draft are visible in the draft at once, and in the store after storeChanges', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(operation), fc.array(operation), async (before, during) => {
			const store = tool.inMemoryState();
			const model = new Map<string, string>();
			const carryOut = async (state: typeof store, operations: typeof during): Promise<void> => {
				for (const one of operations) {
					if ('set' in one) {
						await state.set(one.set, one.value);
						model.set(one.set, JSON.stringify(one.value));
					} else if ('delete' in one) {
						expect(await state.delete(one.delete)).toBe(model.delete(one.delete));
					} else expect(await state.get(one.get)).toEqual(read(one.get));
				}
				expect(await state.list()).toEqual([...model.keys()].sort());
			};
			const read = (name: string): unknown => {
				const json = model.get(name);
				return json === undefined ? undefined : JSON.parse(json);
			};
			await carryOut(store, before);
			const untouched = new Map(model);
			const draft = draftState(store);
			await carryOut(draft.state, during);
			expect(await store.list()).toEqual([...untouched.keys()].sort());
			for (const [name, json] of untouched) expect(JSON.stringify(await store.get(name))).toBe(json);
			await storeChanges(store, draft.close());
			expect(await store.list()).toEqual([...model.keys()].sort());
			for (const name of model.keys()) expect(await store.get(name)).toEqual(read(name));
			await expect(draft.state.set('a', 1)).rejects.toThrow('this call has ended');
		}),
	);
});
