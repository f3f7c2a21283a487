import { expect, test, vi } from 'vitest';
import { makeOnce } from '../../../src/core/ground/promises.ts';

test('a value is made by the first call, and no call makes it again', () => {
	const make = vi.fn(() => undefined);
	const get = makeOnce(make);
	expect(make).not.toHaveBeenCalled();
	expect([get(), get()]).toEqual([undefined, undefined]);
	expect(make).toHaveBeenCalledTimes(1);
});

test('a value that could not be made is tried again by the next call', () => {
	const make = vi
		.fn(() => 7)
		.mockImplementationOnce(() => {
			throw new Error('not yet');
		});
	const get = makeOnce(make);
	expect(get).toThrow('not yet');
	expect(get()).toBe(7);
});
