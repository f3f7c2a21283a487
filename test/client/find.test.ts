/** `runlet find`, with a server that answers as `GET /v1/requests/:request` does. */
import { afterEach, expect, test, vi } from 'vitest';
import { run } from '../../src/command/find.ts';
import { type Answer, error, json, startServer } from './server.ts';

const session = '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708';
const id = `req_0f8fad5b-d9cb-469f-a165-70867728950e_${session}`;
const path = `/v1/sessions/${session}`;
const links = { session: path, messages: `${path}/messages`, export: `${path}/export`, page: `/#/sessions/${session}` };
const failed = { id: 'run_1', status: 'error', error: { code: 'network', message: 'The model was not reached.' } };
const found = { id, session: { id: session, agent: 'shop', title: 'Hi', user: 'ada', status: 'error' }, links };

afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

/** Runs the command with a server that gives this answer. Returns what the command prints. */
async function find(answer: Answer, ...args: readonly string[]) {
	await using server = await startServer(answer);
	const printed: string[] = [];
	vi.spyOn(console, 'log').mockImplementation((text) => void printed.push(String(text)));
	const code = await run([id, '--url', `${server.url}/`, ...args]);
	const [request] = server.requests;
	return { code, text: printed.join('\n').replaceAll(server.url, 'URL'), request };
}

test('prints the session, the run, its error, and the command that records the session', async () => {
	const answer = json(200, { ...found, run: failed, newest: { id: 'run_2', status: 'completed' } });
	const { code, text, request } = await find(answer, '--key', 'rl_staff');
	expect(code).toBe(0);
	expect(request).toMatchObject({ route: `GET /v1/requests/${id}`, headers: { authorization: 'Bearer rl_staff' } });
	expect(text).toBe(`session     ${session}
agent       shop
title       Hi
user        ada
status      error
run         run_1 (error)
error       network: The model was not reached.
page        URL/#/sessions/${session}
record      npm run record -- ${session} --url URL`);
});

test('prints the newest run if the run of the request is unknown, and none for a session without a run', async () => {
	const { text } = await find(json(200, { ...found, newest: failed }));
	expect(text).toContain('newest run  run_1 (error)\nerror       network: ');
	expect((await find(json(200, found))).text).toContain('newest run  none\npage ');
});

test('prints no terminal sequences from a title', async () => {
	const hostile = { ...found, session: { ...found.session, title: 'a\u001b[31mb\nrecord  rm -rf /' } };
	const { text } = await find(json(200, hostile));
	expect(text).toContain('title       a [31mb record  rm -rf /\n');
});

test('asks the Worker of RUNLET_URL with RUNLET_API_KEY', async () => {
	await using server = await startServer(json(200, found));
	vi.stubEnv('RUNLET_URL', server.url);
	vi.stubEnv('RUNLET_API_KEY', 'rl_env');
	const log = vi.spyOn(console, 'log').mockImplementation(() => {});
	await run([id]);
	expect(server.requests[0]?.headers.authorization).toBe('Bearer rl_env');
	expect(log.mock.calls.join()).toContain(`record -- ${session} --url ${server.url}`);
});

test('says what is wrong: no id, two ids, an unknown option, a foreign session, and a server that is not there', async () => {
	await expect(run([])).rejects.toThrow('Name one x-request-id.');
	await expect(run([id, id])).rejects.toThrow('Name one x-request-id.');
	await expect(run([id, '--ulr', 'x'])).rejects.toThrow('Did you mean --url?');
	await expect(run([id, '--url', 'nowhere'])).rejects.toThrow('--url: nowhere is not a URL.');
	await expect(find(error(404, 'not_found'))).rejects.toThrow(`${id}: It is not_found.`);
	await expect(run([id, '--url', 'http://127.0.0.1:1'])).rejects.toThrow('http://127.0.0.1:1 does not answer.');
});
