/** The cases of Open Responses, which `npm run conformance` runs, too. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cases } from '../../scripts/conformance/responses.ts';
import { readWorkerOptions } from '../bundle.ts';

let miniflare: Miniflare | undefined;
let folder = '';
let url = '';
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-open-responses-'));
	const options = await readWorkerOptions('scripts/conformance/worker.ts', folder);
	miniflare = new Miniflare({ ...options, bindings: { LOCAL: 'true' } });
	url = `${(await miniflare.ready).origin}/v1`;
});
afterAll(async () => {
	await miniflare?.dispose();
	await rm(folder, { recursive: true, force: true });
});

test.each(Object.entries(cases))('Open Responses: %s', async (_, check) => {
	await expect(check(url)).resolves.not.toThrow();
});
