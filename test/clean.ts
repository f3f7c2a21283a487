/** Each test file in workerd starts with empty storage and the real clock. */
import { reset } from 'cloudflare:test';
import { beforeAll } from 'vitest';
import { setClock } from './clock.ts';

beforeAll(async () => {
	setClock();
	await reset();
});
