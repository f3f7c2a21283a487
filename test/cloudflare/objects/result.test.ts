import { describe, expect, test, vi } from 'vitest';
import { takeValue, toRpcResult } from '../../../src/cloudflare/objects/reach.ts';
import { RunletError } from '../../../src/core/base/errors.ts';

const fail = (error: unknown) => toRpcResult(() => Promise.reject(error));

describe('a failure', () => {
	test('keeps the code, status, message and data of the error', async () => {
		const error = new RunletError('conflict', 'Not now.', { status: 'running', allowed: ['cancel'] });
		const given = structuredClone(await fail(error));
		expect(() => takeValue(given)).toThrow(RunletError);
		expect(() => takeValue(given)).toThrow(
			expect.objectContaining({ code: 'conflict', status: 409, message: 'Not now.', data: error.data }),
		);
	});

	test('reaches its caller even if its data is not plain JSON', async () => {
		const data = { at: new Date(0), how: () => 'lost', cause: new RunletError('auth', 'x') };
		const given = structuredClone(await fail(new RunletError('overloaded', 'Later.', data)));
		expect(() => takeValue(given)).toThrow(
			expect.objectContaining({
				code: 'overloaded',
				data: expect.objectContaining({ at: '1970-01-01T00:00:00.000Z' }),
			}),
		);
	});

	test('hides the text of an unexpected error, and logs it', async () => {
		const log = vi.spyOn(console, 'error').mockImplementation(() => {});
		const given = await fail(new Error('the secret'));
		expect(given).toMatchObject({ ok: false, error: { code: 'internal' } });
		expect(JSON.stringify(given)).not.toContain('the secret');
		expect(log).toHaveBeenCalledOnce();
		log.mockRestore();
	});
});

test('takeValue disposes of the RPC result', async () => {
	const dispose = vi.fn();
	const result = Object.assign(await toRpcResult(async () => 'value'), { [Symbol.dispose]: dispose });
	expect(takeValue(result)).toBe('value');
	expect(dispose).toHaveBeenCalledOnce();
});
