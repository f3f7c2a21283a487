/** Gives each test file in workerd an empty storage and the real clock. */
import { reset } from 'cloudflare:test';
import { beforeAll } from 'vitest';
import { setClock } from './clock.ts';

beforeAll(async () => {
	setClock();
	await reset();
});
