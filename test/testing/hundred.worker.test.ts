/** A hundred sessions with everything in them, recorded and replayed (docs/testing.md, "Replay a session"). */
import { afterEach, expect, test, vi } from 'vitest';
import { listSessions, type Recording, readRecording } from '../../src/replay/recording.ts';
import { writeReport } from '../../src/replay/report.ts';
import { compareReplay } from '../../src/testing/index.ts';
import { fakeTheWeb, serveTools } from '../cloudflare/mcp/fake-servers.ts';
import { atCrashPoint } from '../crash.ts';
import { network } from '../script.ts';
import { runtime } from '../worker.ts';
import { type Made, makeSession } from './make.ts';
import { steps } from './steps.ts';
import { answer, seen } from './wires.ts';

const { fetch: unexpected } = network;
afterEach(() => {
	network.fetch = unexpected;
	atCrashPoint();
	vi.restoreAllMocks();
});

let made: Promise<readonly Made[]> | undefined;

async function makeAll(): Promise<readonly Made[]> {
	fakeTheWeb();
	serveTools('depot.example.com', {
		find: { description: 'Finds things.', call: ({ what }) => `found ${what}` },
		buy: { call: ({ what, count }) => `bought ${count} ${what}` },
		fail: {
			call: () => {
				throw new Error('The depot is closed.');
			},
		},
	});
	network.fetch = answer;
	const all: Made[] = [];
	for (let n = 0; n < 100; n++) all.push(await makeSession(n));
	return all;
}

const record = () => {
	made ??= makeAll();
	return made;
};

const listAll = (file: string): readonly Recording[] =>
	listSessions(readRecording(JSON.parse(file))).map(({ recording }) => recording);

test('a hundred recorded sessions have each step with each provider, and kills in the middle', {
	timeout: 1_200_000,
}, async () => {
	const all = await record();
	expect(all).toHaveLength(100);
	// What a provider would refuse.
	expect(seen.faults).toEqual([]);
	const shown = all.flatMap(({ provider, steps }) => steps.map((step) => `${provider}: ${step}`));
	for (const provider of ['anthropic', 'openai', 'gemini'])
		for (const step of Object.keys(steps))
			expect(shown.filter((one) => one === `${provider}: ${step}`).length, step).toBeGreaterThan(0);
	const sessions = all.flatMap(({ file }) => listAll(file));
	const runs = sessions.flatMap((session) => session.runs);
	const messages = sessions.flatMap((session) => session.messages);
	expect(all.filter(({ deaths }) => deaths > 0).length).toBeGreaterThan(20);
	expect(runs.filter(({ lives }) => lives > 1).length).toBeGreaterThan(10);
	expect(messages.filter((one) => one.role === 'tool' && one.ranWith !== undefined).length).toBeGreaterThan(20);
	expect(sessions.length - all.length).toBeGreaterThan(20);
});

test('a thousand replays of unchanged code have no difference, and ask no network', {
	timeout: 1_200_000,
}, async () => {
	const all = await record();
	const asked = vi.fn(() => {
		throw new Error('A replay asks the network.');
	});
	network.fetch = asked;
	vi.spyOn(globalThis, 'fetch').mockImplementation(asked);
	const reports: string[] = [];
	const durations: number[] = [];
	for (const [n, { file }] of all.entries()) {
		const sessions = listAll(file);
		const runs = sessions.reduce((sum, session) => sum + session.runs.length, 0);
		for (let time = 0; time < 10; time++) {
			const begun = performance.now();
			const { divergence, ...counts } = await compareReplay(JSON.parse(file), { agents: runtime.agents });
			durations.push(performance.now() - begun);
			if (divergence !== undefined) reports.push(`session ${n}: ${await writeReport(divergence)}`);
			else expect(counts).toEqual({ sessions: sessions.length, runs, turns: expect.any(Number) });
			if (divergence === undefined) expect(counts.turns).toBeGreaterThan(0);
		}
	}
	expect(reports).toEqual([]);
	expect(durations).toHaveLength(1_000);
	console.log(`a replay took ${durations.sort((a, b) => a - b)[500]?.toFixed(1)} ms, the median of 1,000`);
	expect(asked).not.toHaveBeenCalled();
});
