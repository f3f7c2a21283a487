/**
 * The part `context` of `npm run bench`: measures the cost of 50 sessions at three providers, by their rules of
 * caches and prices. Compares the library before and after the changes that shorten requests and keep their
 * start stable. Seeds determine the sessions.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chooseCacheLifetime } from '../../src/cloudflare/session/run/cache-lifetime.ts';
import * as core from '../../src/core/index.ts';
import { createTools } from '../../src/core/mcp/tools.ts';
import { root } from '../root.ts';
import { apis } from './context/apis.ts';
import { type Cost, createCost, type Library, playSession, type Use } from './context/replay.ts';
import { createSession } from './context/sessions.ts';
import { toTable } from './table.ts';

/** The commit before the measured changes. */
const commit = 'a4c28d56';
const sessions = 50;

/** Loads the library of the commit. */
async function loadBefore(folder: string): Promise<Library> {
	const packed = spawnSync('git', ['archive', commit, 'src', 'package.json'], { cwd: root, maxBuffer: 1e9 });
	if (packed.status !== 0)
		throw new Error(`The commit ${commit} is not here. Get the whole history: git fetch --unshallow.`);
	execFileSync('tar', ['-x', '-C', folder], { input: packed.stdout });
	symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
	const load = (path: string) => import(pathToFileURL(join(folder, 'src/core', path)).href);
	const before: Library['core'] = await load('index.ts');
	const { createTools: create }: Pick<Library, 'createTools'> = await load('mcp/tools.ts');
	return { core: before, createTools: create };
}

/** The measured states. Each state includes the changes of the states before it. */
function listUses(before: Library): readonly (readonly [cause: string, use: Use])[] {
	const library: Library = { core, createTools, chooseCache: chooseCacheLifetime };
	// A limit so high that no schema is cut.
	const whole = { maxToolTokens: 10_000_000 };
	const first = { library, remote: before, keepsRecalled: false, keepsFound: false };
	const kept = { ...first, keepsRecalled: true };
	const found = { ...kept, keepsFound: true };
	const cut = { library, keepsRecalled: true, keepsFound: true };
	return [
		[`before (${commit})`, { library: before, options: {}, keepsRecalled: false, keepsFound: false }],
		['stable prefix', { ...first, options: { ...whole, oldResults: 'keep' } }],
		['recall kept in place', { ...kept, options: { ...whole, oldResults: 'keep' } }],
		['found tools appended', { ...found, options: { ...whole, oldResults: 'keep' } }],
		['schemas cut', { ...cut, options: { oldResults: 'keep' } }],
		['old results as references', { ...cut, options: {} }],
		["lifetime chosen (cache: 'auto')", { ...cut, options: { cache: 'auto' } }],
	];
}

async function measure(count: number): Promise<void> {
	const folder = mkdtempSync(join(tmpdir(), 'runlet-context-'));
	try {
		const uses = listUses(await loadBefore(folder));
		const costs = uses.map(() => apis.map(createCost));
		for (const [at, [, use]] of uses.entries())
			for (const [n, api] of apis.entries())
				for (let seed = 0; seed < count; seed++) await playSession(api, createSession(seed), use, costs[at]?.[n]);
		print(
			uses.map(([cause]) => cause),
			costs,
			count,
		);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function print(causes: readonly string[], costs: readonly (readonly Cost[])[], count: number): void {
	const totals = costs.map((row) => row.reduce((sum, { usd }) => sum + usd, 0));
	const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
	const rows = causes.map((cause, at) => [
		cause,
		...(costs[at] ?? []).map(({ usd, input, read }) => `${usd.toFixed(2)} (${share(read, input)})`),
		(totals[at] ?? 0).toFixed(2),
		at === 0 ? '' : share((totals[at] ?? 0) - (totals[at - 1] ?? 0), totals[0] ?? 1),
	]);
	const head = [
		`$ of ${count} sessions (share read from the cache)`,
		...apis.map(({ model }) => model),
		'all',
		'change',
	];
	console.log(`\n${toTable([head, ...rows])}`);
	const [before = [], after = []] = [costs[0], costs.at(-1)];
	const falls = apis.map(
		({ model }, at) => `${model} ${share((after[at]?.usd ?? 0) - (before[at]?.usd ?? 0), before[at]?.usd ?? 1)}`,
	);
	console.log(`\nAll of it: ${share((totals.at(-1) ?? 0) - (totals[0] ?? 0), totals[0] ?? 1)} (${falls.join(', ')})`);
	for (const [name, row] of [
		['before', before],
		['after', after],
	] as const)
		for (const [at, { requests, input, summaries, steps, opened }] of row.entries())
			console.log(
				`${name}, ${apis[at]?.model}: ${requests} requests, ${Math.round(input / requests)} tokens each, ${summaries} summaries, ${steps} steps of references, ${opened} results opened again`,
			);
}

const { values } = parseArgs({ options: { sessions: { type: 'string', default: `${sessions}` } } });
await measure(Number(values.sessions));
